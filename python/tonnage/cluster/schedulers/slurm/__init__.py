"""Slurm, by its own commands: 22.05 and newer."""

from tonnage.cluster.schedulers.slurm.scheduler import Slurm

__all__ = ["Slurm"]
