"""The spool: a directory of one user on one host that has every job, and what became of each of its copies.

::

    next                  the last number given; whoever adds a job holds a flock of it
    spooler               the process that runs jobs holds a lock of it, and writes its slots there
    starting              locked while a copy is on its way from the spooler to ``N.started``
    wake                  a FIFO: numbers of jobs that changed
    keys/key-KEY          a symbolic link whose text is the number of the job with that key
    jobs/NUMBER/          jobs that wait or run
        request.json      what was asked for, and in a second line the environment; written before the directory has
                          its name
        N.started N.program N.ended     of copy N; 0 where the job is no array
        cap cancelled N.cancelled       orders
        granted                         the word to a job in the foreground
        go                a FIFO that wakes it
    ended/NUMBER/         jobs that ended

Each file appears whole, under its name, or not at all; the directories say what is true, the FIFOs only when to look.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.process import Process
from tonnage.cluster.schedulers.local.records import (
    Ended,
    Entry,
    Started,
    dump_environment,
    dump_process,
    load_environment,
    load_process,
)
from tonnage.machine.state import checked_inside, checked_own

REMEMBERED_NS = 7 * 24 * 3600 * 10**9
"""How long after its submission an ended job is remembered,"""
REMEMBERED = 2000
"""and how many of them."""
_HELD = re.compile(r"^/proc/self/fd/[0-9]+")
_COPY_FILE = re.compile(r"([0-9]+)\.(started|ended)")


class Spool:
    """The directory; every process of this user may open it. It stays the one that was opened: what lies there is run,
    so nothing is looked for under a name that could come to mean another directory."""

    def __init__(self, directory: Path) -> None:
        """RequestError where another user could write to it, or replace it."""
        self.directory = checked_own(directory)
        """Its name, to be told."""
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        weakref.finalize(self, os.close, handle)
        self.held = Path(f"/proc/self/fd/{handle}")
        """The directory itself, to be used: in this process, and in those that it forks."""
        self._active = self.held / "jobs"
        self._ended = self.held / "ended"
        self._keys = self.held / "keys"
        for place in (self._active, self._ended, self._keys):
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
            checked_inside(self.directory / place.name)
        self.wake = self.held / "wake"
        with suppress(FileExistsError):
            os.mkfifo(self.wake, 0o600)

    # SpoolState

    def add(self, request: JobRequest, *, waiter: Process | None, timeout_s: float) -> tuple[int, bool]:
        """The job's number, and whether it is new: a key that the spool knows adds nothing."""
        fresh = self.held / f".fresh-{os.urandom(8).hex()}"
        fresh.mkdir(mode=0o700)
        try:
            _write(fresh / "request.json", Entry.of(request, waiter).dump() + dump_environment())
            if waiter is not None:
                os.mkfifo(fresh / "go", 0o600)
            with self.locked(timeout_s) as counter:
                known = self.find(request.key)
                if known is not None:
                    return known, False
                number = self._number(counter)
                key = self._key(request.key)
                key.unlink(missing_ok=True)
                key.symlink_to(str(number))
                fresh.rename(self._active / str(number))
            _sync(self._active)
            return number, True
        finally:
            if fresh.exists():
                _remove(fresh)

    def find(self, key: str) -> int | None:
        """The number of the job with that key."""
        try:
            number = int(str(self._key(key).readlink()))
            entry = self.entry(number)
        except (FileNotFoundError, ValueError):
            return None
        # A key may be left of a submission that was cut off before its job had a name.
        return number if entry is not None and entry.request.key == key else None

    def entry(self, number: int) -> Entry | None:
        """What was asked for; None where the spool has no such job, or one of another version that cannot be read."""
        text = self._read(number, "request.json")
        try:
            return None if text is None else Entry.load(text.partition(b"\n")[0])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def environment(self, number: int) -> dict[str, str]:
        """That of whoever submitted the job. KeyError where the spool has no such job."""
        text = self._read(number, "request.json")
        if text is None:
            raise KeyError(number)
        return load_environment(text.partition(b"\n")[2])

    def files(self, number: int) -> set[str]:
        """The names of what is kept of a job: one look instead of one a file."""
        for place in (self._active, self._ended):
            with suppress(FileNotFoundError):
                return {file.name for file in (place / str(number)).iterdir()}
        return set()

    def numbers(self, *, ended: bool = False) -> list[int]:
        """The jobs that wait or run, or those that ended, in the order of submission."""
        names = (path.name for path in (self._ended if ended else self._active).iterdir())
        return sorted(int(name) for name in names if name.isdecimal())

    def ended_since(self, since_ns: int) -> list[int]:
        """Those of which the last copy ended after a moment, in nanoseconds since 1970."""
        found = []
        for number in self.numbers(ended=True):
            # Another process may be removing what ended long ago.
            with suppress(FileNotFoundError):
                if (self._ended / str(number)).stat().st_mtime_ns >= since_ns:
                    found.append(number)
        return found

    def is_active(self, number: int) -> bool:
        """Whether it is among those that wait or run."""
        return (self._active / str(number)).is_dir()

    def is_own(self, number: int) -> bool:
        """Whether nobody else can have written what an active job is: such a one is not run."""
        place = self._active / str(number)
        try:
            job, asked = place.lstat(), (place / "request.json").lstat()
        except FileNotFoundError:
            return False
        mine = {job.st_uid, asked.st_uid} == {os.geteuid()}
        plain = stat.S_ISDIR(job.st_mode) and stat.S_ISREG(asked.st_mode)
        return mine and plain and not (job.st_mode | asked.st_mode) & (stat.S_IWGRP | stat.S_IWOTH)

    def retire(self, number: int) -> None:
        """Puts a job whose copies have all ended away."""
        (self._active / str(number)).rename(self._ended / str(number))

    def forget(self) -> None:
        """Removes what ended long ago, and what submissions that were cut off left."""
        oldest_ns = time.time_ns() - REMEMBERED_NS
        numbers = self.numbers(ended=True)
        for index, number in enumerate(numbers):
            entry = self.entry(number)
            if index < len(numbers) - REMEMBERED or entry is None or entry.submitted_at_ns < oldest_ns:
                if entry is not None and self.find(entry.request.key) == number:
                    self._key(entry.request.key).unlink(missing_ok=True)
                _remove(self._ended / str(number))
        for fresh in self.held.glob(".fresh-*"):
            with suppress(FileNotFoundError):
                if fresh.stat().st_mtime_ns < oldest_ns:
                    _remove(fresh)

    @contextmanager
    def locked(self, timeout_s: float) -> Iterator[int]:
        """While no job is added; gives the descriptor of the counter. SchedulerError where that takes too long."""
        counter = os.open(self.held / "next", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            until_s = time.monotonic() + timeout_s
            while True:
                try:
                    fcntl.flock(counter, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until_s:
                        raise SchedulerError(
                            f"{self.directory} has been locked by another process for {timeout_s:g} s; nothing was "
                            "submitted; hint: try again"
                        ) from None
                    time.sleep(0.001)
            yield counter
        finally:
            os.close(counter)

    def _number(self, counter: int) -> int:
        number = int(os.pread(counter, 32, 0) or b"0") + 1
        # The counter is not forced to disk: after a power cut it may be behind.
        while any((place / str(number)).exists() for place in (self._active, self._ended)):
            number += 1
        os.pwrite(counter, b"%-20d" % number, 0)
        return number

    # Copies

    def copies(self, number: int) -> tuple[set[int], set[int]]:
        """The copies of a job that were started, and those that ended."""
        return copies_in(self.files(number))

    def claim(self, number: int, copy: int, started: Started) -> bool:
        """Writes down, for good, that a copy is started; False where somebody did so before, who then starts it."""
        return self._write_once(number, f"{copy}.started", started.dump())

    def started(self, number: int, copy: int) -> Started | None:
        text = self._read(number, f"{copy}.started")
        return None if text is None else Started.load(text)

    def note_program(self, number: int, copy: int, program: Process) -> None:
        """Which process a copy is, for whoever finds it without the process that waited for it."""
        self._write_once(number, f"{copy}.program", dump_process(program), lasting=False)

    def program(self, number: int, copy: int) -> Process | None:
        text = self._read(number, f"{copy}.program")
        return None if text is None else load_process(text)

    def end(self, number: int, copy: int, ended: Ended) -> bool:
        """Writes down how a copy ended; False where that is known already."""
        return self._write_once(number, f"{copy}.ended", ended.dump())

    def ended(self, number: int, copy: int) -> Ended | None:
        text = self._read(number, f"{copy}.ended")
        return None if text is None else Ended.load(text)

    # Orders

    def cancel(self, number: int) -> None:
        """What waits of the job starts no more; the spooler ends what runs."""
        self._write_once(number, "cancelled", b"%d\n" % time.time_ns())

    def cancel_copy(self, number: int, copy: int) -> None:
        """One that waits never starts; the spooler ends one that runs."""
        self._write_once(number, f"{copy}.cancelled", b"%d\n" % time.time_ns())
        now_ns = time.time_ns()
        # Whoever claims it first decides: then it is this process that has it, and it does not run it.
        if self.claim(number, copy, Started(Process.this(), now_ns)):
            self.end(number, copy, Ended("cancelled", None, "cancelled before it began", now_ns))

    def cancelled_at_ns(self, number: int, copy: int | None = None) -> int | None:
        """When the end of the job was ordered, or that of the one copy alone."""
        text = self._read(number, "cancelled" if copy is None else f"{copy}.cancelled")
        return None if text is None else int(text)

    def set_cap(self, number: int, cap: int) -> None:
        """From now on."""
        place = self._active / str(number)
        fresh = place / f".{os.urandom(8).hex()}"
        _write(fresh, b"%d\n" % cap)
        fresh.replace(place / "cap")

    def cap(self, number: int) -> int | None:
        """As it was ordered since; None: as it was submitted."""
        text = self._read(number, "cap")
        return None if text is None else int(text)

    def grant(self, number: int) -> None:
        """Tells the foreground process of a job that it may start it."""
        self._write_once(number, "granted", b"", lasting=False)
        with suppress(OSError):
            go = os.open(self.go(number), os.O_WRONLY | os.O_NONBLOCK)
            os.write(go, b"\n")
            os.close(go)

    def granted(self, number: int) -> bool:
        return (self._active / str(number) / "granted").exists()

    def go(self, number: int) -> Path:
        """The FIFO on which the foreground process of a job is woken."""
        return self._active / str(number) / "go"

    # Files

    def _key(self, key: str) -> Path:
        return self._keys / f"key-{key}"

    def _read(self, number: int, name: str) -> bytes | None:
        # A job may be put away between two looks.
        for place in (self._active, self._ended, self._active):
            with suppress(FileNotFoundError):
                return (place / str(number) / name).read_bytes()
        return None

    def _write_once(self, number: int, name: str, text: bytes, *, lasting: bool = True) -> bool:
        """Whether it was this call that wrote it. ``lasting``: it is on the disk when this returns."""
        place = self._active / str(number)
        fresh = place / f".{os.urandom(8).hex()}"
        try:
            _write(fresh, text, lasting=lasting)
            os.link(fresh, place / name)
        except (FileExistsError, FileNotFoundError):
            return False
        finally:
            fresh.unlink(missing_ok=True)
        try:
            if lasting:
                _sync(place)
        except OSError:
            # Not said for good is not said: whoever wrote it may try again.
            (place / name).unlink()
            raise
        return True


def explain(error: OSError, directory: Path) -> str:
    """What went wrong in the spool of that directory, by the name that the user knows."""
    said = error.strerror or str(error)
    return f"{said} ({_HELD.sub(lambda _: str(directory), str(error.filename))})" if error.filename else said


def copies_in(files: Iterable[str]) -> tuple[set[int], set[int]]:
    """As ``Spool.copies``, of the names in a job's directory."""
    found: dict[str, set[int]] = {"started": set(), "ended": set()}
    for name in files:
        if match := _COPY_FILE.fullmatch(name):
            found[match[2]].add(int(match[1]))
    return found["started"], found["ended"]


def _write(path: Path, text: bytes, *, lasting: bool = True) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
        file.flush()
        if lasting:
            os.fsync(file)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(directory: Path) -> None:
    """A job's directory, which has files only."""
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
