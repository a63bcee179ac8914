"""The run loop: one way through the house for files, ``probe`` and resumed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tonnage.campaign.expand import Schedule
from tonnage.campaign.interrupts import Interrupts
from tonnage.campaign.observer import Observer, Step
from tonnage.campaign.room import Room
from tonnage.campaign.setting import Setting, Trial, phase_spec
from tonnage.records import RunWriter, event_lines, task_lines, trial_line

_TICK_S = 0.1


@dataclass(slots=True)
class Loop:
    """Everything that a run in progress holds."""

    writer: RunWriter
    room: Room
    schedule: Schedule
    observer: Observer
    interrupts: Interrupts
    seed: int
    on_error: str
    trials: int | None
    budget_ns: int | None
    lines: list[dict[str, Any]]
    """All lines of the run, those before a resume included."""
    clock: Setting
    """A setting whose storage keeps the run's clock."""
    spent_before_ns: int = 0
    _began_ns: int = 0
    _noted: set[str] = field(default_factory=set)
    """Codes of fallbacks that the user was told of."""

    def run(self) -> str:
        """Measures until nothing is left to do; the run's ``state``: ``complete``, ``interrupted`` or ``failed``."""
        self._began_ns = self.room.ensemble(self.clock).now_ns()
        number = max((line["trial"] for line in self.lines), default=-1) + 1
        while not self.interrupts:
            trial = self.schedule.next(self.lines, self.spent_ns)
            if trial is None:
                return "complete"
            status = self.trial(number, trial)
            if status == "failed" and self.on_error == "stop":
                return "failed"
            number += 1
        return "interrupted"

    @property
    def spent_ns(self) -> int:
        """Time used on the run's clock, also before a resume."""
        return self.spent_before_ns + self.room.ensemble(self.clock).now_ns() - self._began_ns

    def trial(self, number: int, trial: Trial) -> str:
        """Brings the files into the state the trial wants, measures it, and returns its status."""
        setting = trial.setting
        if setting.op == "read":
            fill = self.room.fill_for(setting)
            if fill is not None:
                status = self._phase(number, trial, fill[0], purpose="fill", first_task=fill[1])
                if status != "ok":
                    self.room.clear()
                    return self._without_files(number, trial) if status == "failed" else status
                self.room.wrote(fill[0])
        else:
            self.room.clear()
        status = self._phase(number, trial, setting, purpose=trial.purpose)
        if setting.op == "write":
            if status == "ok" and self.lines[-1]["stop_reason"] == "size":
                self.room.wrote(setting)
            elif status == "failed":
                # A full disk must not stay full for the next trial.
                self.room.clear()
        return status

    def pilot(self, setting: Setting) -> None:
        """A write before the first trial that is recorded but never analysed."""
        number = max((line["trial"] for line in self.lines), default=-1) + 1
        self._began_ns = self.room.ensemble(self.clock).now_ns()
        self._phase(number, Trial(setting, 0, 0), setting, purpose="fill")
        self.room.clear()
        self.spent_before_ns = self.spent_ns

    def _without_files(self, number: int, trial: Trial) -> str:
        """A requested phase without a record would be a blank: it fails by name."""
        line = trial_line(
            trial=number,
            setting=trial.setting.as_dict(),
            phase=trial.setting.op,
            repetition=trial.repetition,
            block=trial.block,
            started=_now(),
            result=None,
            reason="the files it reads could not be laid out",
        )
        return self._record(line, None, "")

    def _phase(
        self, number: int, trial: Trial, setting: Setting, *, purpose: str = "measure", first_task: int = 0
    ) -> str:
        started = _now()
        self.observer.step(
            Step(number, self.trials, setting, trial.repetition, purpose, self.spent_ns, self._left_ns())
        )
        ensemble = self.room.ensemble(setting)
        record = f"{number:04d}-{setting.op}"
        result, reason = None, None
        try:
            step = ensemble.prepare(phase_spec(setting, record, self.seed, first_task=first_task))
            step.go()
            while not step.wait(_TICK_S):
                if self.interrupts:
                    step.stop()
                self.observer.tick(step.live())
            result = step.result()
        except OSError as error:
            reason = error.strerror or str(error)
        except (ValueError, MemoryError) as error:
            reason = str(error)
        line = trial_line(
            trial=number,
            setting=setting.as_dict(),
            phase=setting.op,
            repetition=trial.repetition,
            block=trial.block,
            started=started,
            result=result,
            purpose=purpose,
            reason=reason,
        )
        return self._record(line, result, ensemble.host)

    def _record(self, line: dict[str, Any], result: Mapping[str, Any] | None, host: str) -> str:
        self.writer.append_trial(line, task_lines(line, result, host), event_lines(line, result))
        self.lines.append(line)
        self.observer.recorded(line)
        for note in line["notes"]:
            if note["code"] not in self._noted:
                self._noted.add(note["code"])
                self.observer.note(f"note: {note['message']}")
        status: str = line["status"]
        return status

    def _left_ns(self) -> int | None:
        return None if self.budget_ns is None else max(self.budget_ns - self.spent_ns, 0)


def spent_on(lines: Sequence[Mapping[str, Any]]) -> int:
    """Time that recorded phases took: what a resumed run has already used of its budget."""
    return sum(line["elapsed_ns"] or 0 for line in lines)


def failures(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The requested phases that failed."""
    return [line for line in lines if line["status"] == "failed" and line["purpose"] == "measure"]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def run_directory(out: str | None, name: str, run_id: str) -> Path:
    """Where a new run goes: ``out``, or a directory of its own below ``./tonnage-runs``."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return Path(out) if out else Path("tonnage-runs", f"{stamp}-{name}-{run_id}")
