"""One look at file servers: their indices, the scheduler's jobs and the kept load lines together."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from tonnage.cluster.scheduler import Job, Scheduler, TellsWhoSees
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.candidates import World, promised_tasks
from tonnage.placement.entries import Entry
from tonnage.placement.indices import fresh_indices
from tonnage.placement.known import placements_of
from tonnage.placement.ledger import Ledger
from tonnage.placement.lines import known_lines, line_of, plateaus_of
from tonnage.placement.load import Row, rows
from tonnage.placement.others import others_on, sent_to
from tonnage.placement.site import Server, Site

NOTHING_READ = "no index of any server could be read; hint: `tonnage doctor` tells what is wrong"
_WAIT_NS = 3 * 10**9
"""For a server's answer, where a person waits for the table."""
JOBS_NS = 5 * 10**9
"""The list of all jobs costs a large site's scheduler more than an index costs a server: asked no more often."""


def asked_for(site: Site, names: Sequence[str]) -> tuple[Server, ...]:
    """The servers of these names, all where there are none; RequestError where one is not known."""
    if not site.server:
        raise RequestError("no file server is known; hint: name them in tonnage.toml, as docs/site-file.md says")
    found = {name: site.named(name) for name in names}
    for name, server in found.items():
        if server is None:
            known = ", ".join(server.name for server in site.server)
            raise RequestError(f"there is no file server {name!r}; hint: the site file has {known}")
    return tuple(server for server in found.values() if server is not None) or site.server


class Look:
    """One look at everything; what went wrong beside the servers is in ``notes`` after it."""

    def __init__(
        self,
        site: Site,
        servers: Sequence[Server],
        *,
        refresh_ns: int = 0,
        count_jobs: bool = True,
        asks_who_sees: bool = False,
        jobs_age_ns: int = JOBS_NS,
    ) -> None:
        """``refresh_ns``: indices younger than this are taken as they are kept; ``jobs_age_ns``: the scheduler's list
        likewise. ``count_jobs``: False where only a
        server with a load line needs its jobs counted. ``asks_who_sees``: the scheduler also tells, once, whether it
        hides others' jobs."""
        self.site, self.servers = site, servers
        self._refresh_ns, self._count_jobs, self._asks_who_sees = refresh_ns, count_jobs, asks_who_sees
        self._jobs_age_ns, self._ledger_failed = jobs_age_ns, False
        self._jobs: list[Job] | None = None
        self._jobs_ns: int | None = None
        self._jobs_at_s = 0.0
        self.notes: list[str] = []
        self.world = World(now_s=0.0)
        """What the last look was made of."""
        self.silent_lines: tuple[str, ...] = ()
        """Directories of load lines that did not answer."""
        self.jobs_problem: str | None = None
        """Why the scheduler's jobs are not known."""
        self.scheduler: Scheduler | None = None
        """Who told of the jobs."""
        self.only_own: bool | None = None
        """Whether the scheduler lists this user's jobs alone; None: it did not tell."""

    def __call__(self) -> list[Row]:
        site = self.site
        kept = known_lines(site)
        self.silent_lines = kept.silent
        found = {server.name: line_of(site, server, None, among=kept.lines) for server in self.servers}
        lines = {name: line.tasks for name, line in found.items() if line}
        # A daemon: Ctrl-C does not wait for a scheduler that hangs.
        asking = threading.Thread(target=self._ask_scheduler, name="jobs", daemon=True)
        counting = self._count_jobs or bool(lines)
        if counting:
            asking.start()
        readings = fresh_indices(self.servers, wait_ns=_WAIT_NS, refresh_ns=self._refresh_ns)
        if asking.ident is not None:
            asking.join()
        only, now_s = [server.name for server in self.servers], time.time()
        self.world = World(
            now_s=now_s,
            jobs=self._jobs,
            jobs_at_s=self._jobs_at_s,
            readings=readings,
            placements=self._placements() if counting else (),
            lines={name: float(tasks) for name, tasks in lines.items()},
            plateaus=plateaus_of(found),
        )
        counted = counting and self._jobs is not None and not self._ledger_failed
        promised = promised_tasks(only, self.world) if counted else None
        others = {name: self._others(name, line) for name, line in lines.items()} if counted else {}
        return rows(site, readings, self._jobs, lines, now_s=now_s, only=only, promised=promised, others=others)

    def _others(self, name: str, line: int) -> int | None:
        """Beside the jobs that are promised."""
        world = self.world
        sent, plateau = sent_to([name], world), world.plateaus.get(name)
        found, _ = others_on([name], world, self.site.policy, line=line, plateau=plateau, counted=sent)
        return None if found is None else round(found)

    def _placements(self) -> list[Entry]:
        """What the ledger has of the scheduler's jobs, which a decision takes off the servers' lines."""
        self._ledger_failed = False
        if self._jobs is None:
            return []
        try:
            return placements_of(Ledger(), self._jobs, since_s=self._jobs_at_s)
        except TonnageError as error:
            self._ledger_failed = True
            note = f"what is promised is not known: {error}"
            self.notes = [*self.notes, *({note} - {*self.notes})]
            return []

    def _ask_scheduler(self) -> None:
        now_ns = time.monotonic_ns()
        if self._jobs_ns is not None and now_ns - self._jobs_ns < self._jobs_age_ns:
            return
        self.notes, self.jobs_problem = [], None
        self._jobs_at_s = time.time()
        try:
            asked = scheduler(self.site.scheduler, timeout_s=self.site.policy.scheduler_timeout / 1e9)
            self._jobs, self.scheduler = asked.jobs(), asked
            if self._asks_who_sees and isinstance(asked, TellsWhoSees):
                self._asks_who_sees = False
                with suppress(TonnageError):
                    self.only_own = asked.hides_others()
        except TonnageError as error:
            self._jobs = None
            self.jobs_problem = f"jobs are not known: {error}"
            self.notes = [self.jobs_problem]
        self._jobs_ns = time.monotonic_ns()
