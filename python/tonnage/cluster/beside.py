"""A phase beside its company in this process: each on a storage of its own, both in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tonnage import _native
from tonnage.cluster.live_figures import Live

if TYPE_CHECKING:
    from tonnage.records.phase_results import PhaseResult


class BesideStep:
    """The step of the measured phase; the company's result comes with its own."""

    def __init__(self, phases: _native.Beside, hosts: Sequence[str]) -> None:
        self._phases = phases
        self._hosts = hosts
        self.company: PhaseResult | None = None
        """After ``result``."""

    def go(self) -> None:
        self._phases.go()

    def wait(self, timeout_s: float) -> bool:
        return self._phases.wait(timeout_s)

    def stop(self) -> None:
        self._phases.stop()

    def live(self) -> Live:
        return self._phases.live()

    def result(self) -> PhaseResult:
        result, self.company = self._phases.results()
        return result

    def hosts(self) -> Sequence[str]:
        return self._hosts

    def gathering(self) -> None:
        return None
