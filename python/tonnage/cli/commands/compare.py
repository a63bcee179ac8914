"""``tonnage compare``: runs against a first one, one a side or several."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tonnage.errors import MeasurementError, RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.analysis.compare.normalise import Basis
    from tonnage.analysis.compare.runs import Between, Side
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.units import parse_share

COMMAND = Command(
    "compare",
    "tell whether a system is faster or slower than another, by their runs",
    "Compares each RUN with the first, the base. Equal settings are paired; each pair gets the ratio of its "
    "throughputs with an interval and one of three verdicts: faster, slower, no change shown. A RUN that is "
    "a directory of runs is one side with all its runs. A verdict about a system takes three runs a side, "
    "because days differ by more than the repetitions of one run show; all verdicts on a side hold together "
    "at 95 %. Other differences between the sides (factors, kernel, mount options, versions) are listed.",
    (
        Option(
            ("runs",),
            "run directories, or directories of the runs of one side; the base first",
            "RUN",
            repeats=True,
            completes="directory",
        ),
        Option(
            ("--of",),
            "what the verdicts are about: the system, or only these two runs, which says nothing about other days",
            default="system",
            choices=("system", "runs"),
        ),
        Option(
            ("--threshold",),
            "smallest change of a throughput that counts as a change",
            "SHARE",
            "2%",
            parse=parse_share,
        ),
        Option(
            ("--per",),
            "divide rates by disks, servers, nodes or links: as [normalise] of the runs' campaigns says (disk), or one "
            "for each side (disk=60,84; link=1Gbit/s,10Gbit/s)",
            "THING",
        ),
        Option(
            ("--fail-if",),
            "exit with 1 if a setting has this verdict or failed on the newer side; with 2 if no verdict is "
            "possible or the workloads differ",
            choices=("slower", "faster", "changed"),
        ),
        Option(("--out",), "also write an HTML page with a forest plot", "FILE", completes="file"),
        JSON,
    ),
    (
        (
            "tonnage compare before after --out compared.html",
            "did the upgrade help? Each a directory of three runs or more",
        ),
        ("tonnage compare --per disk=60,84 old new", "is a disk of the new system worth as much as one of the old?"),
        ("tonnage compare --fail-if slower --threshold 5% base new", "for a pipeline: exit code 1 if it got slower"),
        (
            "tonnage compare --of runs --fail-if slower base/1 new/1",
            "the same for two single runs, without a claim about other days",
        ),
    ),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where ``--fail-if`` holds."""
    from tonnage.analysis.compare.runs import SYSTEM, THRESHOLD, compare_sides
    from tonnage.cli.runs import console, failed_text, failing, print_json, same_runs, tell_undone

    if len(arguments.runs) < 2:
        raise RequestError(
            "there is one run, and two are compared; hint: tonnage compare BASE OTHER, runs or directories of runs"
        )
    base, *others = _sides(arguments.runs, arguments.per)
    threshold = THRESHOLD if arguments.threshold is None else arguments.threshold
    of = arguments.of or SYSTEM
    found = [compare_sides(base, other, threshold, of) for other in others]
    if arguments.fail_if is not None:
        for between, other in zip(found, others, strict=True):
            if same_runs(base.runs, other.runs):
                raise RequestError(
                    f"--fail-if: {other.name} has the runs of {base.name}, and nothing differs from itself; hint: give "
                    "the runs of two sides"
                )
            _require_one_workload(
                between, searched=all(run.manifest.get("search") for run in (*base.runs, *other.runs))
            )
        _judged(found)
    if arguments.out is not None:
        from tonnage.report.answers.compare import answer
        from tonnage.report.page import write_answer

        write_answer(answer(found, threshold), arguments.out)
    if arguments.json:
        from tonnage.analysis.summary import plain

        print_json({"comparisons": [plain(between) for between in found]})
    else:
        from tonnage.report.terminal import print_between

        for between in found:
            print_between(between, console())
    if arguments.fail_if is not None:
        tell_undone(one for between in found for one in between.undone_by)
        lost = [failed_text(between.unjudged_failures, between.other) for between in found if between.unjudged_failures]
        if lost:
            raise MeasurementError(f"{'; '.join(lost)}; hint: what has no figure passes no check")
    if not all(between.cells for between in found):
        raise MeasurementError("runs without an equal setting cannot be compared; hint: see what differs above")
    failed = sum(between.count(verdict) for between in found for verdict in failing(arguments.fail_if))
    if failed:
        one = f"{failed} setting is" if failed == 1 else f"{failed} settings are"
        raise MeasurementError(f"{one} {arguments.fail_if}, as --fail-if asked")
    return 0


def _sides(paths: Sequence[str], asked: str | None) -> list[Side]:
    """Each path a side: a run, or a directory of runs, of which each counts once."""
    from tonnage.analysis.compare.divisors import given_to, owner_of
    from tonnage.analysis.compare.runs import Side
    from tonnage.cli.runs import once, repeated_runs, runs_in

    sides = [once([runs_in([path])])[0] for path in paths]
    for name in repeated_runs(sides):
        print(f"tonnage: {name} is on both sides: compared with itself, nothing differs", file=sys.stderr)
    bases: list[list[Basis]] = [[] for _ in sides]
    if asked is not None:
        noun = "run" if all(len(side) == 1 for side in sides) else "side"
        divided = iter(given_to(asked, [[owner_of(run) for run in side] for side in sides], noun))
        bases = [[next(divided) for _ in side] for side in sides]
    return [Side(path, tuple(side), tuple(own)) for path, side, own in zip(paths, sides, bases, strict=True)]


def _require_one_workload(between: Between, *, searched: bool) -> None:
    """RequestError where a verdict would be of the workload, not of the system. The block that a search chooses follows
    from the system."""
    from tonnage.report.answers.compare import against, unlike_kinds

    what = f"--fail-if: {between.other} against {between.base}"
    if unlike := unlike_kinds(between):
        raise RequestError(f"{what}: {unlike[0][0].lower()}{unlike[0][1:-1]}; hint: compare runs of one campaign")
    if not between.cells and not between.failed_other:
        raise RequestError(f"{what} has no setting in common; hint: compare runs of one campaign")
    keys = [one for one in between.unlike if not (searched and one.key == "workload.block_size")]
    if keys:
        differ = ", ".join(map(against, keys))
        raise RequestError(f"{what} are unlike workloads: {differ}; hint: compare runs of one campaign")


def _judged(found: Sequence[Between]) -> None:
    """``--fail-if`` without anything that can have a verdict would pass whatever happened. RequestError."""
    from tonnage.analysis.compare.rate_ratio import LEAST_RUNS
    from tonnage.analysis.compare.runs import RUNS

    for between in found:
        if between.cells and not between.judged:
            what = f"{between.other} against {between.base}"
            if between.of == RUNS:
                raise RequestError(
                    f"--fail-if: {what} has single repetitions only; hint: repeat them, count = 5 or more"
                )
            raise RequestError(
                f"--fail-if: {what} has no verdict: it takes {LEAST_RUNS} runs a side; hint: give directories of runs, "
                "or --of runs to judge these two runs alone"
            )
