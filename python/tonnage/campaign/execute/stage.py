"""Trials of ``stage``: an application writes to a fast tier, and its files are brought to a slow one.

That is done by the mover beside it, or by a copy once it has ended.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from tonnage import _native
from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.run_phase import Acted, Status, TrialRun
from tonnage.campaign.execute.stream import StreamExecutor, phase_spec
from tonnage.campaign.kinds.stage import PHASE, WRITE, StageSetting
from tonnage.campaign.stop_signals import Interrupts
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.records.line_types import TrialLine
from tonnage.records.lines import untimed_task
from tonnage.records.phase_results import PhaseResult, StageSample
from tonnage.records.phase_specs import PhaseSpec

MOST = 400
"""Samples of a phase: where there would be more, every second one goes, and the others come half as often."""
_EVERY_S = 0.1

Standing = Callable[[], tuple[int | None, int | None, int]]
"""Bytes that wait, that are being copied, and that are safe; None where unknown."""


class Progress:
    """Looks in a thread of its own, from the first call of ``start`` to ``stop``."""

    def __init__(self, standing: Standing, fast_tier: Path) -> None:
        self.samples: list[StageSample] = []
        self._standing, self._fast_tier = standing, fast_tier
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stage-progress", daemon=True)

    def start(self) -> None:
        """Starts the sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Ends looking. Nothing is asked any more once this has returned."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def sample(self) -> None:
        """Takes one sample. What cannot be asked, as a tree that is being cleared, leaves none."""
        try:
            queued, copying, safe = self._standing()
            told = os.statvfs(self._fast_tier)
        except (OSError, ValueError, RuntimeError):
            return
        self.samples.append([time.monotonic_ns(), queued, copying, safe, told.f_bavail * told.f_frsize])

    def _run(self) -> None:
        pause_s = _EVERY_S
        while not self._ended.wait(pause_s):
            self.sample()
            if len(self.samples) >= MOST:
                del self.samples[1::2]
                pause_s *= 2


FILES = "data.*"
"""Matches the names of a stream's files (``crates/storage/src/scratch/scratch_names.rs``), and not the marker's."""
_LOOK_S = 0.05
_PATIENCE_S = 60.0
"""For a copy in hand, once the run was interrupted."""

MOVER: dict[str, object] = {
    "exclude": [],
    "first": [],
    "markers": [],
    "order": "oldest",
    "overwrite": "never",
    "clear": "never",
    "marks": None,
    "limit_bytes_per_s": None,
    "limit_files_per_s": None,
    "gentle": "off",
    "settle_ns": 100 * 10**6,
    "rescan_ns": 60 * 10**9,
    "open_grace_ns": 30 * 10**9,
    "attempts": 8,
    "log": None,
    "drop_attributes": False,
    "trees_changed": False,
}
"""What ``stage run`` does unless told otherwise (``crates/mover/src/options.rs``), but for its giving way: the tasks
that write are threads of the mover's own process here, so that it could not tell their I/O from its own."""


class StageOut(ABC):
    """Entered before the application starts; ``bring`` is called once it has ended."""

    def __init__(self, setting: StageSetting, source: Path, to: Path) -> None:
        self.setting, self.source, self.to = setting, source, to
        self.copied_before_end_bytes = 0
        self.workers: int | None = None
        self._began = _cpu_ns()
        self._progress = Progress(self._standing, source)

    def __enter__(self) -> StageOut:
        self._progress.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def bring(self, written: TrialLine, interrupts: Interrupts) -> Acted:
        """Brings what the phase ``written`` wrote; from its first write to the moment in which all is safe."""
        reason = self._bring(interrupts)
        safe_ns = time.monotonic_ns()
        self._progress.stop()
        self._progress.sample()
        files, moved = _arrived(self.to)
        stopped = bool(interrupts) and reason is not None
        if reason is None and (files, moved) != (self.setting.tasks, written["bytes"]):
            reason = (
                f"{files} files of {moved} bytes arrived, and {self.setting.tasks} of {written['bytes']} were written"
            )
        task = untimed_task(0, written["first_start_ns"] or 0, safe_ns, moved=moved, operations=files)
        user_ns, system_ns = (now - then for now, then in zip(_cpu_ns(), self._began, strict=True))
        result: PhaseResult = {
            "tasks": [task],
            "stop_reason": "interrupted" if stopped else "error" if reason else "size",
            "latency": None,
            "cpu_user_ns": user_ns,
            "cpu_system_ns": system_ns,
            "direct": None,
            "cache": None,
            "verify": None,
            "first_error": None,
            "facts": {},
            "notes": [],
            "events": [],
            "stage": {
                "application_ns": written["elapsed_ns"] or 0,
                "drain_ns": safe_ns - (written["last_done_ns"] or 0),
                "copied_before_end_bytes": self.copied_before_end_bytes,
                "workers": self.workers,
                "progress": self._progress.samples,
            },
        }
        return result, None if stopped else reason

    @abstractmethod
    def _bring(self, interrupts: Interrupts) -> str | None:
        """Returns when all is safe: None; or why it is not."""

    @abstractmethod
    def _standing(self) -> tuple[int | None, int | None, int]:
        """Bytes that wait, that are on their way, and that are safe."""


