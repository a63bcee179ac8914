"""The spool: one SQLite file of a user on a host, which has every job and what became of each of its copies.

``jobs.sqlite`` in the spool's directory says what is true. Beside it lie ``spooler``, of which the spooler holds a
lock, and ``log``. Each change is one transaction that is on the disk when it returns. A connection lasts for one
transaction: the spooler forks, and a fork must not inherit one. That, and home directories on network file systems, is
why the journal is not SQLite's write-ahead log.

The numbers of a spool that was made anew, where ``jobs.sqlite`` was moved away, begin at the seconds since 2020: a
number that somebody remembers is of no other job. ``application_id`` of the file is the number before its first.

A copy goes one way: ``pending``; ``running``, when ``waiter`` is the process that runs its program; then how it ended.
Each step is taken by one statement that names the state before it, so that of several who would take it one does. The
process is there before it is written down, and does nothing before: of a copy that is not ``running`` no program runs.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import sqlite3
import struct
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from tonnage.cluster.array_numbers import each
from tonnage.cluster.scheduler import Job, JobRequest, SchedulerError
from tonnage.cluster.schedulers.local.rows import (
    WHOLE,
    Copy,
    Damaged,
    Ended,
    Entry,
    copies_of,
    jobs_of,
    line_of,
    request_of,
    turn_of,
)
from tonnage.errors import RequestError, TonnageError
from tonnage.machine.user_state import checked_inside, checked_own
from tonnage.processes import Process
from tonnage.program_places import open_private

REMEMBERED_NS = 7 * 24 * 3600 * 10**9
"""How long after its submission an ended job is remembered,"""
REMEMBERED = 2000
"""and how many of them."""
FORGET_AFTER = 500
"""Jobs that are submitted between two looks at what may be forgotten."""
LATELY_NS = 3600 * 10**9
"""How long a job that ended is listed."""
FILE = "jobs.sqlite"
LOCK = "spooler"
"""The file of a spool's directory that a spooler holds a lock of."""
_FLOCK = "hhqqi0q"
"""C's ``struct flock``: type, whence, start, length, process."""
_VERSION = 1
_TABLES = (
    """create table job (number integer primary key autoincrement, key text not null unique,
        slots integer not null, cap integer, licences text not null, totals text not null,
        umask integer not null, submitted_ns integer not null, request text not null, environment text not null)""",
    """create table copy (job integer not null, copy integer not null, state text not null default 'pending',
        foreground integer not null, waiter text, program text,
        started_ns integer, cancelled_ns integer, ended_ns integer, status integer, reason text not null default '""',
        primary key (job, copy))""",
    "create index active on copy (state, job) where ended_ns is null",
    "create index ended on copy (ended_ns) where ended_ns is not null",
    f"pragma user_version = {_VERSION}",
)
_LOOK_S = 0.05
"""How often it is looked whether a spooler has ended."""
_2020_S = 1_577_836_800
"""In seconds since 1970."""
_HELD = re.compile(r"/proc/self/fd/[0-9]+")
_AWAY = "move it away, and the jobs in it are forgotten"
_REST = "state, foreground, waiter, program, started_ns, cancelled_ns, ended_ns, status, reason"
_COPIES = f"select job, copy, 1, {_REST} from copy where"
_ACTIVE = "select job from copy where ended_ns is null"


