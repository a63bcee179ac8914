"""Events of a run for an observer. The command line's panel is one observer; another one ignores all events."""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, cast

from tonnage.campaign.kinds import Setting, setting_of
from tonnage.records.file_names import TRIALS
from tonnage.records.line_types import Json, TrialLine
from tonnage.records.measuring_process import PROGRESS, MeasuringProcess, read_progress_file, this_process


@dataclass(frozen=True, slots=True)
class Step:
    """The phase that is about to cross the start line."""

    trial: int
    trials: int | None
    """How many there will be; None where a search decides as it goes."""
    setting: Setting
    phase: str
    repetition: int
    purpose: str
    elapsed_ns: int
    left_ns: int | None


class Live(TypedDict, total=False):
    """A snapshot of a phase that runs (``tonnage._native.Phase.live``)."""

    elapsed_ns: int
    bytes: int
    operations: int
    p50_ns: int | None
    p99_ns: int | None
    recent_p99_ns: int | None
    bandwidth_bytes_per_s: int | None
    running_tasks: int
    heat: Sequence[Sequence[int]]
    failed: bool


class Observer:
    """Listens and does nothing. Subclasses override what they care for; none may raise."""

    def started(self, path: Path, target: str, name: str) -> None:
        """The run directory exists."""

    def step(self, step: Step) -> None:
        """A phase begins."""

    def tick(self, live: Live) -> None:
        """A snapshot (``tonnage._native.Phase.live``), about ten times a second."""

    def waiting(self, text: str) -> None:
        """Nothing is measured, with the reason in one sentence; called repeatedly while that lasts."""

    def recorded(self, line: TrialLine) -> None:
        """A phase ended and its line is on disk."""

    def note(self, text: str) -> None:
        """One sentence the user should see."""

    def ended(self) -> None:
        """No more will come."""


_EVERY_NS = 10**9
_SAMPLED = ("elapsed_ns", "bytes", "operations", "recent_p99_ns")
_MOST_SAMPLES = 300
"""Of a phase: where there would be more, every other one goes and from then on only every other one is kept."""
_MOST_COLUMNS = 40
"""Of its heat map, thinned out the same way. The map is most of what is written."""
_HEAT = ("start_ns", "end_ns", "low_ns", "high_ns", "count")


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest progress of a run."""

    job: int | None
    """Number of the job among those of the run; None: it is measured without a scheduler's jobs."""
    host: str = ""
    pid: int = 0
    process: MeasuringProcess | None = None
    """The same, so that another process with this PID is not mistaken for it."""
    step: Step | None = None
    live: Live | None = None
    samples: tuple[tuple[int, ...], ...] = ()
    """``elapsed_ns``, ``bytes``, ``operations``, ``recent_p99_ns`` of the phase, at moments so far, in order."""
    heat: Mapping[str, list[int]] = field(default_factory=dict)
    """The same phase by latency: the columns of ``heat/*.parquet``."""
    notes: tuple[str, ...] = ()
    """All so far, in order."""
    ended: int | None = None
    """The exit code of its part; None: it has not come to its end."""
    problem: str | None = None
    """Why it ended, where its part was not done."""
    recorded_bytes: int = 0
    """Size of the trials' file when the part ended, as the job saw it: who follows has all of it then."""


def read_progress(run: Path) -> Progress | None:
    """A job's progress file; None where there is none yet, or it cannot be read."""
    found = read_progress_file(run)
    if found is None:
        return None
    try:
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
    except (ValueError, KeyError, TypeError):
        return None


