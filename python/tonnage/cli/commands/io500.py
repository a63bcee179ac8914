"""``tonnage io500``: the IO500 benchmark by its own configuration."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from tonnage import units
from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.shared_options import JSON
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import MeasurementError, RequestError
from tonnage.units import parse_count

if TYPE_CHECKING:
    from tonnage.io500.benchmark import Ended
    from tonnage.io500.benchmark_progress import Kept

PAGE = "report.html"

COMMAND = Command(
    "io500",
    "measure what the IO500 benchmark measures, by its own configuration",
    "Runs the phases of IO500 in its order: files of IOR and mdtest, easy and hard, written, looked at, searched, read "
    "and removed. CONFIG is the benchmark's own configuration, with every key of it. The result directory has the "
    "benchmark's files, and a page with what these do not say. All that is made in the data directory is removed at "
    "the end. Under mpiexec or srun each process is a task. It is no official submission. `tonnage explain "
    "io500` has more.",
    (
        Option(("config",), "an IO500 configuration", "CONFIG", optional=True, completes="file"),
        Option(("--tasks",), "tasks in this process; under MPI, all its processes", "N", "1", parse=parse_count),
        Option(("--repeat",), "do everything so many times, for an interval of the score", "N", "1", parse=parse_count),
        Option(("--mode",), "which phases", None, "standard", choices=("standard", "extended")),
        Option(("--timestamp",), "name of the directories of this benchmark", "NAME", "the time"),
        Option(("--resume",), "go on with an interrupted benchmark", "RESULTS", completes="directory"),
        Option(("--list",), "print every section and key with its default"),
        JSON,
    ),
    (
        ("tonnage io500 config.ini", "one task, in directories with a time stamp"),
        ("mpiexec -n 16 tonnage io500 config.ini", "16 tasks; no other option is needed"),
        ("tonnage io500 --tasks 8 --repeat 6 config.ini", "a score with an interval"),
        ("tonnage io500 --resume results/2026.07.31-12.00.00", "what an interrupt left undone"),
    ),
    loads=("tonnage.io500.benchmark",),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where a phase was not measured, or something could not be removed."""
    from tonnage.campaign.observer import Observer
    from tonnage.io500 import benchmark
    from tonnage.io500.config import listed_keys

    if arguments.list:
        print(listed_keys())
        return 0
    kept = _begin(arguments)
    ended = benchmark.carry_out(
        kept,
        Observer(),
        (lambda line: print(line, file=sys.stderr)) if arguments.json else lambda line: print(line, flush=True),
        lambda line: print(f"tonnage: {line}", file=sys.stderr),
    )
    return _conclude(ended, as_json=arguments.json)


def _begin(arguments: Arguments) -> Kept:
    from tonnage.compat.measure import Ranks
    from tonnage.io500 import benchmark
    from tonnage.io500.config import read_config

    if arguments.resume is not None:
        for name in ("config", "tasks", "repeat", "mode", "timestamp"):
            if getattr(arguments, name) is not None:
                raise RequestError(f"--resume goes on as it was begun, and {name} was given; hint: leave it out")
        kept, ranks = benchmark.resume(arguments.resume), Ranks.here()
        if ranks.hosts and ranks.default != kept.tasks:
            raise RequestError(
                f"{arguments.resume} was begun with {kept.tasks} tasks, and MPI started {ranks.default} processes; "
                f"hint: start {kept.tasks}"
            )
        return kept
    if arguments.config is None:
        raise RequestError("there is no configuration; hint: tonnage io500 CONFIG.ini; --list prints every key")
    ranks = Ranks.here()
    if ranks.hosts and arguments.tasks is not None:
        raise RequestError("under MPI each process is a task; hint: leave --tasks out")
    return benchmark.begin(
        read_config(arguments.config),
        mode=arguments.mode or "standard",
        tasks=arguments.tasks or ranks.default,
        repeat=arguments.repeat or 1,
        timestamp=arguments.timestamp,
    )


def _conclude(ended: Ended, *, as_json: bool) -> int:
    """Writes the page, prints what follows after the benchmark's own lines, and gives the exit code."""
    from tonnage.cli.runs import print_json
    from tonnage.report.answers.io500 import NO_SUBMISSION, answer
    from tonnage.report.page import write_answer

    page = write_answer(answer(ended.found), ended.results / PAGE)
    if as_json:
        print_json(_summary(ended, str(page)))
    else:
        _print(ended, str(page), NO_SUBMISSION)
    for problem in ended.problems:
        print(f"tonnage: io500: {problem}", file=sys.stderr)
    if ended.is_interrupted:
        return complain(f"interrupted; hint: go on with `tonnage io500 --resume {ended.results}`", 130)
    missing = [figure.name for one in ended.found.repetitions for figure in one if figure.value == 0 and figure.group]
    if missing:
        raise MeasurementError(
            f"not measured: {', '.join(dict.fromkeys(missing))}; hint: {ended.results}/result.txt says why"
        )
    return 1 if ended.problems else 0


def _print(ended: Ended, page: str, no_submission: str) -> None:
    score = ended.found.score
    if score.has_interval:
        between = units.interval(score.low, score.high, units.significant, " to ")
        told = f"score over {len(score.values)} repetitions: {units.significant(score.median)}, 95 % interval {between}"
        told += "; more repetitions would tell" if between == units.NOT_KNOWN else ""
    elif len(ended.found.repetitions) > 1:
        told = "the score is of the one repetition that measured most phases, and has no interval"
    else:
        told = "the score is of one repetition and has no interval; --repeat 6 gives one"
    print(f"\n{told}\nresults: {ended.results}\npage: {page}\n{no_submission}")


def _summary(ended: Ended, page: str) -> dict[str, object]:
    """As its schema has it."""
    found = ended.found
    score = found.score
    return {
        "results": str(ended.results),
        "page": page,
        "official": False,
        "complete": not ended.is_interrupted,
        "valid": found.is_valid,
        "tasks": found.tasks,
        "mode": found.mode,
        "stonewall_s": found.stonewall_s,
        "problems": list(found.problems),
        "score": {"median": score.median, "low": score.low, "high": score.high, "values": list(score.values)},
        "repetitions": [
            {
                "bandwidth_gib_per_s": one.bandwidth,
                "metadata_kiops": one.metadata,
                "score": one.total,
                "phases": [asdict(figure) for figure in figures],
            }
            for one, figures in zip(found.scores, found.repetitions, strict=True)
        ],
    }
