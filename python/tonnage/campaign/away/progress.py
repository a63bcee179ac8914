"""What a job that measures lets others see: a snapshot in the run directory, replaced whole, once a second at most.

The records themselves say what is measured; this says what is going on. Nothing of it is a record: a run without the
file is as good.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tonnage.campaign.kinds import setting_of
from tonnage.campaign.observer import Observer, Step
from tonnage.records.writer import TRIALS

FILE = "progress.json"
_EVERY_NS = 10**9


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest that a job told."""

    job: int
    """Number of the job among those of the run."""
    host: str = ""
    step: Step | None = None
    live: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    """All so far, in order."""
    ended: int | None = None
    """The exit code of its part; None: it has not come to its end."""
    problem: str | None = None
    """Why it ended, where its part was not done."""
    recorded_bytes: int = 0
    """Size of the trials' file when the part ended, as the job saw it: who follows has all of it then."""


def read_progress(run: Path) -> Progress | None:
    """None where there is none yet, or what is there cannot be read."""
    try:
        found = json.loads((run / FILE).read_bytes())
        step = found["step"]
        return Progress(
            job=int(found["job"]),
            host=str(found["host"]),
            step=None if step is None else Step(**{**step, "setting": setting_of(step["setting"])}),
            live=found["live"],
            notes=tuple(map(str, found["notes"])),
            ended=found["ended"],
            problem=found["problem"],
            recorded_bytes=int(found["recorded_bytes"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Snapshots(Observer):
    """Writes them for one job."""

    def __init__(self, run: Path, job: int) -> None:
        self._path = run / FILE
        self._now = Progress(job, platform.node())
        self._written_ns = 0
        self._write()

    def step(self, step: Step) -> None:
        self._now = replace(self._now, step=step, live=None)
        self._write(at_once=False)

    def tick(self, live: Mapping[str, Any]) -> None:
        self._now = replace(self._now, live=live)
        self._write(at_once=False)

    def note(self, text: str) -> None:
        self._now = replace(self._now, notes=(*self._now.notes, text))
        self._write()

    def close(self, code: int, problem: str | None) -> None:
        """The last one: how the part ended."""
        recorded_bytes = 0
        with suppress(OSError):
            recorded_bytes = self._path.with_name(TRIALS).stat().st_size
        self._now = replace(self._now, ended=code, problem=problem, live=None, recorded_bytes=recorded_bytes)
        self._write()

    def _write(self, *, at_once: bool = True) -> None:
        now_ns = time.monotonic_ns()
        if not at_once and now_ns - self._written_ns < _EVERY_NS:
            return
        self._written_ns = now_ns
        temporary = self._path.with_name(f".{FILE}.{os.getpid()}.tmp")
        # A full disk is the records' trouble to tell of; this is only for who watches.
        with suppress(OSError):
            temporary.write_text(json.dumps(_dump(self._now)), encoding="utf-8")
            temporary.replace(self._path)


def _dump(progress: Progress) -> dict[str, Any]:
    step = progress.step
    names = ("job", "host", "live", "notes", "ended", "problem", "recorded_bytes")
    told = {name: getattr(progress, name) for name in names}
    if step is None:
        return {**told, "step": None}
    plain = ("trial", "trials", "phase", "repetition", "purpose", "elapsed_ns", "left_ns")
    return {**told, "step": {"setting": step.setting.as_dict(), **{name: getattr(step, name) for name in plain}}}