class Samples:
    """Snapshots of one phase, never more than ``_MOST_SAMPLES``, spread over all of its time."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, ...]] = []
        self._every = 1
        self._seen = 0

    def add(self, live: Live) -> None:
        """Keeps one, or lets it go."""
        figures: Json = live
        if self._seen % self._every == 0:
            self._kept.append(tuple(int(figures.get(name) or 0) for name in _SAMPLED))
        self._seen += 1
        if len(self._kept) > _MOST_SAMPLES:
            self._kept = self._kept[::2]
            self._every *= 2

    def all(self) -> tuple[tuple[int, ...], ...]:
        """Returns all samples in order of time."""
        return tuple(self._kept)


class Heat:
    """Latencies of one phase over its time, in no more than ``_MOST_COLUMNS`` intervals and the latest."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, Sequence[Sequence[int]]]] = []
        """When, and ``low_ns, high_ns, operations`` so far."""
        self._latest: tuple[int, Sequence[Sequence[int]]] | None = None
        self._every = 1
        self._seen = 0

    def add(self, live: Live) -> None:
        """Keeps what a snapshot counted."""
        self._latest = (int(live.get("elapsed_ns") or 0), live.get("heat") or ())
        self._seen += 1
        if self._seen % self._every == 0:
            self._kept.append(self._latest)
        if len(self._kept) > _MOST_COLUMNS:
            # What is left out is counted by the next: the counts are sums.
            self._kept = self._kept[1::2]
            self._every *= 2

    def columns(self) -> dict[str, list[int]]:
        """Operations of each interval and bucket that have any."""
        rows: list[tuple[int, int, int, int, int]] = []
        start_ns, before = 0, dict[int, int]()
        for end_ns, cells in [*self._kept, *([self._latest] if self._latest else [])]:
            if end_ns <= start_ns:
                continue
            rows += [
                (start_ns, end_ns, low, high, count - before.get(low, 0))
                for low, high, count in cells
                if count > before.get(low, 0)
            ]
            start_ns, before = end_ns, {low: count for low, _, count in cells}
        return {name: [row[at] for row in rows] for at, name in enumerate(_HEAT)}


class Snapshots(Observer):
    """Writes snapshots, for one job or for a run without jobs, and passes all events on."""

    def __init__(self, run: Path, job: int | None, listener: Observer | None = None) -> None:
        self._path = run / PROGRESS
        self._listener = listener or Observer()
        self._now = Progress(job, platform.node(), os.getpid(), this_process())
        self._forget()
        self._written_ns = 0
        self._write()

    def started(self, path: Path, target: str, name: str) -> None:
        self._listener.started(path, target, name)

    def step(self, step: Step) -> None:
        self._now = replace(self._now, step=step, live=None)
        self._forget()
        self._write(at_once=False)
        self._listener.step(step)

    def tick(self, live: Live) -> None:
        without_heat = cast("Live", {name: value for name, value in live.items() if name != "heat"})
        self._now = replace(self._now, live=without_heat)
        self._samples.add(live)
        self._heat.add(live)
        self._write(at_once=False)
        self._listener.tick(live)

    def waiting(self, text: str) -> None:
        self._listener.waiting(text)

    def recorded(self, line: TrialLine) -> None:
        self._listener.recorded(line)

    def note(self, text: str) -> None:
        self._now = replace(self._now, notes=(*self._now.notes, text))
        self._write()
        self._listener.note(text)

    def ended(self) -> None:
        if self._now.job is None:
            # A finished run needs none: it has its records. The follower of a job waits for its last snapshot.
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        self._listener.ended()

    def close(self, code: int, problem: str | None) -> None:
        """Writes the last progress of a job: how its part ended."""
        recorded_bytes = 0
        with suppress(OSError):
            recorded_bytes = self._path.with_name(TRIALS).stat().st_size
        self._now = replace(self._now, ended=code, problem=problem, live=None, recorded_bytes=recorded_bytes)
        self._forget()
        self._write()

    def _forget(self) -> None:
        """Forgets the figures of the phase before."""
        self._samples, self._heat = Samples(), Heat()

    def _write(self, *, at_once: bool = True) -> None:
        now_ns = time.monotonic_ns()
        if not at_once and now_ns - self._written_ns < _EVERY_NS:
            return
        self._written_ns = now_ns
        temporary = self._path.with_name(f".{PROGRESS}.{secrets.token_hex(8)}.tmp")
        # Writing the records reports a full disk; these snapshots are for viewers only.
        with suppress(OSError):
            now = replace(self._now, samples=self._samples.all(), heat=self._heat.columns())
            with temporary.open("x", encoding="utf-8") as file:
                file.write(json.dumps(_dump(now)))
            temporary.replace(self._path)


def _dump(progress: Progress) -> Json:
    step = progress.step
    names = ("job", "host", "pid", "process", "live", "samples", "heat", "notes", "ended", "problem", "recorded_bytes")
    figures = {name: getattr(progress, name) for name in names}
    if step is None:
        return {**figures, "step": None}
    plain = ("trial", "trials", "phase", "repetition", "purpose", "elapsed_ns", "left_ns")
    return {**figures, "step": {"setting": step.setting.as_dict(), **{name: getattr(step, name) for name in plain}}}
