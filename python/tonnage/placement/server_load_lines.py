"""Selects the load line of a server, measured lines before stated ones; and keeps the lines that searches find."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tonnage.analysis import Analysis, LoadLine, Point
from tonnage.errors import RequestError
from tonnage.machine.guarded_access import carefully
from tonnage.machine.user_state import STATE_HINT, user_state
from tonnage.placement.site import Line, Server, Site, load_site
from tonnage.placement.task_caps import USUAL_TRANSFER, Plateau
from tonnage.placement.where import Located, locate
from tonnage.records import Run
from tonnage.records.load_line_files import KeptLine, keep_line, lines_in
from tonnage.units import format_size, plural, rate_text, time_text

KnownLine: TypeAlias = KeptLine | Line
_DAY_S = 86400.0
_HOLDS_S = 30 * _DAY_S
"""For so long a load line is not replaced by a weaker measurement: later the storage may be another."""
_WEAKER = 2
"""A line is weaker evidence with so many times less time of trials, or an interval so many times as wide."""


def line_of(
    site: Site,
    server: Server | None,
    located: Located | None,
    *,
    operation: str = "read",
    access: str = "sequential",
    transfer_size: int = USUAL_TRANSFER,
    among: Sequence[KeptLine] | None = None,
) -> KnownLine | None:
    """The load line of a server for what was located there: of those measured the nearest in pattern, then what
    :func:`_best_known` says; else the one that the site file states; None where there is neither.

    A line measured on this very storage comes before one of another that the same server holds. ``located`` is None
    where no path was asked for: then any line of the server's. ``among``: all lines that are kept (:func:`all_lines`),
    for a caller that asks about many servers.
    """

    def distance(line: KeptLine) -> tuple[float, ...]:
        return (
            located is None or line.target != located.target,
            line.operation != operation,
            line.access != access,
            abs(math.log2(line.transfer_size / transfer_size)),
            line.transfer_size,
        )

    kept = all_lines(site)[0] if among is None else among
    every = [line for line in kept if _concerns(site, server, located, line)]
    if not every:
        return server.line if server else None
    nearest = min(map(distance, every))
    return _best_line([line for line in every if distance(line) == nearest])


def _best_line(lines: Sequence[KeptLine]) -> KeptLine:
    """The newest, but that a weaker measurement does not take the place of a better one for the first 30 days."""
    newest, *older = sorted(lines, key=lambda line: -line.measured_at_s)
    best = newest
    for line in older:
        if newest.measured_at_s - line.measured_at_s <= _HOLDS_S and _is_weaker(best, line):
            best = line
    return best


def _is_weaker(line: KeptLine, other: KeptLine) -> bool:
    """Whether it stands on less than half the time of trials, or its interval is over twice as wide, as a ratio."""
    return _is_shorter(line, other) or line.high / line.low > _WEAKER * other.high / other.low


def _is_shorter(line: KeptLine, other: KeptLine) -> bool:
    return bool(line.measured_ns and other.measured_ns) and _WEAKER * line.measured_ns < other.measured_ns


def describe(found: KnownLine | None, *, now_s: float) -> str:
    """Returns the line in one sentence without a full stop, with its age or its source."""
    if found is None:
        return "no load line is known; hint: measure it with `tonnage probe`, or state it in tonnage.toml"
    if isinstance(found, Line):
        plateau = f" at {rate_text(found.plateau)}" if found.plateau else ""
        return f"{plural(found.tasks, 'task')}{plateau}, stated in the site file"
    return (
        f"{plural(found.tasks, 'task')} [{found.low}, {found.high}] at {rate_text(found.plateau_bytes_per_s)}, "
        f"measured {age_text(now_s - found.measured_at_s)} from {found.host} ({found.operation}, {found.access}, "
        f"{format_size(found.transfer_size)} a transfer{_evidence(found)})"
    )


def _evidence(found: KeptLine) -> str:
    return f", {time_text(found.measured_ns)} of trials" if found.measured_ns else ""


def plateau_of(line: KnownLine | None, tasks: int | None = None) -> Plateau | None:
    """The plateau of a load line as a rate; None where unknown. ``tasks``: the line in use, where that is another."""
    if line is None:
        return None
    if isinstance(line, KeptLine):
        rate, single = line.plateau_bytes_per_s, line.single_bytes_per_s
    else:
        rate, single = line.plateau or 0, 0
    if not rate:
        return None
    return Plateau(tasks=tasks or line.tasks, bytes_per_s=rate, single_bytes_per_s=single)


def plateaus_of(lines: Mapping[str, KnownLine | None]) -> dict[str, Plateau]:
    """Returns the same for servers, by name, without unknown ones."""
    found = {name: plateau_of(line) for name, line in lines.items()}
    return {name: plateau for name, plateau in found.items() if plateau is not None}


def age_text(age_s: float) -> str:
    """``today``, ``12 days ago``; a clock that is behind makes nothing younger than that."""
    days = int(age_s / _DAY_S)
    return "today" if days < 1 else f"{plural(days, 'day')} ago"


def line_directories(site: Site) -> list[Path]:
    """Where lines are kept, the shared directory first; this user's own may be unusable, which costs only its lines."""
    found = [Path(site.lines)] if site.lines else []
    try:
        found.append(user_state("lines"))
    except RequestError:
        return found
    return found


