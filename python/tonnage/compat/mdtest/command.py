"""From mdtest's command line to a campaign, and from its records to mdtest's tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path

from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import refuse_odd_name
from tonnage.campaign.run_lifecycle import Outcome
from tonnage.compat.front_end import Voice, parse_arguments
from tonnage.compat.mdtest import text_output
from tonnage.compat.mdtest.options import MDTEST
from tonnage.compat.mdtest.request import OPERATIONS_MOST, Request, campaign_of, tree_name, understand
from tonnage.compat.mdtest.results import TESTS, Results, results
from tonnage.compat.mdtest.text_output import refuse_foreign, save
from tonnage.compat.measure import Finding, HeaderObserver, Ranks, conclude, in_option_names, measure, records_directory
from tonnage.errors import RequestError
from tonnage.records import Run
from tonnage.records.line_types import TrialLine
from tonnage.toml_documents import read_text

_WORDS = {
    "fewer items, smaller files or fewer tasks, or another target": "a smaller -n, -w or --tasks, or another -d",
    "fewer items, files or tasks, or another target": "a smaller -n or --tasks, or another -d",
    "mdtest: workload.items_per_directory": "-n",
    "mdtest: workload.tasks": "--tasks",
    "leave direct out": "leave --posix.odirect out",
    "another file size": "another -w",
}
"""What the messages of a campaign name → mdtest's options."""
_MEAN_DIFFERS = 0.05
"""Share by which a mean of rates may be off before it is reported."""


def run(words: Sequence[str], observer: Observer, voice: Voice, out: str | None = None) -> int:
    """Exit code. ``out``: the run directory; None: as :func:`records_directory` says."""
    asked = parse_arguments(MDTEST, words)
    ranks = Ranks.here()
    if ranks.hosts and not any(word.startswith("--tasks") for word in words):
        asked["--tasks"] = ranks.default
    request = understand(asked, tuple(words), ranks)
    made = None if request.create else read_status(request.status_file)
    campaign = campaign_of(request, made)
    ours: list[Path] = []
    try:
        for name in request.places:
            refuse_odd_name(Path(name))
        _make_directories(request, ours)
        _refuse_trees(request)
        refuse_foreign(request)
        with in_option_names(_WORDS, "mdtest"):
            return _measure(request, campaign, made, observer, voice, out or records_directory())
    finally:
        for place in ours:
            # What is in it stays, and so does the directory then.
            with suppress(OSError):
                place.rmdir()


def _measure(
    request: Request,
    campaign: Mapping[str, object],
    made: int | None,
    observer: Observer,
    voice: Voice,
    base: str | None,
) -> int:
    outcomes, lines = _carry_out(request, campaign, HeaderObserver(text_output.header(request), voice, observer), base)
    items = request.items if made is None else made
    found = results([Run.open(outcome.path) for outcome in outcomes], request)
    for part in found:
        voice.say(text_output.count(request, part.tasks, items))
        for line in text_output.commands(request, part):
            voice.say(line)
        for stopped in stonewalls(part):
            voice.say(text_output.stonewall(stopped))
        for line in text_output.tables(request, part):
            voice.say(line)
    if damage := text_output.damage(lines):
        voice.say(damage)
    voice.say(f"-- finished at {text_output.now()} --\n")
    failed = save(request, found, items)
    for failure in failed:
        voice.tell(f"mdtest: failed: {failure}")
    *before, last = outcomes
    codes = [conclude("mdtest", outcome, (), voice) for outcome in before]
    codes.append(conclude("mdtest", last, findings(request, found), voice))
    return max(codes) or (1 if failed else 0)


def _carry_out(
    request: Request, campaign: Mapping[str, object], observer: Observer, base: str | None
) -> tuple[list[Outcome], list[TrialLine]]:
    """How each run ended, and the trials of all. A run has one place: iterations with trees of their own are a run
    each, and the first that fails is the last."""
    outcomes: list[Outcome] = []
    lines: list[TrialLine] = []
    for iteration in range(request.iterations if request.keeps_trees else 1):
        place = {"name": tree_name(iteration), "fresh": request.create, "keep": not request.remove}
        whole = campaign if request.dummy else {**campaign, "place": place}
        out = str(Path(base, f"iteration-{iteration}")) if base and request.keeps_trees else base
        outcome, measured, _ = measure("mdtest", whole, request.words, observer, out)
        outcomes.append(outcome)
        lines += measured
        if outcome.exit_code:
            break
    return outcomes, lines


