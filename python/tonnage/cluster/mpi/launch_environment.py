"""Rank and size of this process among those that a launcher started, from the environment alone: MPI is not loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

_SAID = (
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI", "PMI_RANK", "PMI_SIZE"),
    ("PMIx", "PMIX_RANK", "PMIX_SIZE"),
    ("Spectrum MPI", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    # Of a step: a batch script has SLURM_NTASKS as well, and is one process.
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)
"""Launchers, and the variables in which each sets the rank and the number of processes."""


class Started(NamedTuple):
    """One of the processes of a launcher."""

    by: str
    """The launcher whose variables are set."""
    rank: int
    size: int


def started(environment: Mapping[str, str] | None = None) -> Started | None:
    """This process among its launcher's; None where it was started alone, by a shell or a batch script."""
    environment = os.environ if environment is None else environment
    for by, rank_name, size_name in _SAID:
        rank, size = (_number(environment.get(name)) for name in (rank_name, size_name))
        if rank is not None and size is not None and rank < size:
            return Started(by, rank, size)
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
