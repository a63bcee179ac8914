"""How busy each file server is, and what it can still take: one row a server."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tonnage.cluster.scheduler import Job
from tonnage.placement.candidates import HOLDS_A_SLOT
from tonnage.placement.indices import Reading
from tonnage.placement.indices.host import Host
from tonnage.placement.site import Site
from tonnage.placement.uses import Uses

_FIGURES = (
    "source",
    "ut_permille",
    "bio_per_s",
    "bio_bytes_per_s",
    "rpc_per_s",
    "pressure_permille",
    "cpus",
    "pages_per_s",
    "host",
    "clock_ahead_s",
)
"""Of a reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """One server's figures, side by side. None is unknown."""

    server: str
    source: str | None
    ut_permille: int | None
    bio_per_s: float | None
    bio_bytes_per_s: int | None
    rpc_per_s: float | None
    pressure_permille: int | None
    cpus: int | None
    pages_per_s: float | None
    host: Host | None
    clock_ahead_s: float | None
    age_s: float | None
    stale: bool
    running: int | None
    waiting: int | None
    line: int | None
    head_room: int | None
    promised: float | None
    others: int | None
    left: float | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One server. None is unknown."""

    server: str
    reading: Reading | None
    """None: the site file does not say where its indices are."""
    age_s: float | None
    """Of the figures; None where there are none."""
    stale: bool
    """The figures, if any, tell nothing of now."""
    running: int | None
    """Tasks that use it or run beside it, by the scheduler's count."""
    waiting: int | None
    """Those that will, when they start."""
    line: int | None
    """Its load line in tasks."""
    promised: float | None = None
    """Tasks that the jobs sent to it may run at once, as a decision counts them: by their measured demand."""

    others: int | None = None
    """Tasks that its indices show beyond those jobs; None where they tell nothing of now."""

    @property
    def left(self) -> float | None:
        """What of its line is promised to nobody and not in use by others, as far as that is known, in tasks; below 0:
        more than it carries."""
        return None if self.line is None or self.promised is None else self.line - self.promised - (self.others or 0)

    @property
    def head_room(self) -> int | None:
        """Tasks that it still carries; below 0: more run than that."""
        return None if self.line is None or self.running is None else self.line - self.running

    @property
    def carries(self) -> int | None:
        """The same less what others use, as far as the indices show it."""
        return None if self.head_room is None else self.head_room - (self.others or 0)

    @property
    def problem(self) -> str | None:
        """Why there are no (new) figures, in a sentence."""
        if self.reading is None:
            return 'the site file does not say where its indices are read; hint: indices = "http://HOST:9100/metrics"'
        return self.reading.problem

    def told(self) -> ServerLoad:
        """As ``--json`` and the metrics have it."""
        reading = self.reading
        return ServerLoad(
            server=self.server,
            **{name: None if reading is None else getattr(reading, name) for name in _FIGURES},
            age_s=None if self.age_s is None else round(self.age_s, 3),
            stale=self.stale,
            running=self.running,
            waiting=self.waiting,
            line=self.line,
            head_room=self.head_room,
            promised=None if self.promised is None else round(self.promised, 3),
            others=self.others,
            left=None if self.left is None else round(self.left, 3),
            problem=self.problem,
        )

    def as_dict(self) -> dict[str, Any]:
        """The same, of plain values."""
        return asdict(self.told())


def rows(
    site: Site,
    readings: Mapping[str, Reading],
    jobs: Iterable[Job] | None,
    lines: Mapping[str, int],
    *,
    now_s: float,
    only: Collection[str] = (),
    promised: Mapping[str, float] | None = None,
    others: Mapping[str, int | None] | None = None,
) -> list[Row]:
    """A row for each server of the site, or for those of the names ``only``, in the site's order.

    ``jobs``: all that wait or run; None where the scheduler did not tell. ``lines``: tasks, by the server's name.
    ``promised``, ``others``: tasks, in the same way; None where that is not known.
    """
    running, waiting = _tasks(site, jobs) if jobs is not None else (None, None)
    found = []
    for server in site.server:
        if only and server.name not in only:
            continue
        reading = readings.get(server.name)
        known = reading is not None and reading.cpus is not None
        found.append(
            Row(
                server=server.name,
                reading=reading,
                age_s=reading.age_s(now_s) if reading is not None and known else None,
                stale=reading is None or reading.is_stale(now_s, site.policy.index_age),
                running=None if running is None else running.get(server.name, 0),
                waiting=None if waiting is None else waiting.get(server.name, 0),
                line=lines.get(server.name),
                promised=None if promised is None else promised.get(server.name, 0.0),
                others=None if others is None else others.get(server.name),
            )
        )
    return found


def _tasks(site: Site, jobs: Iterable[Job]) -> tuple[dict[str, int], dict[str, int]]:
    """Server → tasks that run, and that wait. A job is counted once for each server, however many hosts it has."""
    running: dict[str, int] = {}
    waiting: dict[str, int] = {}
    uses = Uses(site.server)
    for job in jobs:
        counted = running if job.state in HOLDS_A_SLOT else waiting if job.state == "pending" else None
        if counted is None:
            continue
        for server in uses.of(job):
            counted[server.name] = counted.get(server.name, 0) + job.count
    return running, waiting
