"""Keeps the load lines that a search found, where placement looks for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.analysis import Analysis, LoadLine, Point
from tonnage.errors import RequestError
from tonnage.machine.state import STATE_HINT
from tonnage.placement.lines import line_directories
from tonnage.placement.site import load_site
from tonnage.placement.where import locate
from tonnage.placement.where.located import Located
from tonnage.records import Run
from tonnage.records.load_lines import KeptLine, keep_line


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a run's load lines."""

    lines: tuple[KeptLine, ...] = ()
    directory: Path | None = None
    problem: str | None = None
    """Why they were not kept; None also where there was nothing to keep."""


def keep_found(run: Run, analysis: Analysis) -> Kept:
    """Keeps each load line that was reached on a storage with a path, in the site's shared directory where this user
    may write there, else in the user's own."""
    paths = [entry["path"] for entry in run.manifest["target"].get("directories") or ()]
    reached = [line for line in analysis.load_lines if line.reached and line.kind == "stream"]
    if not paths or not reached or analysis.points[0].setting.get("storage") == "null":
        return Kept()
    try:
        site = load_site(Path(paths[0]))
        every = {located.target: located for located in (_locate(path, site) for path in dict.fromkeys(paths))}
        if len(every) > 1:
            return Kept(problem=f"{', '.join(every)} are several storages")
        (located,) = every.values()
        lines = [_kept_line(line, analysis.points, run, located) for line in reached]
        return _keep(lines, line_directories(site))
    except RequestError as error:
        return Kept(problem=str(error))


def _locate(path: str, site: Any) -> Located:
    return locate(path, site, timeout_s=site.policy.file_timeout / 1e9)


def _kept_line(line: LoadLine, points: Sequence[Point], run: Run, located: Located) -> KeptLine:
    mine = sorted((point for point in points if (point.op, point.group) == (line.op, line.group)), key=_tasks)
    first = mine[0]
    host = run.manifest.get("host") or {}
    return KeptLine(
        target=located.target,
        operation=line.op,
        access=first.setting["access"],
        transfer_bytes=first.setting["transfer_size"],
        tasks=line.tasks or 0,
        low=line.tasks_low or 0,
        high=line.tasks_high or 0,
        plateau_bytes_per_s=line.plateau_bytes_per_s or 0,
        single_bytes_per_s=round(first.median / first.tasks),
        measured_at_s=time.time(),
        host=host.get("hostname") or "",
        run=str(run.path.resolve()),
        kernel=host.get("kernel") or "",
        servers=located.servers,
    )


def _tasks(point: Point) -> int:
    return point.tasks


def _keep(lines: list[KeptLine], directories: Sequence[Path]) -> Kept:
    """In the first directory that takes them."""
    problem = f"there is no directory for it; {STATE_HINT}"
    for directory in directories:
        try:
            for line in lines:
                keep_line(directory, line)
        except OSError as error:
            problem = f"{directory}: {error.strerror}"
            continue
        return Kept(tuple(lines), directory)
    return Kept(problem=problem)
