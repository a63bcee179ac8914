"""Crews that are fetched: a process on each host, by ssh or by the scheduler, that speaks JSON lines on its pipes."""

from tonnage.cluster.hands.pipes import START_S
from tonnage.cluster.hands.registry import HANDS, hands

__all__ = ["HANDS", "START_S", "hands"]
