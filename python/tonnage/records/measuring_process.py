"""The progress file of a run, and the process that measures it: by more than its PID, which the kernel reuses."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from tonnage.processes import Process

PROGRESS = "progress.json"
_LARGEST = 1 << 20
"""Bytes of it that are read."""


def read_progress_file(run: Path) -> dict[str, Any] | None:
    """The keys of ``progress.json`` (``docs/record-format.md``), unchecked; None where there is none, or it is no JSON
    object."""
    try:
        # What lies there may be of another make: a pipe would wait for its writer for ever.
        handle = os.open(run / PROGRESS, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


ENDED_WITHOUT_SUMMARY = "ended-without-summary"
"""State of a run whose process was killed: no manifest says so."""
_PROC = Path("/proc")


class MeasuringProcess(TypedDict):
    """One process for ever, as ``progress.json`` names it."""

    pid: int
    start_ticks: int
    """When it started, in clock ticks of that start of the host."""
    boot: str
    """Which start of which host: no two have the same."""
    namespace: str
    """In which its number and its ticks count."""


def this_process() -> MeasuringProcess | None:
    """The one that asks; None where its system does not tell."""
    try:
        space, me = _namespace(), Process.of(os.getpid())
    except (OSError, ValueError, IndexError):
        return None
    if me is None:
        return None
    return MeasuringProcess(pid=me.pid, start_ticks=me.start_ticks, boot=me.boot, namespace=space)


def is_gone(named: object) -> bool:
    """Whether a process that ``progress.json`` names has surely ended: it ran since this start of this host, and here
    are all of its processes to be seen. False where that is not known, and for what names none."""
    me = this_process()
    if not isinstance(named, Mapping) or me is None:
        return False
    pid, start_ticks = named.get("pid"), named.get("start_ticks")
    if type(pid) is not int or type(start_ticks) is not int or not 0 < pid < 1 << 31:
        return False
    if (named.get("boot"), named.get("namespace")) != (me["boot"], me["namespace"]):
        return False
    try:
        os.kill(pid, 0)  # tells of processes that /proc hides from this user
    except ProcessLookupError:
        return True
    except PermissionError:
        if not (_PROC / str(pid)).exists():
            return False  # another user's, which /proc may hide
    except OSError:
        return False
    try:
        return Process.of(pid) != Process(pid, start_ticks, me["boot"])
    except (OSError, ValueError, IndexError):
        return False


def ended_without_summary(run: Path, manifest: Mapping[str, object]) -> bool:
    """Whether the run says that it goes on, and the process that measured it is gone. False for a run by a scheduler's
    jobs: the next job may start."""
    if manifest.get("state") != "running" or manifest.get("on") is not None:
        return False
    progress = read_progress_file(run)
    return progress is not None and is_gone(progress.get("process"))


def _namespace() -> str:
    """OSError, ValueError where it is not known."""
    # A /proc of another name space tells of other processes under the same numbers.
    if (_PROC / "self").readlink().name != str(os.getpid()):
        raise ValueError("/proc is of another name space")
    # A kernel without name spaces of time has one time.
    spaces = [path.stat() for name in ("pid", "time") if (path := _PROC / "self/ns" / name).exists()]
    return " ".join(f"{one.st_dev}:{one.st_ino}" for one in spaces)
