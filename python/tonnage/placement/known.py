"""What is known at the time of a decision: each question asked once, with its time limit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Thread
from typing import Any, Generic, TypeVar

from tonnage.cluster.scheduler import Job
from tonnage.errors import RequestError, TonnageError
from tonnage.machine.careful import carefully
from tonnage.placement.candidates import World, promised_tasks
from tonnage.placement.choice import Carried, line_in_use
from tonnage.placement.entries import Entry
from tonnage.placement.indices import Reading, read_indices
from tonnage.placement.ledger import Ledger
from tonnage.placement.lines import Found, all_lines, describe, line_of, plateau_of
from tonnage.placement.lists import Listed, ListedHost, ListedJob
from tonnage.placement.others import others_on, sent_to
from tonnage.placement.site import Line, Policy, Server, Site
from tonnage.placement.where import Located
from tonnage.placement.where.look import Look, look_here, read_look
from tonnage.records.load_lines import KeptLine

PATTERN = "read sequential"
"""The access pattern whose load line caps a job of which nothing is known: most jobs read their data through once."""
_T = TypeVar("_T")
REMEMBERED = 8
"""Times the decay after which a placement weighs nothing (e⁻⁸)."""
_GAP_S = 0.5
"""Between two looks at a server's counters where there was none of late."""


