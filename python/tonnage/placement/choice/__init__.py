"""Where a job should run: pure functions of what is known, the same in life and in simulation."""

from tonnage.placement.choice.candidate import Candidate, Decision, Demand, Scored
from tonnage.placement.choice.cap import Carried, line_in_use
from tonnage.placement.choice.decay import weight
from tonnage.placement.choice.decide import NoFileServer, NothingNear, decide
from tonnage.placement.choice.plateau import Plateau

__all__ = [
    "Candidate",
    "Carried",
    "Decision",
    "Demand",
    "NoFileServer",
    "NothingNear",
    "Plateau",
    "Scored",
    "decide",
    "line_in_use",
    "weight",
]
