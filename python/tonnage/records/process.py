"""Identifies the process that measures a run, and whether it has ended: by more than its PID, which the kernel
reuses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from tonnage.records.progress import read_progress_file

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
        start_ticks = _start_ticks(os.getpid())
        return (
            None
            if start_ticks is None
            else MeasuringProcess(pid=os.getpid(), start_ticks=start_ticks, **_kernel_spaces())
        )
    except (OSError, ValueError, IndexError):
        return None


def is_gone(named: object) -> bool:
    """Whether a process that ``progress.json`` names has surely ended: it ran since this start of this host, and here
    are all of its processes to be seen. False where that is not known, and for what names none."""
    if not isinstance(named, Mapping):
        return False
    pid, start_ticks = named.get("pid"), named.get("start_ticks")
    if type(pid) is not int or type(start_ticks) is not int or not 0 < pid < 1 << 31:
        return False
    try:
        if {key: named.get(key) for key in ("boot", "namespace")} != _kernel_spaces():
            return False
        os.kill(pid, 0)  # tells of processes that /proc hides from this user
    except ProcessLookupError:
        return True
    except (OSError, ValueError, IndexError) as error:
        if not isinstance(error, PermissionError):
            return False
    try:
        return _start_ticks(pid) != start_ticks
    except (OSError, ValueError, IndexError):
        return False


def ended_without_summary(run: Path, manifest: Mapping[str, object]) -> bool:
    """Whether the run says that it goes on, and the process that measured it is gone. False for a run by a scheduler's
    jobs: the next job may start."""
    if manifest.get("state") != "running" or manifest.get("on") is not None:
        return False
    told = read_progress_file(run)
    return told is not None and is_gone(told.get("process"))


class _KernelSpaces(TypedDict):
    boot: str
    namespace: str


def _kernel_spaces() -> _KernelSpaces:
    # A /proc of another name space tells of other processes under the same numbers.
    if (_PROC / "self").readlink().name != str(os.getpid()):
        raise ValueError("/proc is of another name space")
    # A kernel without name spaces of time has one time.
    spaces = [path.stat() for name in ("pid", "time") if (path := _PROC / "self/ns" / name).exists()]
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return _KernelSpaces(boot=boot, namespace=" ".join(f"{one.st_dev}:{one.st_ino}" for one in spaces))


def _start_ticks(pid: int) -> int | None:
    """None for a process that has ended and waits to be collected, and where there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may have any characters.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
