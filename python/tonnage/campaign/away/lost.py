"""The trial that a job took with it: recorded as failed, so that it is no blank and the run comes to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tonnage.campaign.expand import Schedule
from tonnage.campaign.observer import Step
from tonnage.campaign.run import spent_on
from tonnage.campaign.setting import Trial
from tonnage.records import Run, RunWriter, event_lines
from tonnage.records.names import TRIALS


def has_record(run: Path, step: Step | None, *, beyond_bytes: int) -> bool:
    """Whether the trial that a job was at has all its records, and the job made one of them: it ended between two
    trials, or recorded itself what went wrong. ``beyond_bytes``: size of the trials' file before the job."""
    if step is None or (run / TRIALS).stat().st_size <= beyond_bytes:
        return False
    mine = [line for line in Run.open(run).trials() if line["trial"] == step.trial and line["purpose"] != "fill"]
    interrupted = any(line["status"] == "interrupted" for line in mine)
    return not interrupted and {line["phase"] for line in mine} >= set(step.setting.phases)


def record_lost(run: Path, schedule: Schedule, reason: str) -> list[dict[str, Any]]:
    """Records the trial that is next as failed for ``reason``: the one under way when its job ended, or, where that
    came between two trials, the one it did not come to. The new lines; none where nothing was left to do."""
    lines = Run.open(run).trials()
    trial = schedule.next(lines, spent_on(lines))
    if trial is None:
        return []
    writer = RunWriter.reopen(run)
    number, done = _under_way(lines, trial)
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    new = []
    for phase in trial.setting.phases:
        if phase in done:
            continue
        line = trial.line(number, phase, started=now, result=None, reason=reason)
        writer.append_trial(line, (), event_lines(line, None))
        new.append(line)
    return new


def _under_way(lines: Sequence[Mapping[str, Any]], trial: Trial) -> tuple[int, set[str]]:
    """The trial's number, and those of its phases that have a record. One that was interrupted counts as a whole: its
    repetition has a number of its own."""
    last = max((line["trial"] for line in lines), default=-1)
    mine = [line for line in lines if line["trial"] == last and line["purpose"] != "fill"]
    same = all(
        line["setting"] == _plain(trial) and line["repetition"] == trial.repetition and line["status"] != "interrupted"
        for line in mine
    )
    phases = {line["phase"] for line in mine}
    if mine and same and not phases >= set(trial.setting.phases):
        return last, phases
    return last + 1, set()


def _plain(trial: Trial) -> dict[str, Any]:
    """The setting as a record has it when it was read back."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in trial.setting.as_dict().items()}
