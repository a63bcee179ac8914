"""Which file servers a job uses: the one rule for decisions and for the table of loads."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.scheduler import Job
from tonnage.placement.lists import ListedJob
from tonnage.placement.site import Server


class Uses:
    """Looks jobs up among some servers; built once for a list of jobs, which may be long."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._by_name: dict[str, list[Server]] = {}
        self._by_host: dict[str, list[Server]] = {}
        self._by_queue: dict[str, list[Server]] = {}
        for server in servers:
            for name in (server.name, *server.aliases):
                self._by_name.setdefault(name, [server])
            for host in server.hosts:
                self._by_host.setdefault(host, []).append(server)
            if server.queue is not None:
                self._by_queue.setdefault(server.queue, []).append(server)

    def of(self, job: Job | ListedJob, placed_by: str | None = None) -> Sequence[Server]:
        """The one that the job was placed by; else those beside whose hosts it runs, or in whose queue it waits.

        ``placed_by``: the server that the ledger has for it, where the scheduler keeps none with the job.
        """
        if name := job.server or placed_by:
            return self._by_name.get(name) or self._by_name.get(name.partition(".")[0]) or ()
        if not job.hosts:
            return self._by_queue.get(job.queue, ())
        every = (self._by_host.get(name, ()) for host in job.hosts for name in (host, host.partition(".")[0]))
        return list({server.name: server for found in every for server in found}.values())