class Mover(StageOut):
    """``tonnage stage run``: files are moved while the application still writes others."""

    def __enter__(self) -> StageOut:
        state = self.source / ".tonnage-stage"
        options = MOVER | {
            "from": str(self.source),
            "to": str(self.to),
            "state": str(state),
            "name": "campaign",
            "include": [FILES],
            "check": self.setting.check_copies,
            "workers": self.setting.workers,
        }
        self._mover = _native.Mover(json.dumps(options))
        self._mover.start()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if not self._mover.wait(0):
            self._mover.stop(0)
            self._mover.wait(_PATIENCE_S)
        # Its lock and journal are closed with it.
        del self._mover

    def _bring(self, interrupts: Interrupts) -> str | None:
        self.copied_before_end_bytes = self._mover.status()["copied_bytes"]
        self._mover.drain()
        while not self._mover.wait(_LOOK_S):
            if interrupts:
                self._mover.stop(0)
        status = self._mover.status()
        self.workers = status["workers"]
        if status["failures"]:
            first = status["failures"][0]
            return f"{first['path']}: {first['reason']}"
        return None if status["progress"] == "finished" else "the mover ended before all was safe"

    def _standing(self) -> tuple[int | None, int | None, int]:
        status = self._mover.status()
        return status["queued"]["bytes"], status["copying"]["bytes"], status["done"]["bytes"]


class Copy(StageOut):
    """Copies as a user does at the end of a job: ``cp -r``, then a sync of the destination's file system."""

    _is_safe = False

    def _bring(self, interrupts: Interrupts) -> str | None:
        names = sorted(str(path) for path in self.source.glob(FILES))
        for argv in (["cp", "-r", "--", *names, str(self.to)], ["sync", "-f", str(self.to)]):
            if reason := _run(argv, interrupts):
                return reason
        self._is_safe = True
        return None

    def _standing(self) -> tuple[int | None, int | None, int]:
        there = _arrived(self.to)[1]
        return (None, 0, there) if self._is_safe else (None, there, 0)


_BY: dict[str, type[StageOut]] = {"mover": Mover, "copy": Copy}
"""By the name in a campaign file."""


class StageExecutor(Executor[StageSetting]):
    """On fresh files, which go from both tiers when the trial is over."""

    def check(self, setting: StageSetting, target: Target) -> None:  # noqa: ARG002  (as every kind's)
        if target.scheme != "path":
            raise RequestError(
                f"workload.kind: stage moves real files, and {target.uri} holds none; hint: give two directories"
            )
        if target.names:
            raise RequestError("workload.kind: stage makes its own files; hint: leave file_names out")

    def try_out(self, setting: StageSetting, target: Target) -> PhaseSpec:
        return StreamExecutor().try_out(setting.writing, target)

    def measure(self, setting: StageSetting, trial: TrialRun) -> Status:
        workspace = trial.workspace
        # Opened, so that what arrives on the slow tier is cleared as well.
        for one in (setting, replace(setting, device=setting.to_device)):
            workspace.ensemble(one)
        workspace.clear()
        try:
            tiers = (workspace.directory(setting.device or 0), workspace.directory(setting.to_device))
            with _BY[setting.by](setting, *tiers) as stage_out:
                spec = phase_spec(setting.writing, trial.record(WRITE), trial.seed)
                written = trial.phase(setting, WRITE, spec)
                if written.status == "ok":
                    return trial.run_outside_engine(PHASE, lambda: stage_out.bring(written.line, trial.interrupts))
        except (OSError, ValueError, RuntimeError) as error:
            return trial.without(PHASE, getattr(error, "strerror", None) or str(error))
        finally:
            workspace.clear()
        if written.status == "failed":
            return trial.without(PHASE, "the files that it moves could not be written")
        return written.status


def _run(argv: list[str], interrupts: Interrupts) -> str | None:
    """Runs a command to its end, or ends it where the run is interrupted; returns why it failed."""
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    asked = False
    while True:
        try:
            # Looks at its messages as well: a full pipe would hold it up.
            said = process.communicate(timeout=_LOOK_S)[1]
        except subprocess.TimeoutExpired:
            if interrupts and not asked:
                process.send_signal(signal.SIGTERM)
                asked = True
            continue
        if process.returncode == 0:
            return None
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        return f"{argv[0]} ended with exit code {process.returncode}" + "".join(f": {line[:200]}" for line in last)


def _arrived(to: Path) -> tuple[int, int]:
    """Files and bytes on the slow tier."""
    sizes = [path.stat().st_size for path in to.glob(FILES)]
    return len(sizes), sum(sizes)


def _cpu_ns() -> tuple[int, int]:
    """User and system time of this process and of the children that it waited for."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((own.ru_utime + children.ru_utime) * 1e9), int((own.ru_stime + children.ru_stime) * 1e9)