def working_directory() -> str:
    """Where the job will run. RequestError where it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise RequestError("the working directory was removed; hint: cd to one that exists") from None
    except PermissionError:
        raise RequestError("no permission to see the working directory; hint: cd to one that you may enter") from None


class Glance:
    """A look at the program, and at the directory in which a job is to start, where for most its data is as well."""

    def __init__(self, directory: str, program: str, *, timeout_s: float) -> None:
        self._directory, self._program, self._timeout_s = directory, program, timeout_s
        self._said: dict[str, Any] = {}
        self._failed: OSError | None = None
        self._silent_program = False
        try:
            # Where nothing on the way is a server's, no process is needed that could be left behind.
            self._said = carefully(self._ask, [directory, *self._places()], timeout_s=timeout_s)
        except TimeoutError as error:
            self._ask_apart(error)
        except OSError as error:
            self._failed = error

    def _ask_apart(self, late: TimeoutError) -> None:
        """Which of the two is silent."""
        try:
            self._said = {
                "program": [True, False],
                **carefully(self._ask_place, [self._directory], timeout_s=self._timeout_s),
            }
            self._silent_program = True
        except TimeoutError:
            self._failed = late
        except OSError as error:
            self._failed = error

    def _places(self) -> list[str]:
        """Where the program is looked for, links and all."""
        apart = [] if "/" in self._program else os.get_exec_path()
        return [os.path.join(self._directory, one) for one in (self._program, *apart)]  # noqa: PTH118

    def _ask(self) -> dict[str, Any]:
        program = self._program
        here = "/" not in program and os.access(program, os.X_OK)
        return {"program": [shutil.which(program) is not None, here], **self._ask_place()}

    def _ask_place(self) -> dict[str, Any]:
        directory = self._directory
        may_enter = os.access(directory, os.X_OK)
        try:
            return {"may_enter": may_enter, "look": look_here(directory)}
        except OSError as error:
            return {"may_enter": may_enter, "error": [error.errno, error.strerror]}

    def notes(self) -> list[str]:
        """What is odd about a job that starts there. RequestError where the directory is closed to this user.

        One that does not answer is no reason to stop: beside its server it may be a local disk.
        """
        if isinstance(self._failed, TimeoutError):
            return [f"{self._directory} did not answer within {self._timeout_s:g} s"]
        if self._failed is not None:
            raise self._failed
        if not self._said["may_enter"]:
            raise RequestError(f"no permission to enter {self._directory}; hint: cd to a directory that you may enter")
        if self._silent_program:
            what = self._program if "/" in self._program else f"a directory of PATH, where {self._program} may be,"
            return [f"{what} did not answer within {self._timeout_s:g} s; it is submitted all the same"]
        is_found, is_here = self._said["program"]
        if is_found:
            return []
        meant = f"; did you mean ./{self._program}?" if is_here else ""
        return [f"{self._program} is not found on this host; it is submitted all the same{meant}"]

    def look(self) -> Look:
        """At the directory, for ``locate``."""
        if self._failed is not None:
            raise self._failed
        if "error" in self._said:
            raise OSError(*self._said["error"])
        return read_look(self._said["look"])


def fresh_readings(
    servers: Sequence[Server], policy: Policy, now_s: float, notes: list[str], *, rates: bool = False
) -> dict[str, Reading]:
    """What the servers' indices say; what does not count is noted.

    ``rates``: a server that was looked at only once so far is looked at again, half a second later.
    """
    readings = read_indices(servers, policy, now_s=now_s, wait_ns=policy.index_timeout)
    if rates and any(one.cpus is not None and one.ut_permille is None for one in readings.values()):
        time.sleep(_GAP_S)
        now_s = time.time()
        readings = read_indices(servers, policy, now_s=now_s, wait_ns=policy.index_timeout)
    for name, reading in readings.items():
        if reading.age_s(now_s) > policy.index_age / 1e9:
            why = f": {reading.problem}" if reading.problem else ""
            notes.append(f"the indices of {name} are {reading.age_s(now_s):.0f} s old and do not count{why}")
        elif reading.problem:
            notes.append(f"the indices of {name} do not count: {reading.problem}")
    return readings


class Later(Generic[_T]):
    """A question that is asked while others are."""

    def __init__(self, question: Callable[[], _T]) -> None:
        self._question = question
        self._answer: _T | None = None
        self._error: TonnageError | None = None
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._answer = self._question()
        except TonnageError as error:
            self._error = error

    def get(self, notes: list[str]) -> _T | None:
        """The answer; None, and a note, where it failed."""
        self._thread.join()
        if self._error is not None:
            note = f"{self._error}; the decision does without"
            if note not in notes:
                notes.append(note)
        return self._answer


def as_listed(
    hosts: Listed[ListedHost] | None, jobs: Listed[ListedJob] | None, *, readings: Mapping[str, Reading], now_s: float
) -> World:
    """What the scheduler and the servers say."""
    return World(
        now_s=now_s,
        hosts=None if hosts is None else hosts.rows,
        jobs=None if jobs is None else jobs.rows,
        jobs_at_s=0.0 if jobs is None else jobs.at_s,
        readings=readings,
    )


def load_lines(site: Site, servers: Sequence[Server], located: Located) -> dict[str, Found | None]:
    """The load line of each server. Servers over which the data is spread carry it together: they have one line, that
    of the storage as it was measured, else the sum of what the site file states of each."""
    kept = all_lines(site)[0]
    found = {server.name: line_of(site, server, located, among=kept) for server in servers}
    if not located.striped or len(servers) < 2:
        return found
    every = [line for line in found.values() if line is not None]
    whole: Found | None = next(
        (line for line in every if isinstance(line, KeptLine) and line.target == located.target), None
    )
    if whole is None and len(every) == len(servers):
        rates = [line.plateau for line in every if isinstance(line, Line) and line.plateau]
        plateau = sum(rates) if len(rates) == len(every) else None
        whole = Line(tasks=sum(line.tasks for line in every), plateau=plateau)
    return dict.fromkeys(found, whole)


def placements_of(ledger: Ledger, jobs: Sequence[Job | ListedJob] | None, *, since_s: float) -> list[Entry]:
    """What the ledger has since a time, and of all jobs that wait or run, since when ever."""
    lately = {entry.key: entry for entry in ledger.since(since_s)}
    older = {job.key for job in jobs or () if job.key is not None} - lately.keys()
    return [*ledger.of(older), *lately.values()]


def carried_by(
    servers: Sequence[Server],
    located: Located,
    world: World,
    found: Mapping[str, Found | None],
    ledger: Ledger,
    policy: Policy,
) -> dict[str, Carried]:
    """Server → its load line, with what is promised of it and what its indices show of others; one without a line is
    not there. Servers over which the data is spread carry it together: each has what holds for all."""
    if located.striped:
        whole = _carried(servers, located, world, found, ledger, policy)
        return {} if whole is None else dict.fromkeys((server.name for server in servers), whole)
    each = {server.name: _carried((server,), located, world, found, ledger, policy) for server in servers}
    return {name: carried for name, carried in each.items() if carried is not None}


def carried_beside(
    entry: Entry,
    together: Sequence[Server],
    located: Located,
    world: World,
    found: Mapping[str, Found | None],
    ledger: Ledger,
    policy: Policy,
) -> Carried | None:
    """The load line that servers carry together, for an array that is there already: nothing is promised to itself.

    Other users' arrays of which the scheduler does not tell the limit are promised all of their copies.
    """
    jobs = [job for job in world.jobs or () if job.job != entry.job]
    beside = replace(world, jobs=jobs, placements=[one for one in world.placements if one.key != entry.key])
    promised = promised_tasks([server.name for server in together], beside, unlimited=True)
    return _carried(together, located, world, found, ledger, policy, promised=promised)


def _carried(
    together: Sequence[Server],
    located: Located,
    world: World,
    found: Mapping[str, Found | None],
    ledger: Ledger,
    policy: Policy,
    *,
    promised: Mapping[str, float] | None = None,
) -> Carried | None:
    """``promised``: server → tasks; None: of all jobs that the world has."""
    line = found.get(together[0].name) if together else None
    if line is None:
        return None
    names = tuple(server.name for server in together)
    last = ledger.last(capped_by(names, located.target, PATTERN))
    kept = last.get("line") if last is not None else None
    licensed = any(server.licence for server in together)
    if promised is None:
        promised = {} if licensed else promised_tasks(names, world)
    sent, plateau = sent_to(names, world), plateau_of(line)
    others, silent = others_on(names, world, policy, line=line.tasks, plateau=plateau, counted=sent)
    carried = Carried(
        servers=names,
        others=None if others is None else round(others),
        others_by_rate=plateau is not None,
        silent=silent,
        tasks=line.tasks,
        low=line.low if isinstance(line, KeptLine) else line.tasks,
        high=line.high if isinstance(line, KeptLine) else line.tasks,
        source=describe(line, now_s=world.now_s),
        kept=kept if isinstance(kept, int) else None,
        promised=0.0 if licensed else sum(promised.values()),
    )
    return replace(carried, plateau=plateau_of(line, line_in_use(carried)))


def capped_by(names: Sequence[str], target: str, pattern: str) -> dict[str, str]:
    """The marks in the ledger of what was capped by the line of these servers. Where one has the data alone, another
    holder of the same data has a line of its own."""
    whole = {"target": target, "pattern": pattern}
    return {**whole, "server": names[0]} if len(names) == 1 else whole