@dataclass(frozen=True, slots=True)
class KeptLines:
    """Every line that is kept."""

    lines: tuple[KeptLine, ...]
    problems: tuple[str, ...]
    """A sentence for each file that should hold one and does not."""
    silent: tuple[str, ...]
    """Directories that did not answer: what they hold is not known."""


def all_lines(site: Site) -> tuple[list[KeptLine], list[str]]:
    """Every line that is kept, and a sentence for what should be one and is not."""
    found = known_lines(site)
    silent = [f"{directory} does not answer" for directory in found.silent]
    return [*found.lines], [*silent, *found.problems]


def known_lines(site: Site) -> KeptLines:
    """As they can be read now; within the policy's ``file_timeout`` for each directory."""
    lines: list[KeptLine] = []
    problems: list[str] = []
    silent: list[str] = []
    timeout_s = site.policy.file_timeout / 1e9
    for directory in line_directories(site):
        try:
            found, wrong = carefully(partial(_lines_in, directory), [directory], timeout_s=timeout_s)
        except OSError:
            silent.append(str(directory))
            continue
        lines += (KeptLine(**line) for line in found)
        problems += wrong
    return KeptLines(tuple(lines), tuple(problems), tuple(silent))


def _lines_in(directory: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """As a child can tell it."""
    lines, problems = lines_in(directory)
    return [asdict(line) for line in lines], problems


def lines_about(site: Site, server: Server, among: Iterable[KeptLine]) -> list[KeptLine]:
    """Those that were measured of this server alone, the oldest first."""
    return sorted((line for line in among if _concerns(site, server, None, line)), key=lambda one: one.measured_at_s)


def _concerns(site: Site, server: Server | None, located: Located | None, line: KeptLine) -> bool:
    if located is not None and line.target == located.target:
        return True
    if located is not None and located.local and server not in site.server:
        return False  # this host's disks and memories have only its name in common
    if server is None or len(line.servers) != 1:
        return False  # a line of several servers together does not give the line of one
    name = line.servers[0]
    return (site.named(name) or Server(name=name)).name == server.name


def lines_of_servers(
    site: Site, servers: Sequence[Server], located: Located, transfer_size: int = USUAL_TRANSFER
) -> dict[str, KnownLine | None]:
    """The load line of each server at that transfer size, or the nearest that is known. Servers over which the data
    is spread carry it together: they have one line, that of the storage as it was measured, else the sum of what the
    site file states of each."""
    kept = all_lines(site)[0]
    found = {server.name: line_of(site, server, located, transfer_size=transfer_size, among=kept) for server in servers}
    if not located.striped or len(servers) < 2:
        return found
    every = [line for line in found.values() if line is not None]
    whole: KnownLine | None = next(
        (line for line in every if isinstance(line, KeptLine) and line.target == located.target), None
    )
    if whole is None and len(every) == len(servers):
        rates = [line.plateau for line in every if isinstance(line, Line) and line.plateau]
        plateau = sum(rates) if len(rates) == len(every) else None
        whole = Line(tasks=sum(line.tasks for line in every), plateau=plateau)
    return dict.fromkeys(found, whole)


@dataclass(frozen=True, slots=True)
class KeepPlan:
    """Which load lines of a run are to be kept, and where."""

    lines: tuple[KeptLine, ...] = ()
    directories: tuple[Path, ...] = ()
    """The first of these that takes them."""
    stronger: tuple[tuple[KeptLine, KeptLine], ...] = ()
    """Of ``lines`` those that placement will not use, each with the one that it goes on using."""
    problem: str | None = None
    """Why they cannot be kept; None also where there is nothing to keep."""


@dataclass(frozen=True, slots=True)
class KeepResult:
    """The result of keeping a run's load lines."""

    lines: tuple[KeptLine, ...] = ()
    directory: Path | None = None
    problem: str | None = None
    """Why they were not kept; None also where there was nothing to keep."""


def keep_load_lines(run: Run, analysis: Analysis) -> KeepResult:
    """Keeps each load line that was reached on a storage with a path, in the site's shared directory where this user
    may write there, else in the user's own."""
    return keep_planned(plan_kept_lines(run, analysis))


def keep_planned(plan: KeepPlan) -> KeepResult:
    """What :func:`keep_load_lines` does, of a plan."""
    if plan.problem is not None or not plan.lines:
        return KeepResult(problem=plan.problem)
    return _keep_lines(plan.lines, plan.directories)


def plan_kept_lines(run: Run, analysis: Analysis) -> KeepPlan:
    """What :func:`keep_load_lines` will do; it looks at the storage, the site file and the lines that are kept, each
    within a limit of time, and writes nothing."""
    paths = [entry["path"] for entry in run.manifest["target"].get("directories") or ()]
    reached = [line for line in analysis.load_lines if line.reached and line.kind == "stream"]
    if any(point.setting.get("beside") for point in analysis.points):
        return KeepPlan()  # what a storage carries beside others is less than it carries
    if not paths or not reached or analysis.points[0].setting.get("storage") == "null":
        return KeepPlan()
    try:
        site = load_site(Path(paths[0]))
        every = {located.target: located for located in (_locate(path, site) for path in dict.fromkeys(paths))}
        if len(every) > 1:
            return KeepPlan(problem=f"{', '.join(every)} are several storages")
        (located,) = every.values()
        lines = tuple(_kept_line(line, analysis.points, run, located) for line in reached)
        kept = known_lines(site).lines
        stronger = tuple((line, best) for line in lines if (best := _stays_in_use(line, kept)) is not None)
        return KeepPlan(lines, tuple(line_directories(site)), stronger)
    except RequestError as error:
        return KeepPlan(problem=str(error))


def _stays_in_use(line: KeptLine, kept: Iterable[KeptLine]) -> KeptLine | None:
    """The line of the same storage and pattern that a new one does not take the place of; None: it does."""
    same = [one for one in kept if _pattern(one) == _pattern(line) and one.measured_at_s <= line.measured_at_s]
    best = _best_line([*same, line])
    return None if best is line else best


def _pattern(line: KeptLine) -> tuple[str, str, str, int]:
    return line.target, line.operation, line.access, line.transfer_size


def weaker_text(line: KeptLine, stronger: KeptLine) -> str:
    """Why one line is weaker evidence than another: ``write 8 tasks, on 4 s of trials, than 9 tasks on 60 s``."""
    head, other = f"{line.operation} {plural(line.tasks, 'task')}", plural(stronger.tasks, "task")
    if _is_shorter(line, stronger):
        return f"{head}, on {time_text(line.measured_ns)} of trials, than {other} on {time_text(stronger.measured_ns)}"
    return f"{head} [{line.low}, {line.high}], than {other} [{stronger.low}, {stronger.high}]"


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
        transfer_size=first.setting["transfer_size"],
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
        measured_ns=sum(point.elapsed_ns * point.repetitions for point in mine),
    )


def _tasks(point: Point) -> int:
    return point.tasks


def _keep_lines(lines: tuple[KeptLine, ...], directories: Sequence[Path]) -> KeepResult:
    """In the first directory that takes them."""
    problem = f"there is no directory for it; {STATE_HINT}"
    for directory in directories:
        try:
            for line in lines:
                keep_line(directory, line)
        except OSError as error:
            problem = f"{directory}: {error.strerror}"
            continue
        return KeepResult(lines, directory)
    return KeepResult(problem=problem)
