"""Processes by more than their numbers, which the kernel gives to others one day, and all that this one started."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Process:
    """One process for ever: its number, when it started, and since which start of the host that counts."""

    pid: int
    start_ticks: int
    boot: str
    parent: int = field(default=0, compare=False)
    group: int = field(default=0, compare=False)
    ended: bool = field(default=False, compare=False)
    """Only its remains are left: its parent has not asked yet what it exited with."""

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The one that has this number now; None where there is none, or only its remains. OSError, ValueError or
        IndexError where ``/proc`` does not tell."""
        found = _read_stat(pid)
        return None if found is None or found.ended else found

    @classmethod
    def this(cls) -> Process:
        """The one that asks."""
        found = cls.of(os.getpid())
        assert found is not None
        return found

    @classmethod
    def read(cls, text: str) -> Process:
        """Reads what ``str`` wrote."""
        pid, start_ticks, boot = text.split()
        return cls(int(pid), int(start_ticks), boot)

    def __str__(self) -> str:
        return f"{self.pid} {self.start_ticks} {self.boot}"

    @property
    def alive(self) -> bool:
        """Whether it runs; one that ended and that nobody has waited for does not."""
        return Process.of(self.pid) == self

    def signal(self, number: int, *, group: bool = False) -> bool:
        """Sends it, if it runs, or with ``group`` to all of the group that it leads; False where this user may not."""
        try:
            # The number may be another's by now; a handle stays with the process that it was opened for.
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        except OSError:
            handle = -1  # an old kernel
        try:
            if self.alive and group:
                os.killpg(self.pid, number)
            elif self.alive:
                os.kill(self.pid, number) if handle < 0 else signal.pidfd_send_signal(handle, number)
        except PermissionError:
            return False
        except ProcessLookupError:
            pass
        finally:
            if handle >= 0:
                os.close(handle)
        return True


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends comes to this one, instead of to the first of the host (a
    subreaper; Linux)."""
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[Process]:
    """Children, their children and so on, as far as they are there at this moment; remains too."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    children: dict[int, list[Process]] = {}
    for found in filter(None, map(_read_stat, numbers)):
        children.setdefault(found.parent, []).append(found)
    ours, ahead = [], [os.getpid()]
    while ahead:
        of = children.pop(ahead.pop(), [])
        ours += of
        ahead += [process.pid for process in of]
    return ours


def _read_stat(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may have any characters.
    state, *fields = text.rpartition(")")[2].split()
    # The first of several threads may have ended alone.
    ended = state in "ZX" and int(fields[16]) <= 1
    return Process(pid, int(fields[18]), _boot(), int(fields[0]), int(fields[1]), ended)


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
