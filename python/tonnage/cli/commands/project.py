"""``tonnage project``: what a run says of a size that it did not measure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, PAGE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_count

if TYPE_CHECKING:
    from tonnage.analysis.compare.normalise import Basis


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _per(text: str) -> Basis:
    from tonnage.analysis.compare.normalise import parse_per

    return parse_per(text)


def _link(text: str) -> Basis:
    from tonnage.analysis.compare.normalise import parse_link

    return parse_link(text)


COMMAND = Command(
    "project",
    "tell what to expect at a size that was not measured",
    "Extends the measured curve of RUN to M tasks on N nodes. The interval combines the noise of the "
    "repetitions with the spread of laws that fit the measured points equally well, and is bounded by the "
    "measured ceilings. The command prints how far beyond the measured points that is, and refuses sizes "
    "that the points cannot predict.",
    (
        Option(("run_directory",), "a run directory", "RUN", completes="directory"),
        Option(("--tasks",), "tasks in all", "M", "as many on each node as in the run", parse=parse_count),
        Option(("--nodes",), "number of nodes", "N", "the run's", parse=parse_count),
        Option(("--op",), "only these operations", "OP[,OP]", "all", parse=_names),
        Option(("--per",), "also divide by a number of things, such as disk=10", "THING=COUNT", parse=_per),
        Option(("--link",), "rate of the link of each node, such as 10Gbit/s; it is a ceiling", "RATE", parse=_link),
        PAGE,
        JSON,
    ),
    (
        ("tonnage project tonnage-runs/probe --tasks 64", "twice the tasks that were measured, on the same node"),
        ("tonnage project sweep --nodes 128 --link 25Gbit/s --out expected.html", "more nodes, as a picture"),
    ),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Arguments) -> int:
    """Exit code 2 where nothing can be said."""
    from tonnage.analysis.load_line.projection import project
    from tonnage.cli.runs import sealed_run, show_answer
    from tonnage.report.answers.project import answer, normalised

    link = arguments.link
    found, refused = project(
        sealed_run(arguments.run_directory),
        tasks=arguments.tasks,
        nodes=arguments.nodes,
        ops=arguments.op or (),
        link=link.bytes_per_s if link is not None else None,
    )
    if not found:
        raise RequestError(f"of {refused[0].op} nothing can be said: {refused[0].why}")
    bases = [basis for basis in (arguments.per, link) if basis is not None]
    shown = answer(arguments.run_directory, found, refused, bases)

    def plain() -> dict[str, object]:
        projections: list[dict[str, object]] = []
        for one in found:
            points = [{"tasks": point.tasks, "median": point.median} for point in one.points]
            divided = [asdict(normalised(one, basis)) for basis in bases]
            projections.append({**asdict(one), "points": points, "normalised": divided})
        return {"projections": projections, "refused": [asdict(one) for one in refused]}

    show_answer(shown, plain, arguments)
    return 0
