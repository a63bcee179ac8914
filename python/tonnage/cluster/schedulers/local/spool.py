"""The spool: one SQLite file of a user on a host, which has every job and what became of each of its copies.

``jobs.sqlite`` in the spool's directory says what is true. Beside it lie ``spooler`` and ``starting``, of which locks
are held, ``wake``, a FIFO that says when to look, and ``log``. Each change is one transaction that is on the disk when
it returns. A connection lasts for one transaction: the spooler forks, and a fork must not inherit one. That, and home
directories on network file systems, is why the journal is not SQLite's write-ahead log.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import time
import weakref
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from tonnage.cluster.array_numbers import Range, each
from tonnage.cluster.job_terms import Terms
from tonnage.cluster.scheduler import Job, JobRequest, SchedulerError, State
from tonnage.cluster.schedulers.local.dispatch import Turn, Waiting, next_turn
from tonnage.cluster.schedulers.local.process import Process
from tonnage.errors import RequestError
from tonnage.machine.state import checked_inside, checked_own

WHOLE = 0
"""The copy of a job that is no array."""
REMEMBERED_NS = 7 * 24 * 3600 * 10**9
"""How long after its submission an ended job is remembered,"""
REMEMBERED = 2000
"""and how many of them."""
UNREADABLE = "what was asked for cannot be read: another version of Tonnage submitted it, or it is damaged"
"""Why such a job does not run."""
LATELY_NS = 3600 * 10**9
"""How long a job that ended is listed."""
FILE = "jobs.sqlite"
_VERSION = 1
_HELD = re.compile(r"/proc/self/fd/[0-9]+")
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
_AWAY = "move it away, and the jobs in it are forgotten"
_STATES = (*get_args(State), "starting")
_COPY = "job, copy, state, foreground, waiter, program, started_ns, cancelled_ns, ended_ns, status, reason"
_ACTIVE = "select job from copy where ended_ns is null"


@dataclass(frozen=True, slots=True)
class Entry:
    """A job as it was submitted."""

    number: int
    request: JobRequest
    umask: int


@dataclass(frozen=True, slots=True)
class Copy:
    """What became of one copy, in nanoseconds since 1970."""

    job: int
    copy: int
    state: Literal[State, "starting"]
    """``starting``: its process in the foreground may run it."""
    foreground: bool
    """``waiter`` asked for it, and runs it with its own terminal."""
    waiter: Process | None
    """Who waits for the program, and writes down how it ended."""
    program: Process | None
    started_ns: int | None
    cancelled_ns: int | None
    """When its end was ordered."""
    ended_ns: int | None
    status: int | None
    """What it exited with, 128 + n where signal n ended it; None where nobody knows, or it never ran."""
    reason: str


class _Damaged(Exception):
    """A row is not one that a spool writes."""


class Ended(NamedTuple):
    """How a copy ended."""

    state: State
    status: int | None
    reason: str


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
        self.wake = self.open_directory / "wake"
        if (self.open_directory / "jobs").exists():
            raise RequestError(
                f"{self.directory} has jobs of an older version of Tonnage, which this one cannot read; hint: when "
                "they have ended, move that directory away"
            )
        with suppress(FileExistsError):
            os.close(os.open(self.open_directory / FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        version = self._version()
        # Not before: what is refused stays as it is.
        with suppress(FileExistsError):
            os.mkfifo(self.wake, 0o600)
        if version == 0:
            with self.change() as db:
                if db.execute("pragma user_version").fetchone() == (0,):
                    for statement in _TABLES:
                        db.execute(statement)

    def _version(self) -> int:
        with self._transaction() as db:
            (version,) = db.execute("pragma user_version").fetchone()
            tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
        if version > _VERSION:
            raise RequestError(f"{self.directory / FILE} is of a newer version of Tonnage; hint: use that one")
        if tables - {"sqlite_sequence"} != ({"job", "copy"} if version else set()):
            raise RequestError(f"{self.directory / FILE} is another program's; hint: {_AWAY}")
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
        except sqlite3.OperationalError as error:
            raise SchedulerError(self._explained(error)) from None
        except (_Damaged, sqlite3.DatabaseError) as error:
            raise RequestError(f"{self.directory / FILE} is damaged: {error}; hint: {_AWAY}") from None

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
        licences, totals = json.dumps(request.licences), json.dumps(request.licence_totals)
        row = (request.key, request.slots, request.cap, licences, totals, umask, time.time_ns())
        texts = (json.dumps(asdict(request)), json.dumps(dict(os.environ)))
        with self.change() as db:
            known = _number_of(db, request.key)
            if known is not None:
                return known, False
            number = db.execute(
                "insert into job (key, slots, cap, licences, totals, umask, submitted_ns, request, environment)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, *texts),
            ).lastrowid
            assert number is not None
            db.executemany(
                "insert into copy (job, copy, foreground, waiter) values (?, ?, ?, ?)",
                (
                    (number, copy, waiter is not None, waiter and str(waiter))
                    for copy in (each(request.numbers) if request.numbers else (WHOLE,))
                ),
            )
        return number, True

    def withdraw(self, number: int) -> bool:
        """Takes a job back that was just added; False where a copy of it began meanwhile, and nothing was done."""
        with self.change() as db:
            begun = "select job from copy where state != 'pending'"
            taken = db.execute(f"delete from job where number = ? and number not in ({begun})", (number,))
            db.execute("delete from copy where job not in (select number from job)")
            return bool(taken.rowcount)

    def find(self, key: str) -> int | None:
        """The number of the job with that key."""
        with self._transaction() as db:
            return _number_of(db, key)

    def entry(self, number: int) -> Entry | None:
        """What was asked for; None where the spool has no such job, or one that cannot be read."""
        with self._transaction() as db:
            row = db.execute("select request, umask from job where number = ?", (number,)).fetchone()
        request = None if row is None else _request(row[0])
        return None if request is None else Entry(number, request, row[1])

    def environment(self, number: int) -> dict[str, str]:
        """That of whoever submitted the job."""
        with self._transaction() as db:
            (text,) = db.execute("select environment from job where number = ?", (number,)).fetchone()
        return {str(name): str(value) for name, value in json.loads(text).items()}

    def numbers(self, *, ended: bool = False) -> list[int]:
        """The jobs that wait or run, or those that ended, in the order of submission."""
        with self._transaction() as db:
            found = db.execute(f"select number from job where number {'not' if ended else ''} in ({_ACTIVE})")
            return sorted(number for (number,) in found)

    def is_active(self, number: int) -> bool:
        """Whether it is among those that wait or run."""
        return number in self.numbers()

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

    def forget(self) -> None:
        """Removes what ended long ago."""
        oldest_ns = time.time_ns() - REMEMBERED_NS
        with self.change() as db:
            db.execute(
                f"delete from job where number not in ({_ACTIVE}) and (submitted_ns < ? or number not in"
                f" (select number from job where number not in ({_ACTIVE}) order by number desc limit ?))",
                (oldest_ns, REMEMBERED),
            )
            db.execute("delete from copy where job not in (select number from job)")

    # Copies

    def begin(self, slots: int, taken: Collection[tuple[int, int]] = ()) -> list[Copy]:
        """The copies whose turn it is, for whoever calls to start those in the background; those in the foreground are
        told. ``taken``: (job, copy) of those that somebody is about to start, or has."""
        begun = []
        with self._transaction() as db:
            where = "state = 'pending' and job = ? and copy = ?"
            early = {one for one in taken if _copies(db, where, *one)}
            for number, count in _turn(db, slots, early).starts.items():
                where = "job = ? and state = 'pending' and ended_ns is null order by rowid limit ?"
                found = _copies(db, where, number, count + len(early))
                begun += [one for one in found if (one.job, one.copy) not in early][:count]
        for one in begun:
            if one.foreground:
                self._update(
                    "state = 'starting', started_ns = ? where state = 'pending'", (time.time_ns(),), one.job, one.copy
                )
        return begun

    def claim(self, number: int, copy: int, waiter: Process) -> bool:
        """Writes down who runs a copy; False where somebody did so before, or in the foreground it is not its turn."""
        return self._update(
            "state = 'running', waiter = ?, started_ns = ?"
            " where state = case when foreground then 'starting' else 'pending' end",
            (str(waiter), time.time_ns()),
            number,
            copy,
        )

    def note_program(self, number: int, copy: int, program: Process) -> None:
        """Which process a copy is, for whoever finds it without the process that waited for it."""
        self._update("program = ? where true", (str(program),), number, copy)

    def end(self, number: int, copy: int, ended: Ended) -> bool:
        """Writes down how a copy ended; False where that is known already."""
        return self._update(
            "state = ?, status = ?, reason = ?, ended_ns = ? where ended_ns is null",
            (ended.state, ended.status, json.dumps(ended.reason), time.time_ns()),
            number,
            copy,
        )

    def copy(self, number: int, copy: int) -> Copy | None:
        """None where the job has no such copy."""
        with self._transaction() as db:
            return next(iter(_copies(db, "job = ? and copy = ?", number, copy)), None)

    def running(self) -> list[Copy]:
        """Those that have slots, and those in the foreground that wait for some."""
        with self._transaction() as db:
            return _copies(db, "ended_ns is null and (state in ('starting', 'running') or foreground)")

    def jobs(self, slots: int, *, ended: bool = False) -> list[Job]:
        """What waits or runs on a host of so many slots, and with ``ended`` what did lately, in the order of
        submission: a line a copy, and one for all copies that wait."""
        since_ns = time.time_ns() - LATELY_NS if ended else 1 << 62
        listed = f"in ({_ACTIVE} union select job from copy where ended_ns >= {since_ns})"
        with self._transaction() as db:
            reasons = _turn(db, slots).reasons
            lines = _lines(db, f"number {listed}")
            told = f"job {listed} and started_ns is not null{'' if ended else ' and ended_ns is null'} order by copy"
            copies: dict[int, list[Copy]] = {}
            for copy in _copies(db, told):
                copies.setdefault(copy.job, []).append(copy)
            left: dict[int, list[tuple[State, int, int]]] = {}
            for number, *counted in db.execute(
                f"select job, state, count(*), min(copy) from copy where job {listed} and started_ns is null"
                f"{'' if ended else ' and ended_ns is null'} group by job, state"
            ):
                left.setdefault(number, []).append((counted[0], counted[1], counted[2]))
        found = []
        for number, (line, cap) in lines.items():
            found += [_copy_line(copy, line) for copy in copies.get(number, [])]
            for state, count, first in left.get(number, []):
                alone = first if count == 1 and first != WHOLE else None
                reason = line.reason or (reasons.get(number, "") if state == "pending" else "")
                found.append(replace(line, copy=alone, state=state, count=count, cap=cap, reason=reason))
        return found

    def _update(self, what: str, values: tuple[object, ...], number: int, copy: int) -> bool:
        with self.change() as db:
            return db.execute(f"update copy set {what} and job = ? and copy = ?", (*values, number, copy)).rowcount == 1


def explain(error: Exception, directory: str | Path) -> str:
    """What went wrong in the spool of that directory, by the name that the user knows."""
    if not isinstance(error, OSError) or not error.filename:
        return str(getattr(error, "strerror", None) or error)
    return f"{error.strerror} ({_HELD.sub(lambda _: str(directory), str(error.filename))})"


def _number_of(db: sqlite3.Connection, key: str) -> int | None:
    row = db.execute("select number from job where key = ?", (key,)).fetchone()
    return None if row is None else int(row[0])


def _lines(db: sqlite3.Connection, where: str) -> dict[int, tuple[Job, int | None]]:
    """What is listed of each job, in the order of submission, and the cap of one that is an array. Those that cannot be
    read are listed, and can be cancelled, all the same."""
    rows = db.execute(f"select number, slots, key, submitted_ns, cap, request from job where {where} order by number")
    found: dict[int, tuple[Job, int | None]] = {}
    for number, slots, key, submitted_ns, cap, text in rows.fetchall():
        line = Job(job=str(number), slots=slots, key=key, submitted_at_s=submitted_ns / 1e9)
        request = _request(text)
        if request is None:
            found[number] = replace(line, reason=UNREADABLE), None
        else:
            line = replace(line, name=request.name, server=request.server)
            found[number] = line, (cap or 0) if request.copies else None
    return found


def _request(text: str) -> JobRequest | None:
    """None where nobody can tell what was asked for."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        record = json.loads(text)
        for name in ("argv", "hosts"):
            record[name] = tuple(record[name])
        for name in ("licences", "licence_totals"):
            record[name] = tuple((str(licence), int(count)) for licence, count in record[name])
        record["numbers"] = tuple(Range(**one) for one in record["numbers"])
        record["terms"] = Terms.load(record["terms"])
        known = {field.name for field in fields(JobRequest)}
        return JobRequest(**{key: value for key, value in record.items() if key in known})
    return None


