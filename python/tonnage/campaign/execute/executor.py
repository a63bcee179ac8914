"""The interface of an executor: checks before a run, and carries a trial out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds import Setting
from tonnage.campaign.target import Target
from tonnage.cluster.mpi.io_library import io_library
from tonnage.records.phase_specs import PhaseSpec

S = TypeVar("S", bound=Setting)
Refusal = tuple[str, str]
"""What cannot be done, and what to do instead."""


class Executor(Generic[S]):
    """Carries out the trials of one kind of workload. It has no state."""

    def check(self, setting: S, target: Target) -> None:
        """RequestError if the target, or this host, cannot do it. Looks, and touches nothing."""
        # A job may run where another MPI is.
        if setting.storage == "mpiio" and target.scheme == "path" and setting.partition is None:
            io_library()

    def not_with_objects(self, setting: S, target: Target) -> Iterator[Refusal]:  # noqa: ARG002  (for kinds that look)
        """What the objects of a pool or a bucket, which ``target`` is, do not do."""
        return iter(())

    def try_out(self, setting: S, target: Target) -> PhaseSpec | None:  # noqa: ARG002  (for kinds that look)
        """A PhaseSpec that is prepared and dropped before the run: what the storage refuses, it refuses now."""
        return None

    def first_phase(self, setting: S, target: Target) -> PhaseSpec | None:
        """The PhaseSpec that a trial begins with, for a try on files that the user named."""
        return self.try_out(setting, target)

    def company(self, setting: S, trial: TrialRun) -> PhaseSpec | None:
        """Lays out what the tasks of ``setting`` need that run beside another phase; what they do then. None where that
        failed."""
        raise NotImplementedError

    def measure(self, setting: S, trial: TrialRun) -> Status:
        """Brings the files into the state the trial wants, measures its phases, and returns its status."""
        raise NotImplementedError