class Spool:
    """Every process of this user may open it. It stays the directory that was opened: what lies there is run, so
    nothing is looked for under a name that could come to mean another directory."""

    def __init__(self, directory: Path, *, timeout_s: float = 60.0) -> None:
        """RequestError where another user could write to it, or replace it, or another version's jobs are there.

        ``timeout_s``: how long another process may keep it locked.
        """
        self.directory = checked_own(directory)
        """Its name, to be told."""
        self._timeout_s = timeout_s
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        weakref.finalize(self, os.close, handle)
        self.open_directory = Path(f"/proc/self/fd/{handle}")
        """The directory itself, to be used: in this process, and in those that it forks."""
        if (self.open_directory / "jobs").exists():
            raise RequestError(
                f"{self.directory} has jobs of an older version of Tonnage, which this one cannot read; hint: when "
                "they have ended, move that directory away"
            )
        with suppress(FileExistsError):
            os.close(open_private(self.open_directory / FILE, os.O_RDWR | os.O_EXCL))
        # What is refused stays as it is.
        if self._version() == 0:
            # What a spooler left beside it tells that there was one before.
            made_anew = bool({*os.listdir(self.open_directory)} - {FILE, f"{FILE}-journal"})  # noqa: PTH208 - names alone
            before_first = int(time.time()) - _2020_S if made_anew else 0
            self._await_end_of_spooler()
            with self.change() as db:
                if db.execute("pragma user_version").fetchone() == (0,):
                    for statement in _TABLES:
                        db.execute(statement)
                    db.execute("insert into sqlite_sequence (name, seq) values ('job', ?)", (before_first,))
                    db.execute(f"pragma application_id = {before_first}")

    def _await_end_of_spooler(self) -> None:
        """SQLite takes a journal for one of the file that has the name now. So none is written while a spooler, which
        ends when it finds its file gone, may have the one before open."""
        until_s = time.monotonic() + self._timeout_s
        while self._version() == 0 and spooler(self) is not None:
            if time.monotonic() > until_s:
                raise SchedulerError(
                    f"the spooler of what was {self.directory / FILE} before still runs; nothing was changed; "
                    "hint: try again"
                )
            time.sleep(_LOOK_S)

    def _version(self) -> int:
        with self._transaction() as db:
            (version,) = db.execute("pragma user_version").fetchone()
            tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
        if version > _VERSION:
            raise RequestError(f"{self.directory / FILE} is of a newer version of Tonnage; hint: use that one")
        ours = {"job", "copy"} if version else set[str]()
        if tables - {"sqlite_sequence"} - ours:
            raise RequestError(f"{self.directory / FILE} is another program's; hint: {_AWAY}")
        if ours - tables:
            raise self._damaged(f"it has no table {' and no table '.join(sorted(ours - tables))}")
        return int(version)

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction that nothing else changes meanwhile; its end is on the disk. SchedulerError if that fails,
        RequestError where the file is damaged."""
        with self._transaction("immediate") as db:
            yield db

    @contextmanager
    def _transaction(self, how: str = "deferred") -> Iterator[sqlite3.Connection]:
        file = self.open_directory / FILE
        checked_inside(file, told=self.directory / FILE)
        try:
            with closing(sqlite3.connect(file, timeout=self._timeout_s, isolation_level=None)) as db:
                if how == "immediate":
                    # Only where something changes: it would take the write-ahead log from another program's file.
                    db.execute("pragma journal_mode = truncate")
                db.execute(f"begin {how}")
                yield db
                db.execute("commit")
        except (Damaged, sqlite3.DatabaseError) as error:
            # What is missing does not come back, as room on a disk does.
            if isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such "):
                raise SchedulerError(self._explained(error)) from None
            if str(error).startswith("no such table") and self._is_empty():
                raise RequestError(
                    f"{self.directory / FILE} was moved away or emptied by another process; hint: put it back, or its "
                    "jobs are forgotten"
                ) from None
            raise self._damaged(str(error)) from None

    def _is_empty(self) -> bool:
        """Whether the file has no table yet: another process made it, where there was one with jobs before."""
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.open_directory / FILE)) as db:
            return not db.execute("select 1 from sqlite_master").fetchall()
        return False

    def _damaged(self, why: str) -> RequestError:
        return RequestError(f"{self.directory / FILE} is damaged: {why}; hint: {_AWAY}")

    def _explained(self, error: sqlite3.Error) -> str:
        said = str(error)
        if "locked" in said:
            return (
                f"{self.directory} has been locked by another process for {self._timeout_s:g} s; nothing was changed; "
                "hint: try again"
            )
        told = os.strerror(errno.ENOSPC) if "disk is full" in said else f"{said} ({self.directory / FILE})"
        return f"the local scheduler's spool: {told}"

    # Jobs

    def add(self, request: JobRequest, *, waiter: Process | None = None) -> tuple[int, bool]:
        """The job's number, and whether it is new: a key that the spool knows adds nothing.

        It has this process's environment and umask. ``waiter``: runs it in the foreground, when it is its turn.
        """
        os.umask(umask := os.umask(0o077))
        # ASCII: words that are no UTF-8 are kept as lone surrogates, which only an escape can spell.
        parts = (request.licences, request.licence_totals, asdict(request), dict(os.environ))
        licences, totals, asked, environment = map(json.dumps, parts)
        row = (request.key, request.slots, request.cap, licences, totals, umask, time.time_ns(), asked, environment)
        numbers = each(request.numbers) if request.numbers else (WHOLE,)
        with self.change() as db:
            known = _number_of(db, request.key)
            if known is not None:
                return known, False
            columns = "key, slots, cap, licences, totals, umask, submitted_ns, request, environment"
            db.execute(f"insert into job ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            (number,) = db.execute("select last_insert_rowid()").fetchone()
            db.executemany(
                "insert into copy (job, copy, foreground, waiter) values (?, ?, ?, ?)",
                ((number, copy, waiter is not None, waiter and str(waiter)) for copy in numbers),
            )
        if number % FORGET_AFTER == 0:
            self.forget()
        return number, True

    def forget(self) -> None:
        """Removes what ended long ago."""
        ended = f"number not in ({_ACTIVE})"
        newest = f"select number from job where {ended} order by number desc limit ?"
        oldest_ns = time.time_ns() - REMEMBERED_NS
        with self.change() as db:
            old = f"{ended} and (submitted_ns < ? or number not in ({newest}))"
            db.execute(f"delete from job where {old}", (oldest_ns, REMEMBERED))
            db.execute("delete from copy where job not in (select number from job)")

    def find(self, key: str) -> int | None:
        """The number of the job with that key."""
        with self._transaction() as db:
            return _number_of(db, key)

    def check_receipt(self, key: str, number: int) -> None:
        """SchedulerError where the job of that key had this number in another spool. One that ended long ago is
        forgotten, and its number is nobody else's."""
        with self._transaction() as db:
            known = _number_of(db, key)
            (before_first,) = db.execute("pragma application_id").fetchone()
            (last,) = db.execute("select coalesce(max(seq), 0) from sqlite_sequence").fetchone()
            taken = db.execute("select 1 from job where number = ?", (number,)).fetchone()
        if known != number and (known is not None or taken or not before_first < number <= last):
            raise SchedulerError(
                f"the job of the key {key} was job {number} of another spool: another host's, or "
                f"{self.directory / FILE} was moved away or emptied since; nothing was submitted; "
                "hint: put that file back, or give another --key"
            )

    def entry(self, number: int) -> Entry | None:
        """The request of a job; None where the spool has no such job, or one that cannot be read."""
        with self._transaction() as db:
            row = db.execute("select request, umask, environment from job where number = ?", (number,)).fetchone()
        request = None if row is None else request_of(row[0])
        return None if request is None else Entry(request, row[1], json.loads(row[2]))

    def numbers(self, *, ended: bool = False) -> list[int]:
        """The jobs that wait or run, or those that ended, in the order of submission."""
        with self._transaction() as db:
            found = db.execute(f"select number from job where number {'not' if ended else ''} in ({_ACTIVE})")
            return sorted(number for (number,) in found)

    def set_cap(self, number: int, cap: int) -> None:
        """From now on."""
        with self.change() as db:
            db.execute("update job set cap = ? where number = ?", (cap, number))

    def cancel(self, number: int, copy: int | None = None) -> None:
        """What waits starts no more, of the whole job or this one copy; the spooler ends what runs."""
        now_ns, one = time.time_ns(), copy is not None
        which = "job = ? and ended_ns is null" + (" and copy = ?" if one else "")
        job = (number, copy) if one else (number,)
        with self.change() as db:
            db.execute(f"update copy set cancelled_ns = coalesce(cancelled_ns, ?) where {which}", (now_ns, *job))
            # Copies that are ended one by one are told of one by one, and therefore have a time and a reason.
            db.execute(
                f"update copy set state = 'cancelled', ended_ns = ?, started_ns = ?, reason = ? where {which}"
                " and state = 'pending'",
                (now_ns, now_ns if one else None, json.dumps("cancelled before it began" if one else ""), *job),
            )

    # Copies

    def due(self, slots: int) -> list[Copy]:
        """The copies whose turn it is."""
        found: list[Copy] = []
        with self._transaction() as db:
            for number, count in turn_of(db, slots).starts.items():
                where = "job = ? and state = 'pending' and ended_ns is null order by rowid limit ?"
                found += copies_of(db.execute(f"{_COPIES} {where}", (number, count)))
        return found

    def claim(self, number: int, copy: int, waiter: Process) -> bool:
        """Writes down that ``waiter`` runs a copy; False where it does not wait any more."""
        what = "state = 'running', waiter = ?, started_ns = ? where state = 'pending'"
        return self._update(what, (str(waiter), time.time_ns()), number, copy)

    def note_program(self, number: int, copy: int, program: Process, waiter: Process) -> None:
        """Which process a copy is, for whoever finds it without ``waiter``, who waits for it."""
        self._update("program = ? where waiter = ?", (str(program), str(waiter)), number, copy)

    def end(self, number: int, copy: int, ended: Ended, waiter: Process | None) -> bool:
        """Writes down how a copy ended; False where that is known already, or ``waiter`` is not its own: then the
        number is another job's by now."""
        what = "state = ?, status = ?, reason = ?, ended_ns = ? where ended_ns is null and waiter is ?"
        values = (ended.state, ended.status, json.dumps(ended.reason), time.time_ns(), waiter and str(waiter))
        return self._update(what, values, number, copy)

    def copy(self, number: int, copy: int) -> Copy | None:
        """None where the job has no such copy."""
        with self._transaction() as db:
            return next(iter(copies_of(db.execute(f"{_COPIES} job = ? and copy = ?", (number, copy)))), None)

    def running(self) -> list[Copy]:
        """Those that have slots, and those in the foreground that wait for some."""
        where = "ended_ns is null and (state = 'running' or foreground)"
        with self._transaction() as db:
            return copies_of(db.execute(f"{_COPIES} {where}"))

    def jobs(self, slots: int, *, ended: bool = False) -> list[Job]:
        """What waits or runs on a host of so many slots, and with ``ended`` what did lately, in the order of
        submission: a line a copy, and one for all that wait."""
        since_ns = time.time_ns() - LATELY_NS if ended else 1 << 62
        listed = f"in ({_ACTIVE} union select job from copy where ended_ns >= {since_ns})"
        with self._transaction() as db:
            waits = turn_of(db, slots).reasons
            columns = "number, slots, key, submitted_ns, cap, request"
            jobs = jobs_of(db.execute(f"select {columns} from job where number {listed}"))
            copies = copies_of(
                db.execute(
                    f"select job, min(copy), count(*), {_REST} from copy where job {listed}"
                    f"{'' if ended else ' and ended_ns is null'}"
                    " group by job, state, case when started_ns is null then -1 else copy end"
                    " order by job, started_ns is null, min(copy)"
                )
            )
        lines = [line_of(copy, jobs[copy.job], waits.get(copy.job, "")) for copy in copies]
        # Running, but no program is there; pending, and nothing keeps it waiting: it has come further.
        late = [
            copy.ended_ns is None and (not line.reason if copy.program is None else not copy.program.alive)
            for copy, line in zip(copies, lines, strict=True)
        ]
        why = self._unwritable() if any(late) else ""
        return [
            replace(line, reason=line.reason or why) if is_late else line
            for is_late, line in zip(late, lines, strict=True)
        ]

    def _unwritable(self) -> str:
        """Why nothing can be written down now, as on a full disk; nothing where it can be."""
        try:
            with self.change() as db:
                db.execute(f"pragma user_version = {_VERSION}")
        except TonnageError as error:
            return f"may be out of date: {error}"
        return ""

    def _update(self, what: str, values: tuple[object, ...], number: int, copy: int) -> bool:
        with self.change() as db:
            return db.execute(f"update copy set {what} and job = ? and copy = ?", (*values, number, copy)).rowcount == 1


def spooler(spool: Spool) -> int | None:
    """The process that runs this spool's jobs, 0 where its number does not count here; None where none does.

    Its lock is a record lock, as only those can be looked at without being taken, end with their process, and are not
    inherited by the processes that it starts.
    """
    try:
        file = os.open(spool.open_directory / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else max(int(pid), 0)
    finally:
        os.close(file)


def explain(error: Exception, directory: str | Path) -> str:
    """What went wrong in the spool of that directory, by the name that the user knows."""
    if not isinstance(error, OSError) or not error.filename:
        return str(getattr(error, "strerror", None) or error)
    return f"{error.strerror} ({_HELD.sub(lambda _: str(directory), str(error.filename))})"


def _number_of(db: sqlite3.Connection, key: str) -> int | None:
    row = db.execute("select number from job where key = ?", (key,)).fetchone()
    return None if row is None else int(row[0])
