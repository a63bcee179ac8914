"""All that a program started, also what left its session: this process waits for a program, and can end what is below.

A process whose parent ends comes to this one, instead of to the first process of the host (a subreaper; Linux).
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Descendant:
    """A process below this one, by its number and when it started."""

    pid: int
    start_ticks: int
    parent: int = field(compare=False)
    ended: bool = field(compare=False)
    """Only its remains are left: its parent has not asked yet what it exited with."""

    @classmethod
    def of(cls, pid: int) -> Descendant | None:
        """The one that has this number now."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The program's name stands in brackets and may have any characters.
        state, *fields = text.rpartition(")")[2].split()
        # The first of several threads may have ended alone.
        return cls(pid, int(fields[18]), int(fields[0]), state in "ZX" and int(fields[16]) <= 1)

    def signal(self, number: int) -> bool:
        """False where this user may not."""
        try:
            # The number may be another's by now; a handle stays with the process that it was opened for.
            handle = os.pidfd_open(self.pid)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                handle = -1
            else:
                return True
        try:
            now = Descendant.of(self.pid)
            if now is not None and now.start_ticks == self.start_ticks:
                os.kill(self.pid, number) if handle < 0 else signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            return False
        finally:
            if handle >= 0:
                os.close(handle)
        return True


class Watch:
    """Waits for signals. While it is there, orphans of the program come to this process."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        with suppress(AttributeError):
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Watch:
        signal.set_wakeup_fd(self._ring, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, _heard)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self._bell)
        os.close(self._ring)

    def wait(self, limit_s: float | None) -> None:
        """Until a child ends or SIGTERM comes, which may have been since the last call."""
        select.select([self._bell], [], [], limit_s)
        with suppress(BlockingIOError):
            os.read(self._bell, 4096)


def descendants() -> list[Descendant]:
    """Children, their children and so on, as far as they are there at this moment."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    found = [process for number in numbers if (process := Descendant.of(number)) is not None]
    children: dict[int, list[Descendant]] = {}
    for process in found:
        children.setdefault(process.parent, []).append(process)
    ours, ahead = [], [os.getpid()]
    while ahead:
        of = children.pop(ahead.pop(), [])
        ours += of
        ahead += [process.pid for process in of]
    return ours


def collect(processes: list[Descendant], *, but: int) -> None:
    """Waits for those that ended and have nobody else to do so; not for ``but``, whose status is wanted later."""
    for process in processes:
        if process.ended and process.parent == os.getpid() and process.pid != but:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _heard(_number: int, _frame: FrameType | None) -> None:
    return