def _copies(db: sqlite3.Connection, where: str, *values: object) -> list[Copy]:
    def process(text: str | None) -> Process | None:
        return None if text is None else Process.read(text)

    rows = db.execute(f"select {_COPY} from copy where {where}", values)
    found = []
    for job, number, state, foreground, waiter, program, began, ordered, ended, status, reason in rows:
        try:
            one = Copy(
                job,
                number,
                state,
                bool(foreground),
                process(waiter),
                process(program),
                _instant(began),
                _instant(ordered),
                _instant(ended),
                status,
                json.loads(reason),
            )
        except (ValueError, TypeError) as error:
            raise _Damaged(f"copy {number} of job {job}: {error}") from None
        if state not in _STATES:
            raise _Damaged(f"copy {number} of job {job} has the state {state!r}")
        found.append(one)
    return found


def _instant(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError(f"{value!r} is no time")
    return value


def _turn(db: sqlite3.Connection, slots: int, early: Collection[tuple[int, int]] = ()) -> Turn:
    """Whose turn it is now, and why the others wait. ``early``: copies that have slots though nothing says so yet."""
    queue: list[Waiting] = []
    free, totals, held = slots, dict[str, int](), dict[str, int]()
    rows = db.execute(
        "select number, slots, cap, licences, totals, sum(state = 'pending'), sum(state != 'pending')"
        " from copy join job on number = job where ended_ns is null group by number order by number"
    )
    for number, wanted, cap, licences, known, pending, running in rows:
        count = sum(job == number for job, _ in early)
        pending, running = pending - count, running + count
        try:
            each_holds = tuple((str(name), int(count)) for name, count in json.loads(licences))
            known_totals = {str(name): int(total) for name, total in dict(json.loads(known)).items()}
            wanted, cap = int(wanted), None if cap is None else int(cap)
        except (ValueError, TypeError) as error:
            raise _Damaged(f"job {number}: {error}") from None
        free -= wanted * running
        totals.update(known_totals)
        for name, count in each_holds:
            held[name] = held.get(name, 0) + count * running
        if pending:
            queue.append(
                Waiting(
                    number=number, pending=pending, running=running, slots=wanted, cap=cap or None, licences=each_holds
                )
            )
    return next_turn(queue, free, {name: total - held.get(name, 0) for name, total in totals.items()})


def _copy_line(copy: Copy, line: Job) -> Job:
    return replace(
        line,
        copy=None if copy.copy == WHOLE else copy.copy,
        state="running" if copy.state == "starting" else copy.state,
        started_at_s=copy.started_ns and copy.started_ns / 1e9,
        ended_at_s=copy.ended_ns and copy.ended_ns / 1e9,
        exit_status=copy.status,
        reason=copy.reason,
    )
