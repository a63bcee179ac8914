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
from tonnage.printable_text import typed
from tonnage.units import parse_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.analysis.io500 import PhaseFigure
    from tonnage.io500.benchmark import Ended
    from tonnage.io500.benchmark_progress import Kept

PAGE = "report.html"

COMMAND = Command(
    "io500",
    "measure what the IO500 benchmark measures, by its own configuration",
    "Runs the phases of IO500 in its order: the easy and hard files of IOR and mdtest are written, examined "
    "(stat), searched, read and removed. CONFIG is the benchmark's own configuration file; every key of it "
    "is read. The result directory has the benchmark's files and an HTML page with more figures. Everything "
    "made in the data directory is removed at the end. Under mpiexec or srun each process is a task. The "
    "result is not an official submission. `tonnage explain io500` has more.",
    (
        Option(("config",), "an IO500 configuration", "CONFIG", optional=True, completes="file"),
        Option(("--tasks",), "tasks in this process; under MPI, all its processes", "N", "1", parse=parse_count),
        Option(
            ("--repeat",),
            "repeat the whole benchmark this often, which gives the score an interval",
            "N",
            "1",
            parse=parse_count,
        ),
        Option(("--mode",), "which phases", None, "standard", choices=("standard", "extended")),
        Option(("--timestamp",), "name of the directories of this benchmark", "NAME", "the time"),
        Option(("--resume",), "continue an interrupted benchmark", "RESULTS", completes="directory"),
        Option(("--dry-run",), "check CONFIG, print what each phase would do, and create nothing"),
        Option(
            ("--cleanup",), "with --resume RESULTS: remove what the interrupted benchmark left, and do not continue it"
        ),
        Option(
            ("--verify",),
            "check that the figures of RESULT agree with its hash; with CONFIG, also with that configuration",
            "RESULT",
            completes="file",
        ),
        Option(("--list",), "print every section and key with its default"),
        JSON,
    ),
    (
        ("tonnage io500 config.ini", "one task, in directories with a time stamp"),
        ("mpiexec -n 16 tonnage io500 config.ini", "16 tasks; no other option is needed"),
        ("tonnage io500 --tasks 8 --repeat 6 config.ini", "a score with an interval"),
        ("tonnage io500 --resume results/2026.07.31-12.00.00", "what an interrupt left undone"),
        ("tonnage io500 --resume results/2026.07.31-12.00.00 --cleanup", "remove its files instead"),
        ("tonnage io500 config.ini --verify results/2026.07.31-12.00.00", "whether anybody changed the result"),
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
    if arguments.verify is not None:
        return _verify(arguments)
    kept = _kept(arguments)
    if arguments.cleanup:
        return _clean(kept)
    if arguments.dry_run:
        print("\n".join(benchmark.command_lines(kept)))
        return 0
    if arguments.resume is None:
        benchmark.begin(kept)
    ended = benchmark.carry_out(
        kept,
        Observer(),
        (lambda line: print(line, file=sys.stderr)) if arguments.json else lambda line: print(line, flush=True),
        lambda line: print(f"tonnage: {line}", file=sys.stderr),
    )
    return _conclude(ended, as_json=arguments.json)


def _verify(arguments: Arguments) -> int:
    """Exit code: 1 where the result was changed."""
    from tonnage.io500.config import read_config
    from tonnage.io500.verify import problems_of

    given = ("tasks", "repeat", "mode", "timestamp", "resume", "dry_run", "cleanup", "json")
    if others := [name for name in given if getattr(arguments, name)]:
        raise RequestError(f"--verify measures nothing, and {others[0]} was given; hint: leave it out")
    problems = problems_of(arguments.verify, read_config(arguments.config) if arguments.config else None)
    for problem in problems:
        print(f"tonnage: io500: {problem}", file=sys.stderr)
    print("the result was changed, or is of another configuration" if problems else "the figures agree with the hash")
    return 1 if problems else 0


def _clean(kept: Kept) -> int:
    """Exit code: 1 where something stays."""
    from tonnage.io500 import benchmark

    problems = benchmark.clean(kept)
    for problem in problems:
        print(f"tonnage: io500: {problem}", file=sys.stderr)
    print(f"removed what the benchmark left in {kept.data}" + ("; some of it stays" if problems else ""))
    return 1 if problems else 0


def _kept(arguments: Arguments) -> Kept:
    from tonnage.compat.measure import Ranks
    from tonnage.io500 import benchmark
    from tonnage.io500.config import read_config

    if arguments.resume is not None:
        for name in ("config", "tasks", "repeat", "mode", "timestamp", "dry_run"):
            if getattr(arguments, name):
                raise RequestError(f"--resume goes on as it was begun, and {name} was given; hint: leave it out")
        kept, ranks = benchmark.resume(arguments.resume), Ranks.here()
        if not arguments.cleanup and ranks.hosts and ranks.default != kept.tasks:
            raise RequestError(
                f"{arguments.resume} was begun with {kept.tasks} tasks, and MPI started {ranks.default} processes; "
                f"hint: start {kept.tasks}"
            )
        return kept
    if arguments.cleanup:
        raise RequestError("--cleanup is of a benchmark that was begun; hint: add --resume RESULTS")
    if arguments.config is None:
        raise RequestError("there is no configuration; hint: tonnage io500 CONFIG.ini; --list prints every key")
    ranks = Ranks.here()
    if ranks.hosts and arguments.tasks is not None:
        raise RequestError("under MPI each process is a task; hint: leave --tasks out")
    return benchmark.plan(
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
        return complain(f"interrupted; hint: go on with `tonnage io500 --resume {typed(ended.results)}`", 130)
    figures = [figure for one in ended.found.repetitions for figure in one if figure.value == 0 and figure.group]
    if figures:
        failed = ", ".join(dict.fromkeys(figure.name for figure in figures))
        raise MeasurementError(f"not measured: {failed}; hint: {ended.results}/result.txt says why")
    return 1 if ended.problems else 0


def _print(ended: Ended, page: str, no_submission: str) -> None:
    score = ended.found.score
    if score is None:
        told = f"there is no score: phases that count are missing: {', '.join(ended.found.missing)}"
    elif score.has_interval:
        between = units.interval(score.low, score.high, units.significant, " to ")
        told = f"score over {len(score.values)} repetitions: {units.significant(score.median)}, 95 % interval {between}"
        told += "; more repetitions would tell" if between == units.NOT_KNOWN else ""
    elif len(ended.found.repetitions) > 1:
        told = "the score is of the one repetition that measured every phase, and has no interval"
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
        "missing": list(found.missing),
        "score": None
        if score is None
        else {
            "median": score.median,
            "low": score.low if score.has_interval else None,
            "high": score.high if score.has_interval else None,
            "values": list(score.values),
        },
        "repetitions": [
            {**_score(figures), "phases": [asdict(figure) for figure in figures]} for figures in found.repetitions
        ],
    }


def _score(figures: Sequence[PhaseFigure]) -> dict[str, object]:
    """Of one repetition: null where a phase is missing."""
    from tonnage.analysis.io500 import counted, missing_of, score_of

    missing, one = missing_of(figures), score_of(counted(figures))
    values = (None, None, None) if missing else (one.bandwidth, one.metadata, one.total)
    found: dict[str, object] = dict(zip(("bandwidth_gib_per_s", "metadata_kiops", "score"), values, strict=True))
    return {**found, "missing": list(missing)}
