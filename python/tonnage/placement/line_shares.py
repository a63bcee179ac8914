"""What share of a load line a program asks: its calls at once, its waiting and its rate beside a storage's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tonnage.demand.job_use import Bounds, JobUse
from tonnage.demand.profile import Flow, Over, Place, Profile
from tonnage.placement.server_load_lines import KnownLine, line_of, plateau_of
from tonnage.placement.site import load_site, site_path
from tonnage.placement.task_caps import Plateau
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
    at_once: Bounds
    """Calls at the same moment, at most: tasks of the line in the job's fullest moment."""

    @property
    def share(self) -> Over | None:
        """Of the line, on average."""
        if self.line is None:
            return None
        tasks, asked = self.line.tasks, self.asked
        return Over(asked.median / tasks, asked.low / tasks, asked.high / tasks, asked.confidence)

    @property
    def packed(self) -> int | None:
        """Such jobs that the line carries at once, by their average."""
        return None if self.line is None or self.asked.median <= 0 else max(1, int(self.line.tasks / self.asked.median))


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
    for flow in place.flows:
        access = "sequential" if flow.sequential.low + flow.sequential.high >= 1 else "random"
        size = max(1, round(flow.transfer_size.median))
        line = line_of(site, server, located, operation=flow.operation, access=access, transfer_size=size)
        found.append(_share(uses, flow, place, line))
    return found


def _share(uses: Sequence[JobUse], flow: Flow, place: Place, line: KnownLine | None) -> LineShare:
    plateau = plateau_of(line)
    asked = [_asked(use, flow.operation, place.mount, plateau) for use in uses]
    return LineShare(operation=flow.operation, line=line, asked=Over.of(asked), at_once=flow.at_once)


def _asked(use: JobUse, operation: str, mount: str, plateau: Plateau | None) -> float:
    place = next((one for one in use.file_systems if one.mount == mount), None)
    moved = None if place is None else place.reads if operation == "read" else place.writes
    if moved is None:
        return 0.0
    by_rate = 0.0 if plateau is None else min(plateau.tasks_of(moved.bytes / use.lasted_s), float(plateau.tasks))
    return max(moved.busy_s / use.lasted_s, by_rate)
