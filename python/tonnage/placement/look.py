"""One look at file servers: their indices, the scheduler's jobs and the kept load lines together."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from tonnage.cluster.scheduler import Job
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.candidates import World, promised_tasks
from tonnage.placement.indices import Reading, fresh_indices
from tonnage.placement.known import placements_of, plateau_of
from tonnage.placement.ledger import Ledger
from tonnage.placement.lines import Found, all_lines, line_of
from tonnage.placement.load import Row, rows
from tonnage.placement.others import others_on
from tonnage.placement.site import Server, Site

NOTHING_READ = "no index of any server could be read; hint: `tonnage doctor` tells what is wrong"
_WAIT_NS = 3 * 10**9
"""For a server's answer, where a person waits for the table."""
_JOBS_NS = 5 * 10**9
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

    def __init__(self, site: Site, servers: Sequence[Server], *, refresh_ns: int = 0, count_jobs: bool = True) -> None:
        """``refresh_ns``: indices younger than this are taken as they are kept. ``count_jobs``: False where only a
        server with a load line needs its jobs counted."""
        self._site, self._servers = site, servers
        self._refresh_ns, self._count_jobs = refresh_ns, count_jobs
        self._jobs: list[Job] | None = None
        self._jobs_ns: int | None = None
        self._jobs_at_s = 0.0
        self.notes: list[str] = []

    def __call__(self) -> list[Row]:
        site = self._site
        kept = all_lines(site)[0]
        found = ((server.name, line_of(site, server, None, among=kept)) for server in self._servers)
        known = {name: line for name, line in found if line}
        lines = {name: line.tasks for name, line in known.items()}
        # A daemon: Ctrl-C does not wait for a scheduler that hangs.
        asking = threading.Thread(target=self._ask_scheduler, name="jobs", daemon=True)
        if self._count_jobs or lines:
            asking.start()
        readings = fresh_indices(self._servers, wait_ns=_WAIT_NS, refresh_ns=self._refresh_ns)
        if asking.ident is not None:
            asking.join()
        only, now_s = [server.name for server in self._servers], time.time()
        world = self._world(readings, now_s) if self._count_jobs else None
        promised = None if world is None else promised_tasks(only, world)
        others = {} if world is None else {name: self._others(name, line, world) for name, line in known.items()}
        return rows(site, readings, self._jobs, lines, now_s=now_s, only=only, promised=promised, others=others)

    def _others(self, name: str, line: Found, world: World) -> int | None:
        found = others_on([name], world, self._site.policy, line=line.tasks, plateau=plateau_of(line))
        return found[0]

    def _world(self, readings: Mapping[str, Reading], now_s: float) -> World | None:
        """What a decision would know, by the scheduler's jobs, the ledger and the indices."""
        if self._jobs is None:
            return None
        try:
            placements = placements_of(Ledger(), self._jobs, since_s=self._jobs_at_s)
        except TonnageError as error:
            note = f"what is promised is not known: {error}"
            self.notes = [*self.notes, *({note} - {*self.notes})]
            return None
        return World(now_s=now_s, jobs=self._jobs, jobs_at_s=self._jobs_at_s, placements=placements, readings=readings)

    def _ask_scheduler(self) -> None:
        now_ns = time.monotonic_ns()
        if self._jobs_ns is not None and now_ns - self._jobs_ns < _JOBS_NS:
            return
        self.notes = []
        self._jobs_at_s = time.time()
        try:
            self._jobs = scheduler(self._site.scheduler, timeout_s=self._site.policy.scheduler_timeout / 1e9).jobs()
        except TonnageError as error:
            self._jobs = None
            self.notes = [f"jobs are not known: {error}"]
        self._jobs_ns = time.monotonic_ns()
