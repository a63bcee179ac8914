"""What the placement commands print with ``--json``: one type a command, printed by ``asdict``. The types of ``jobs``,
``cancel`` and ``queues`` are in ``jobs.py``, so that these commands do not import the modules of a decision.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from tonnage.cluster.scheduler import JobRequest
from tonnage.filesystems import Device
from tonnage.placement.choice import Decision, Scored
from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor.host_facts import Host, Link
from tonnage.placement.indices.reading import Reading
from tonnage.placement.jobs import CancelAnswer, JobsAnswer, QueuesAnswer
from tonnage.placement.plan import Plan
from tonnage.placement.server_load import LoadRow, ServerLoad
from tonnage.placement.server_load_lines import KnownLine
from tonnage.placement.site import Line, Server
from tonnage.placement.submit import Outcome
from tonnage.placement.watch.load_report import Busiest, HourOfDay, LineInUse, Sum, UserInEpisodes
from tonnage.placement.watch.observation import UserJobs
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine

WatchEvent = Literal["began", "ended", "unknown", "known", "no-line", "above", "below"]


@dataclass(frozen=True, kw_only=True)
class LoadAnswer:
    """One look."""

    at_s: float
    """Seconds since 1970."""
    servers: tuple[ServerLoad, ...]
    notes: tuple[str, ...]


def load_answer(found: Sequence[LoadRow], notes: Sequence[str]) -> LoadAnswer:
    """Returns the answer of an observation made just now."""
    return LoadAnswer(at_s=round(time.time(), 3), servers=tuple(row.answer() for row in found), notes=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class MountAnswer:
    """Names a mount."""

    mount_point: str
    file_system: str
    device: str


@dataclass(frozen=True, kw_only=True)
class LocatedAnswer:
    """Says where a path's data lives; made of ``tonnage.placement.where.Located``."""

    path: str
    real_path: str
    mount: MountAnswer | None
    target: str
    servers: tuple[str, ...]
    devices: tuple[Device, ...]
    striped: bool
    local: bool
    how: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, kw_only=True)
class FileServer:
    """A server that holds the path, as the site file has it."""

    name: str
    hosts: tuple[str, ...]
    queue: str | None
    slots: int | None
    load: Reading | None


@dataclass(frozen=True, kw_only=True)
class StatedLine:
    """A load line of the site file."""

    tasks: int
    plateau: int | None
    """Bytes per second."""

    @property
    def plateau_bytes_per_s(self) -> int | None:
        """Returns the plateau by the name that it has in a measured line."""
        return self.plateau


@dataclass(frozen=True, kw_only=True)
class WhereAnswer(LocatedAnswer):
    """Adds each of its servers to a located path."""

    file_servers: tuple[FileServer, ...]
    load_line: KeptLine | StatedLine | None


def located_answer(located: Located) -> LocatedAnswer:
    """Returns what ``--json`` prints of a located path."""
    at = located.mount
    mount = (
        None if at is None else MountAnswer(mount_point=at.mount_point, file_system=at.file_system, device=at.device)
    )
    same = {field.name: getattr(located, field.name) for field in fields(LocatedAnswer) if field.name != "mount"}
    return LocatedAnswer(**same, mount=mount)


def where_answer(
    located: Located, servers: Sequence[Server], readings: Mapping[str, Reading], line: KnownLine | None
) -> WhereAnswer:
    """``readings``: by the servers' names."""
    return WhereAnswer(
        **vars(located_answer(located)),
        file_servers=tuple(
            FileServer(
                name=server.name,
                hosts=server.hosts,
                queue=server.queue,
                slots=server.slots,
                load=readings.get(server.name),
            )
            for server in servers
        ),
        load_line=line_answer(line),
    )


def line_answer(line: KnownLine | None) -> KeptLine | StatedLine | None:
    """Returns what ``--json`` prints of a load line; None without one."""
    return StatedLine(**line.model_dump()) if isinstance(line, Line) else line


@dataclass(frozen=True, kw_only=True)
class ScoredAnswer(Scored):
    """A candidate with its sum as an ordinary field: pydantic ignores fields that ``__init__`` does not take."""

    score_s: float


@dataclass(frozen=True, kw_only=True)
class DecisionAnswer(Decision):
    """Says where the job goes, and every host that was considered."""

    considered: tuple[ScoredAnswer, ...]
    of: int
    """Hosts considered."""


@dataclass(frozen=True, kw_only=True)
class DemandAnswer:
    """The I/O demand of one copy."""

    tasks: float
    """Of the load line."""
    bytes: int
    operations: int
    io_share: float
    """Of its time alone, in which it waits for storage."""
    bytes_per_s: int | None
    plateau_share: float | None
    """That rate as a share of the load line's plateau."""
    measured: bool
    source: str