def _make_directories(request: Request, made: list[Path]) -> None:
    """Makes the directories of ``-d`` that are not there, as mdtest does; those it made are added to ``made``."""
    for path in () if request.dummy else map(Path, request.places):
        try:
            if path.is_dir():
                continue
            if not request.create:
                raise RequestError(f"mdtest -d: there is no {path}; hint: create what is to be measured first")
            path.mkdir()
        except OSError as error:
            where = "give a directory in which you may create files"
            hint = f"make {path.parent} first" if isinstance(error, FileNotFoundError) else where
            raise RequestError(f"mdtest -d: cannot make {path}: {error.strerror}; hint: {hint}") from None
        made.append(path)


def _refuse_trees(request: Request) -> None:
    """RequestError where a tree of a later iteration stands in the way, or is missing: nothing is measured before."""
    for place, iteration in product(request.places, range(1, request.iterations if request.keeps_trees else 1)):
        tree = Path(place, tree_name(iteration))
        if request.create and os.path.lexists(tree):
            raise RequestError(f"mdtest -i: {tree} is there already; hint: remove it with -i {iteration + 1} -r first")
        if not request.create and not tree.is_dir():
            raise RequestError(f"mdtest -i: there is no {tree}; hint: create it with -i {iteration + 1} -C first")


def read_status(path: str | None) -> int | None:
    """Files of each task that an earlier run created, from its status file; None where there is no file named."""
    if path is None:
        return None
    try:
        words = read_text(Path(path)).split()
    except (OSError, ValueError):
        words = []
    if len(words) != 1 or not words[0].isdigit() or int(words[0]) < 1:
        raise RequestError(
            f"mdtest -x: {path} does not hold a number of files; hint: make it with -C -W SECONDS -x {path}"
        )
    return int(words[0])


def stonewalls(found: Results) -> Iterator[list[int]]:
    """Files of each task when the time was up, for each creation that it ended."""
    for (phase, _), test in found.tests.items():
        if phase == "create" and test.line["stop_reason"] == "time":
            yield [task.operations if task.at_limit is None else task.at_limit for task in test.tasks]


def findings(request: Request, found: Sequence[Results]) -> Iterator[Finding]:
    """What mdtest's tables do not tell."""
    for part in found:
        for phase, name in TESTS.items():
            tests = [test for (of, _), test in part.tests.items() if of == phase]
            seconds = sum(test.seconds for test in tests)
            if not seconds:
                continue
            counted = sum(test.counted for test in tests)
            mean, true = sum(part.rates(phase)) / part.iterations, counted / seconds
            if len(tests) > 1 and abs(mean / true - 1) > _MEAN_DIFFERS:
                yield Finding(
                    "mean-of-rates",
                    f"{name}: the Mean {mean:.3f} is of rates; all operations by all time are {true:.3f} ops/sec",
                )
        if trees := part.tests.get(("make-tree", 0)):
            yield from _trees(request, part.tasks, trees.operations / trees.seconds)
        if request.shared and part.tasks > 1 and (removal := part.tests.get(("remove", 0))):
            rate = removal.operations / removal.seconds
            yield Finding(
                "shared-removal",
                f"File removal counts {part.tasks} times what one task removed; the true rate is {rate:.3f} ops/sec",
            )
        if request.operations_files and any(
            task.operations > OPERATIONS_MOST for test in part.tests.values() for task in test.tasks
        ):
            yield Finding("operations-cut", f"the CSV files have the first {OPERATIONS_MOST} operations of each task")
    if request.times:
        yield Finding(
            "time-of-the-phase", "the times are the seconds of each whole phase, not ms/op as the heading says"
        )


def _trees(request: Request, tasks: int, rate: float) -> Iterator[Finding]:
    """Where mdtest counts one of several trees. ``rate``: of all directories."""
    if request.unique and tasks > 1:
        counted, made = "the tree of one task", f"all {tasks} trees were"
    elif request.trees > 1:
        counted, made = f"one of {request.trees} directories", "all of them, and the one that they are in, were"
    else:
        return
    yield Finding("one-tree-counted", f"Tree creation counts {counted}; {made} made at {rate:.3f} ops/sec")
