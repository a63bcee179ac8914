"""What share of a load line a program asks: its calls at once, its waiting and its rate beside a storage's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tonnage.demand.job_use import Bounds, JobUse, Order
from tonnage.demand.profile import FileSystemProfile, Flow, Over, Profile
from tonnage.demand.replay import access_of
from tonnage.placement.io_demand import demand_of_place
from tonnage.placement.server_load_lines import KnownLine, line_of, plateau_of
from tonnage.placement.site import load_site, site_path
from tonnage.placement.task_caps import USUAL_TRANSFER, Demand, Plateau, at_once
from tonnage.placement.where import locate, servers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LineShare:
    """One direction of a program against one load line."""

    operation: str
    line: KnownLine | None
    """None: none is known."""
    asked: Over
    """Tasks of the line, on average over the whole time of the job: those that wait inside calls, or what the rate
    stands for where that is more."""
    is_by_rate: bool
    """It is the rate, of the run whose figure is largest."""
    is_least: bool
    """Records of calls are missing: it asks so much, or more."""
    order: Order
    """Of the calls: the line is of the nearest access."""
    at_once: Bounds
    """Calls at the same moment, at most: tasks of the line in the job's fullest moment."""
    in_all: float
    """Tasks of the line that a job asks in all its calls, of the other direction and of names too, by the rule of
    ``submit --profile``."""
    packed: int | None
    """Such jobs that the line carries at once, one at least, by the most that each run can have asked on average: at
    least so many, where that is only bounded. None where nothing says how much a job asks at most."""

    @property
    def share(self) -> Over | None:
        """Of the line, on average."""
        if self.line is None:
            return None
        tasks, asked = self.line.tasks, self.asked
        low, high = (None if end is None else end / tasks for end in (asked.low, asked.high))
        return replace(asked, median=asked.median / tasks, low=low, high=high)


def shares_of(
    uses: Sequence[JobUse], profile: Profile, mount: str, path: str, site_file: str | None
) -> list[LineShare]:
    """Of each direction on the file system ``mount``, by the line that is kept or stated for ``path``; RequestError for
    a path or a site file that cannot be."""
    site = load_site(Path(), site_path(site_file))
    located = locate(path, site, timeout_s=site.policy.file_timeout / 1e9)
    servers = servers_of(located, site)
    server = servers[0] if len(servers) == 1 else None
    place = next(one for one in profile.places if one.mount == mount)
    found = []
    in_all = demand_of_place(place, "")
    for flow in place.flows:
        size = USUAL_TRANSFER if flow.transfer_size is None else max(1, round(flow.transfer_size.median))
        access = access_of(flow.order)
        line = line_of(site, server, located, operation=flow.operation, access=access, transfer_size=size)
        found.append(_share(uses, flow, place, line, in_all))
    return found


def _share(
    uses: Sequence[JobUse], flow: Flow, place: FileSystemProfile, line: KnownLine | None, in_all: Demand
) -> LineShare:
    plateau = plateau_of(line)
    in_all = in_all.against(plateau)
    asked = [_asked(use, flow.operation, place.mount, plateau) for use in uses]
    largest = max(asked, key=lambda one: one.median)
    over = Over.within([one.median for one in asked], [one.bounds for one in asked])
    is_least = any(use.lacking for use in uses)
    if is_least:
        over = replace(over, low=over.median if over.low is None else over.low, high=None, bounded=True)
    return LineShare(
        operation=flow.operation,
        line=line,
        asked=over,
        is_by_rate=largest.is_by_rate,
        is_least=is_least,
        order=flow.order,
        at_once=flow.at_once,
        in_all=in_all.tasks,
        packed=at_once(in_all, line.tasks) if line is not None and in_all.tasks > 0 and not is_least else None,
    )


@dataclass(frozen=True, slots=True)
class _RunShare:
    """Of one run."""

    median: float
    bounds: Bounds
    is_by_rate: bool


def _asked(use: JobUse, operation: str, mount: str, plateau: Plateau | None) -> _RunShare:
    place = next((one for one in use.file_systems if one.mount == mount), None)
    moved = None if place is None else place.reads if operation == "read" else place.writes
    if moved is None:
        return _RunShare(0.0, Bounds(0.0, 0.0), is_by_rate=False)

    def tasks(bytes_per_s: float) -> float:
        return 0.0 if plateau is None else min(plateau.tasks_of(bytes_per_s), float(plateau.tasks))

    rate, waiting = use.over_the_job(moved.moved), use.over_the_job(moved.inside_s)
    by_rate, by_waiting = tasks(moved.bytes / use.lasted_s), moved.busy_s / use.lasted_s
    bounds = Bounds(max(tasks(rate.low), waiting.low), max(tasks(rate.high), waiting.high))
    return _RunShare(max(by_rate, by_waiting), bounds, is_by_rate=by_rate > by_waiting)
