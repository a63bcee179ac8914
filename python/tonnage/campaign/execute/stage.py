"""The ways from a fast tier to a slow one: the mover, beside the application, or a copy by hand once that has ended."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tonnage import _native
from tonnage.campaign.interrupts import Interrupts
from tonnage.records.lines import untimed_task

if TYPE_CHECKING:
    from tonnage.campaign.kinds.stage import StageSetting

FILES = "data.*"
"""What the engine calls the files of a stream (``crates/storage/src/scratch/spelled.rs``); the marker is another."""
_LOOK_S = 0.05
_PATIENCE_S = 60.0
"""For a copy in hand, once the run was interrupted."""

MOVER: dict[str, Any] = {
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

Brought = tuple[dict[str, Any] | None, str | None]
"""A PhaseResult (``crates/records/src/result.rs``) and why it failed."""


class Way(ABC):
    """Entered before the application starts; ``bring`` is called once it has ended."""

    def __init__(self, setting: StageSetting, source: Path, to: Path) -> None:
        self.setting, self.source, self.to = setting, source, to
        self._began = _cpu_ns()

    def __enter__(self) -> Way:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        return

    def bring(self, written: Mapping[str, Any], interrupts: Interrupts) -> Brought:
        """Brings what the phase ``written`` wrote; from its first write to the moment in which all is safe."""
        reason = self._bring(interrupts)
        safe_ns = time.monotonic_ns()
        files, moved = _arrived(self.to)
        stopped = bool(interrupts) and reason is not None
        if reason is None and (files, moved) != (self.setting.tasks, written["bytes"]):
            reason = (
                f"{files} files of {moved} bytes arrived, and {self.setting.tasks} of {written['bytes']} were written"
            )
        task = untimed_task(0, written["first_start_ns"], safe_ns, moved=moved, operations=files)
        user_ns, system_ns = (now - then for now, then in zip(_cpu_ns(), self._began, strict=True))
        result = {
            "tasks": [task],
            "stop_reason": "interrupted" if stopped else "error" if reason else "size",
            "latency": None,
            "cpu_user_ns": user_ns,
            "cpu_system_ns": system_ns,
            "direct": None,
            "verify": None,
            "first_error": None,
            "facts": {},
            "notes": [],
            "events": [],
            "stage": {
                "application_ns": written["elapsed_ns"],
                "drain_ns": safe_ns - written["last_done_ns"],
                **self._told(),
            },
        }
        return result, None if stopped else reason

    @abstractmethod
    def _bring(self, interrupts: Interrupts) -> str | None:
        """Returns when all is safe: None; or why it is not."""

    def _told(self) -> dict[str, Any]:
        return {"copied_before_end_bytes": 0, "workers": None}


class Mover(Way):
    """``tonnage stage run``: files are moved while the application still writes others."""

    def __enter__(self) -> Way:
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
        self._before, self._workers = 0, 0
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if not self._mover.wait(0):
            self._mover.stop(0)
            self._mover.wait(_PATIENCE_S)
        # Its lock and journal are closed with it.
        del self._mover

    def _bring(self, interrupts: Interrupts) -> str | None:
        self._before = self._mover.status()["copied_bytes"]
        self._mover.drain()
        while not self._mover.wait(_LOOK_S):
            if interrupts:
                self._mover.stop(0)
        status = self._mover.status()
        self._workers = status["workers"]
        if status["failures"]:
            first = status["failures"][0]
            return f"{first['path']}: {first['reason']}"
        return None if status["progress"] == "finished" else "the mover ended before all was safe"

    def _told(self) -> dict[str, Any]:
        return {"copied_before_end_bytes": self._before, "workers": self._workers}


class Copy(Way):
    """What a user types at the end of a job: ``cp -r`` and a sync of the file system it went to."""

    def _bring(self, interrupts: Interrupts) -> str | None:
        names = sorted(str(path) for path in self.source.glob(FILES))
        for argv in (["cp", "-r", "--", *names, str(self.to)], ["sync", "-f", str(self.to)]):
            if reason := _run(argv, interrupts):
                return reason
        return None


WAYS: dict[str, type[Way]] = {"mover": Mover, "copy": Copy}
"""By the name in a campaign file."""


def _run(argv: list[str], interrupts: Interrupts) -> str | None:
    """Runs a command of ours to its end, or ends it where the run is interrupted; why it failed."""
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
