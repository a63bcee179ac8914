"""Which load line holds for a server: what was measured before what was stated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tonnage.errors import RequestError
from tonnage.machine.careful import carefully
from tonnage.machine.state import user_state
from tonnage.placement.choice import Plateau
from tonnage.placement.site.model import Line, Server, Site
from tonnage.placement.where.located import Located
from tonnage.records.load_lines import KeptLine, lines_in
from tonnage.units import format_size, rate_text

Found: TypeAlias = KeptLine | Line

_DAY_S = 86400.0


def line_of(
    site: Site,
    server: Server | None,
    located: Located | None,
    *,
    operation: str = "read",
    access: str = "sequential",
    transfer_bytes: int | None = None,
    among: Sequence[KeptLine] | None = None,
) -> Found | None:
    """The load line of a server for what was located there: of those measured the nearest in pattern, then the newest;
    else the one that the site file states; None where there is neither.

    A line measured on this very storage comes before one of another that the same server holds. ``located`` is None
    where no path was asked for: then any line of the server's. ``among``: all lines that are kept (:func:`all_lines`),
    for who asks of many servers.
    """

    def distance(line: KeptLine) -> tuple[float, ...]:
        return (
            located is None or line.target != located.target,
            line.operation != operation,
            line.access != access,
            abs(math.log2(line.transfer_bytes / transfer_bytes)) if transfer_bytes else 0.0,
            -line.measured_at_s,
        )

    kept = all_lines(site)[0] if among is None else among
    every = [line for line in kept if _concerns(site, server, located, line)]
    return min(every, key=distance) if every else server.line if server else None


def describe(found: Found | None, *, now_s: float) -> str:
    """The line in one sentence without a full stop, with its age or its source."""
    if found is None:
        return "no load line is known; hint: measure it with `tonnage probe`, or state it in tonnage.toml"
    if isinstance(found, Line):
        plateau = f" at {rate_text(found.plateau)}" if found.plateau else ""
        return f"{_tasks(found.tasks)}{plateau}, stated in the site file"
    return (
        f"{_tasks(found.tasks)} [{found.low}, {found.high}] at {rate_text(found.plateau_bytes_per_s)}, measured "
        f"{age_text(now_s - found.measured_at_s)} from {found.host} ({found.operation}, {found.access}, "
        f"{format_size(found.transfer_bytes)} a transfer)"
    )


def plateau_of(line: Found | None, tasks: int | None = None) -> Plateau | None:
    """What a load line is as a rate; None where nobody says. ``tasks``: the line in use, where that is another."""
    if line is None:
        return None
    if isinstance(line, KeptLine):
        rate, single = line.plateau_bytes_per_s, line.single_bytes_per_s
    else:
        rate, single = line.plateau or 0, 0
    if not rate:
        return None
    return Plateau(tasks=tasks or line.tasks, bytes_per_s=rate, single_bytes_per_s=single)


def plateaus_of(lines: Mapping[str, Found | None]) -> dict[str, Plateau]:
    """The same of servers, by name; those where nobody says are not there."""
    found = {name: plateau_of(line) for name, line in lines.items()}
    return {name: plateau for name, plateau in found.items() if plateau is not None}


def _tasks(number: int) -> str:
    return f"{number} task{'s' if number > 1 else ''}"


def age_text(age_s: float) -> str:
    """``today``, ``12 days ago``; a clock that is behind makes nothing younger than that."""
    days = int(age_s / _DAY_S)
    return "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"


def line_directories(site: Site) -> list[Path]:
    """Where lines are kept, the shared directory first; this user's own may be unusable, which costs only its lines."""
    found = [Path(site.lines)] if site.lines else []
    try:
        found.append(user_state("lines"))
    except RequestError:
        return found
    return found


@dataclass(frozen=True, slots=True)
class Lines:
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


def known_lines(site: Site) -> Lines:
    """As they can be read now; within the policy's ``file_timeout`` for each directory."""
    lines: list[KeptLine] = []
    problems: list[str] = []
    silent: list[str] = []
    for directory in line_directories(site):
        try:
            told = carefully(partial(_told, directory), [directory], timeout_s=site.policy.file_timeout / 1e9)
        except OSError:
            silent.append(str(directory))
            continue
        lines += (KeptLine(**{**line, "servers": tuple(line["servers"])}) for line in told["lines"])
        problems += told["problems"]
    return Lines(tuple(lines), tuple(problems), tuple(silent))


def _told(directory: Path) -> dict[str, list[Any]]:
    """As a child can tell it."""
    lines, problems = lines_in(directory)
    return {"lines": [asdict(line) for line in lines], "problems": problems}


def lines_about(site: Site, server: Server, among: Iterable[KeptLine]) -> list[KeptLine]:
    """Those that were measured of this server alone, the oldest first."""
    return sorted((line for line in among if _concerns(site, server, None, line)), key=lambda one: one.measured_at_s)


def _concerns(site: Site, server: Server | None, located: Located | None, line: KeptLine) -> bool:
    if located is not None and line.target == located.target:
        return True
    if server is None or len(line.servers) != 1:
        return False  # what several servers carry together says nothing of one
    name = line.servers[0]
    return (site.named(name) or Server(name=name)).name == server.name