@dataclass(frozen=True, kw_only=True)
class PlanAnswer:
    """A submission as it was decided."""

    located: LocatedAnswer
    servers: tuple[str, ...]
    demand: DemandAnswer
    decision: DecisionAnswer
    request: JobRequest
    load_line_tasks: int | None
    load_line_servers: tuple[str, ...]
    """Whose line that is; several carry the data together."""
    notes: tuple[str, ...]

    @property
    def host(self) -> str | None:
        """The first choice; None: the scheduler decides."""
        return next(iter(self.decision.hosts), None)

    @property
    def cap(self) -> int | None:
        """Copies at once; None: no limit."""
        return self.decision.cap

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons, in sentences."""
        return self.decision.why


@dataclass(frozen=True, kw_only=True)
class Previewed(PlanAnswer):
    """``--dry-run``."""

    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """The key was submitted before, nothing new was."""

    key: str
    job: str | None
    line: str | None
    new: bool
    followed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Submission(PlanAnswer, Repeated):
    """A new job."""


SubmitAnswer: TypeAlias = Previewed | Submission | Repeated


def previewed(plan: Plan, command: tuple[str, ...]) -> Previewed:
    """``command``: what would be run."""
    return Previewed(**vars(_plan_answer(plan)), command=command)


def submitted(key: str, outcome: Outcome) -> Submission | Repeated:
    """Returns the result of a submission."""
    receipt = outcome.receipt
    found = Repeated(
        key=key,
        job=None if receipt is None else receipt.job,
        line=None if receipt is None else receipt.line,
        new=outcome.plan is not None,
        followed=tuple(outcome.followed),
    )
    return found if outcome.plan is None else Submission(**vars(found), **vars(_plan_answer(outcome.plan)))


def _plan_answer(plan: Plan) -> PlanAnswer:
    decision = {field.name: getattr(plan.decision, field.name) for field in fields(plan.decision)}
    decision["considered"] = tuple(ScoredAnswer(**asdict(one)) for one in plan.decision.considered)
    return PlanAnswer(
        located=located_answer(plan.located),
        servers=tuple(server.name for server in plan.servers),
        demand=DemandAnswer(**{field.name: getattr(plan.demand, field.name) for field in fields(DemandAnswer)}),
        decision=DecisionAnswer(**decision, of=len(plan.decision.considered)),
        request=plan.request,
        load_line_tasks=plan.line,
        load_line_servers=plan.line_servers,
        notes=plan.notes,
    )


@dataclass(frozen=True, kw_only=True)
class WatchAnswer:
    """One observation of one server."""

    at_s: float
    """Time of the observation, in seconds since 1970."""
    time: str
    """The same in ISO 8601."""
    server: str
    event: WatchEvent
    """``above`` and ``below`` with ``--once`` alone."""
    above: bool
    """In an episode, also where that is not known now."""
    load: float | None
    """Tasks that use it: of the scheduler's jobs, and ``others``; null is unknown."""
    others: float | None
    """The part of ``load`` that the indices show beyond those jobs; null where unknown."""
    line: int | None
    since_s: float | None
    """When the episode began; of ``unknown`` and ``known``: since when nothing was known."""
    until_s: float | None
    """Of ``ended``: when."""
    lasted_s: float | None
    """Of ``ended``: without what is not known."""
    jobs: int | None
    """That run there, as far as the scheduler tells; null where it does not."""
    users: tuple[UserJobs, ...]
    only_own: bool | None
    """Whether the scheduler tells of this user's jobs alone; null: it does not say."""
    missing: tuple[str, ...]
    """A sentence for each thing that could not be observed."""


@dataclass(frozen=True, kw_only=True)
class EpisodeAnswer:
    """A time for which a server was above its line."""

    began_s: float
    ended_s: float | None
    """Null: it goes on, or the watch ended first."""
    seen_s: float
    """Time of the last observation of it."""
    lasted_s: float
    """Without what is not known."""
    unknown_s: float
    line: int
    most: float
    """The highest load."""
    users: dict[str, int]
    """User → the largest number of tasks in one observation; the first 32."""
    only_own: bool | None
    """Whether the scheduler told of this user's jobs alone."""


@dataclass(frozen=True, kw_only=True)
class MeasuredLine:
    """A load line that was measured."""

    measured_at_s: float
    operation: str
    access: str
    transfer_size: int
    tasks: int
    low: int
    high: int
    plateau_bytes_per_s: int
    host: str
    target: str


@dataclass(frozen=True, kw_only=True)
class ServerAnswer:
    """One server. Times are seconds since 1970; hours of the day are by this host's zone."""

    server: str
    from_s: float
    until_s: float
    sum: Sum
    share_above: float | None
    """Of the known time."""
    hours: tuple[HourOfDay, ...]
    busiest: Busiest | None
    episodes: tuple[EpisodeAnswer, ...]
    users: tuple[UserInEpisodes, ...]
    lines: tuple[LineInUse, ...]
    measured: tuple[MeasuredLine, ...]
    stated: int | None


@dataclass(frozen=True, kw_only=True)
class HistoryAnswer:
    """Holds the history that watches kept."""

    zone: str
    """Of the hours of the day, such as ``+01:00``."""
    servers: tuple[ServerAnswer, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SiteChecked:
    """The result of ``doctor`` on the site file."""

    well: bool
    files: tuple[str, ...]
    scheduler: str
    complaints: tuple[Complaint, ...]


@dataclass(frozen=True, kw_only=True)
class LinkAnswer(Link):
    """A link with its rate as an ordinary field: pydantic ignores fields that ``__init__`` does not take."""

    bytes_per_s: int | None


@dataclass(frozen=True, kw_only=True)
class HostsChecked:
    """``--hosts``."""

    well: bool
    target: str | None
    hosts: tuple[Host, ...]
    links: tuple[LinkAnswer, ...]
    complaints: tuple[Complaint, ...]


DoctorAnswer: TypeAlias = SiteChecked | HostsChecked


ANSWERS: Mapping[str, Any] = {
    "submit": SubmitAnswer,
    "where": WhereAnswer,
    "load": LoadAnswer,
    "watch": WatchAnswer,
    "servers": HistoryAnswer,
    "jobs": JobsAnswer,
    "cancel": CancelAnswer,
    "queues": QueuesAnswer,
    "doctor": DoctorAnswer,
}
"""Command (``servers``: ``history --servers``) → what it prints."""
