"""The run loop: the same code for campaign files, ``probe`` and resumed runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tonnage.campaign.execute import executor_of
from tonnage.campaign.execute.run_phase import TICK_S, PhaseRunner, Status, TrialRun
from tonnage.campaign.execute.stream import write_pilot
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.schedule import Schedule, Trial
from tonnage.cluster.lost_process import ProcessLost
from tonnage.errors import MeasurementError
from tonnage.records.line_types import TrialLine


@dataclass(frozen=True, slots=True)
class Loop:
    """The trials of a schedule, one after another."""

    phases: PhaseRunner
    schedule: Schedule
    on_error: str = "continue"
    pause_ns: int = 0
    """Wait before each trial."""

    def run(self) -> str:
        """Measures until nothing is left to do; the run's ``state``: ``complete``, ``interrupted`` or ``failed``."""
        try:
            return self._run()
        finally:
            for reason in self.phases.hooks.end():
                self.phases.complain(reason)

    def _run(self) -> str:
        phases = self.phases
        phases.clock.begin()
        number = _next_number(phases.lines)
        while not phases.interrupts:
            trial = self.schedule.next(phases.lines, phases.clock.spent_ns)
            if trial is None:
                return "complete"
            self._pause()
            if phases.interrupts:
                break
            status = self._trial(TrialRun(number, trial, phases))
            if phases.lost or (status == "failed" and self.on_error == "stop"):
                return "failed"
            number += 1
        return "interrupted"

    def _pause(self) -> None:
        end = time.monotonic_ns() + self.pause_ns
        # A signal does not end a sleep; what it asks for should not wait for the whole of it.
        while not self.phases.interrupts and (left := end - time.monotonic_ns()) > 0:
            time.sleep(min(left / 1e9, TICK_S))

    def _trial(self, run: TrialRun) -> Status:
        """Measures all phases of a trial, as its kind of workload does, and returns its status."""
        setting, phases = run.trial.setting, self.phases
        try:
            return executor_of(setting).measure(setting, run)
        except ProcessLost as error:
            # Between two phases: those that were still to come have their records as well.
            phases.lost = True
            recorded = {line["phase"] for line in phases.lines if line["trial"] == run.number}
            for phase in setting.phases:
                if phase not in recorded:
                    run.without(phase, str(error))
            return "failed"
        except MeasurementError:
            if not phases.interrupts:
                raise
            # The end of the run reports what could not be removed.
            return "interrupted"

    def pilot(self, setting: StreamSetting) -> None:
        """A write before the first trial that is recorded but never analysed."""
        self.phases.clock.begin()
        write_pilot(setting, TrialRun(_next_number(self.phases.lines), Trial(setting, 0, 0), self.phases))
        self.phases.clock.end()


def _next_number(lines: Sequence[TrialLine]) -> int:
    return max((line["trial"] for line in lines), default=-1) + 1


def spent_on(lines: Sequence[TrialLine]) -> int:
    """Time that recorded phases took: what a resumed run has already used of its budget."""
    return sum(line["elapsed_ns"] or 0 for line in lines)


def clock_of(lines: Sequence[TrialLine], device: int | None) -> int:
    """Returns a model's clock after these phases, in ns; with ``device``, after those on it only."""
    own = (line for line in lines if device is None or line["setting"].get("device") == device)
    return max((line["last_done_ns"] or 0 for line in own), default=0)


def failures(lines: Sequence[TrialLine]) -> list[TrialLine]:
    """Returns the requested phases that failed."""
    return [line for line in lines if line["status"] == "failed" and line["purpose"] in ("measure", "check", "offered")]


def run_directory(out: str | None, name: str, run_id: str) -> Path:
    """Returns the directory of a new run: ``out``, or a new one below ``./tonnage-runs``."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return Path(out) if out else Path("tonnage-runs", f"{stamp}-{name}-{run_id}")
