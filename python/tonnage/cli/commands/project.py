"""``tonnage project``: what a run says of a size that it did not measure."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from tonnage.cli.outcome import console, print_json
from tonnage.cli.rundir import sealed_run
from tonnage.errors import RequestError


def run(arguments: Namespace) -> int:
    """Exit code 2 where nothing can be said."""
    from tonnage.analysis.loadline.projection import project
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
    if arguments.out is not None:
        from tonnage.report.page import write_answer

        write_answer(shown, arguments.out)
    if arguments.json:
        projections: list[dict[str, Any]] = []
        for one in found:
            points = [{"tasks": point.tasks, "median": point.median} for point in one.points]
            divided = [asdict(normalised(one, basis)) for basis in bases]
            projections.append({**asdict(one), "points": points, "normalised": divided})
        print_json({"projections": projections, "refused": [asdict(one) for one in refused]})
    else:
        from tonnage.report.terminal import print_answer

        print_answer(shown, console())
    return 0
