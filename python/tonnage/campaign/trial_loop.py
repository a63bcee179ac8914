"""The run loop: the same code for campaign files, ``probe`` and resumed runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tonnage.campaign.execute import executor_of
from tonnage.campaign.execute.run_phase import TICK_S, PhaseRunner, Status, TrialRun
from tonnage.campaign.execute.stream import write_pilot
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Schedule, Trial
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.target import Target
from tonnage.cluster.launcher import Ensemble, Launcher, ProcessLost
from tonnage.errors import MeasurementError, RequestError
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
    """Returns the requested phases that failed, and those that a search's answer rests on."""
    # Not before the first byte of a probe is printed.
    from tonnage.analysis.load_line.estimate import SUSTAIN
    from tonnage.campaign.company_trials import COMPANY_ALONE

    answers = ("measure", "check", "offered", SUSTAIN, COMPANY_ALONE)
    return [line for line in lines if line["status"] == "failed" and line["purpose"] in answers]


def run_directory(out: str | None, name: str, run_id: str) -> Path:
    """Returns the directory of a new run: ``out``, or a new one below ``./tonnage-runs``."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return Path(out) if out else Path("tonnage-runs", f"{stamp}-{name}-{run_id}")


_ADVISING = frozenset({"use", "give", "leave", "make", "see", "try", "check", "take", "name", "ask", "remove"})
"""What advice of the engine begins with."""


def try_out(campaign: Campaign, target: Target, scratch: RunScratch, start: Launcher) -> None:
    """Brings one task of each kind to the start line and drops it: what a storage refuses, it refuses now, not after an
    hour. RequestError says what.

    Of named files only what the run begins with is tried: the rest may read what that is to write.
    """
    opened: list[Ensemble] = []
    try:
        _try_each(campaign, target, scratch, start, opened)
    except RequestError:
        # What a setting before it made ready goes again; a scratch directory goes as a whole.
        for ensemble in opened if not target.paths else []:
            with suppress(OSError, ValueError):
                ensemble.finish()
        raise


def _try_each(campaign: Campaign, target: Target, scratch: RunScratch, start: Launcher, opened: list[Ensemble]) -> None:
    tried: set[str] = set()
    for setting in campaign.settings()[: 1 if target.names else None]:
        executor = executor_of(setting)
        spec = executor.first_phase(setting, target) if target.names else executor.try_out(setting, target)
        opening = setting.opening if target.scheme == "path" else {}
        key = f"{setting.storage} {setting.direct} {setting.devices} {setting.device} {json.dumps([spec, opening])}"
        if spec is None or key in tried:
            continue
        tried.add(key)
        place = target.spec(
            setting.storage,
            setting.direct,
            scratch.directories,
            0,
            devices=setting.devices,
            device=setting.device,
            run_id=scratch.run_id,
        )
        try:
            target_spec: Any = {**place, **opening}
            opened.append(start.open(target_spec, None))
            phase_spec: Any = spec
            opened[-1].prepare(phase_spec)
        except (ValueError, MemoryError) as error:
            what, hint = _advised(str(error), target, setting)
            raise RequestError(f"{target.name} refuses this: {what}; hint: {hint}") from None
        except OSError as error:
            hint = "give a user with rights on it, or another pool" if target.pool else "give another directory"
            raise RequestError(f"{target.name} refuses this: {error.strerror}; hint: {hint}") from None


def _advised(message: str, target: Target, setting: Setting) -> tuple[str, str]:
    """Splits an engine's message from its advice: ``…; use another pool or means``. Ours where it has none."""
    what, _, advice = message.rpartition("; ")
    if what and advice.partition(" ")[0] in _ADVISING:
        return what, advice
    if getattr(setting, "snapshot", "none") == "none":
        return message, "change what it names"
    means = "use other means of snapshots, or none"
    return message, f"give a user with rights to take them, or {means}" if target.pool else means
