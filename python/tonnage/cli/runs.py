"""Run directories that a user names; and what comes after a run: analysis, report, summary, exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.analysis.summary import summary
from tonnage.cli.entry import complain
from tonnage.errors import MeasurementError, RecordError, RequestError
from tonnage.measuring import Analysed, analysed, keep_company, keep_load_line, kept_texts
from tonnage.printable_text import typed
from tonnage.records import Run
from tonnage.records.file_names import MANIFEST
from tonnage.records.hash_chain import sha256
from tonnage.records.verify_bytes import altered
from tonnage.units import plural

if TYPE_CHECKING:
    from rich.console import Console

    from tonnage.analysis.findings.undoing import Undone
    from tonnage.campaign.run_lifecycle import Outcome
    from tonnage.cli.command import Arguments
    from tonnage.report.answer import Answer


def conclude(outcome: Outcome, *, as_json: bool, with_report: bool, keep_line: bool, is_verbose: bool) -> int:
    """Analyses the run, writes its report, prints the result; the exit code of the command.

    ``keep_line``: the load line of a search that came to its end is kept for placement.
    """
    # Of those that read a run, only this one needs them.
    from tonnage.placement.server_load_lines import KeepPlan, plan_kept_lines

    run, is_report_missing = Run.open(outcome.path), False
    if run.has_trials():
        found = analysed(outcome.path, with_report=with_report, keep=True, tell=_tell)
        analysis, is_report_missing = found.analysis, found.is_report_missing
        plan = KeepPlan()
        if keep_line and outcome.state == "complete" and run.manifest.get("search"):
            plan = plan_kept_lines(run, analysis)
        # What follows on stderr is on the same screen.
        below = kept_texts(plan, next(iter(plan.directories), None))
        below += [_sealed(outcome.path, _DIGITS)] if run.is_sealed else []
        _show(found, as_json=as_json, is_verbose=is_verbose, below=below)
        keep_load_line(plan, _tell)
        if keep_line and outcome.state == "complete":
            keep_company(run, analysis, _tell)
    for failure in outcome.failed:
        print(f"tonnage: failed: {failure}", file=sys.stderr)
    if Run.open(outcome.path).is_sealed:
        _tell(_sealed(outcome.path, sha256((outcome.path / MANIFEST).read_bytes())))
    for trouble in outcome.troubles:
        complain(trouble, 1)
    if outcome.state == "interrupted":
        return complain(
            f"interrupted; the records so far are in {outcome.path}; "
            f"hint: go on with `tonnage run --resume {typed(outcome.path)}`",
            130,
        )
    if outcome.failed:
        count = len(outcome.failed)
        raise MeasurementError(
            f"{plural(count, 'trial')} failed; hint: the reasons are above and in {outcome.path}/trials.jsonl"
        )
    return outcome.exit_code or int(is_report_missing)


def present(
    path: Path,
    *,
    as_json: bool,
    with_report: bool,
    keep: bool = False,
    is_verbose: bool = False,
    altered: str | None = None,
) -> Analysed:
    """Prints what the run says, and returns it.

    ``is_verbose``: all of it, also of a search, of which else a screen is printed. ``keep``: and puts it into the
    manifest, for ``tonnage verify`` to compare with. ``altered``: what of it is not as it was sealed.
    """
    found = analysed(path, with_report=with_report, keep=keep, tell=_tell)
    _show(found, as_json=as_json, is_verbose=is_verbose, altered=altered)
    return found


def _show(
    found: Analysed,
    *,
    as_json: bool,
    is_verbose: bool,
    below: Sequence[str] = (),
    altered: str | None = None,
) -> None:
    """``below``: notes that the terminal will have below it."""
    analysis, report = found.analysis, found.report
    if as_json:
        print_json(summary(analysis, report) | ({"altered": altered} if altered else {}))
        return
    from tonnage.report import print_screen, print_summary

    manifest = Run.open(analysis.run).manifest
    fits_a_screen = bool(
        manifest.get("search") or manifest.get("accelerators") or manifest.get("users") or analysis.company
    )
    if fits_a_screen and not is_verbose:
        print_screen(analysis, console(), report, [_note(text) for text in below])
    else:
        print_summary(analysis, console(), report)


_DIGITS = "0" * 64
"""As many as a hash has."""


def _sealed(path: Path, digest: str) -> str:
    return f"sealed: the SHA-256 of {path / MANIFEST} is {digest}"


def _note(text: str) -> str:
    return f"tonnage: {text}"


def console() -> Console:
    """Of stdout, as it takes it."""
    from tonnage.cli.terminal import rich_console

    return rich_console(sys.stdout)


def _tell(text: str) -> None:
    print(_note(text), file=sys.stderr)


def print_json(value: Mapping[str, object]) -> None:
    """Prints one object on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show_answer(shown: Answer, value: Callable[[], Mapping[str, object]], arguments: Arguments) -> None:
    """Writes the page of ``--out``, and prints the answer, or with ``--json`` the object that ``value`` makes."""
    if arguments.out is not None:
        from tonnage.report.page import write_answer

        write_answer(shown, arguments.out)
    if arguments.json:
        print_json(value())
    else:
        from tonnage.report.terminal import print_answer

        print_answer(shown, console())


def open_run(path: str) -> Run:
    """The run in ``path``; RequestError if it is none: the request was wrong, not a measurement."""
    try:
        return Run.open(path)
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None


def sealed_run(path: str) -> Run:
    """The same; RecordError where its figures are not those that were sealed when it ended."""
    run = open_run(path)
    wrong = altered(run)
    if wrong is not None:
        raise RecordError(f"{path}: {wrong}; hint: `tonnage verify {typed(path)}` tells all that differs")
    return run


def runs_in(paths: Sequence[str]) -> list[Run]:
    """Those named, and those in directories named, by name. What cannot be read of the latter, or was altered since it
    was sealed, is reported on stderr and left out; RequestError where a directory has none, RecordError where one that
    was named was altered."""
    found: list[Run] = []
    for path in map(Path, paths):
        if (path / MANIFEST).exists() or not path.is_dir():
            found.append(sealed_run(str(path)))
            continue
        inside = [child for child in sorted(path.iterdir()) if (child / MANIFEST).exists()]
        if not inside:
            raise RequestError(f"{path} is no run directory, and none is in it; hint: tonnage run and probe make them")
        before = len(found)
        for child in inside:
            try:
                run = sealed_run(str(child))
                run.trials()
            except (RecordError, RequestError) as error:
                print(f"tonnage: left out: {error}", file=sys.stderr)
            else:
                found.append(run)
        if len(found) == before:
            raise RequestError(f"no run in {path} can be read; hint: tonnage verify tells what is wrong with each")
    return found


def once(groups: Sequence[Sequence[Run]]) -> list[list[Run]]:
    """Each run once, where it was first given: a directory and a run in it are not two measurements of that run, nor
    is a copy of a run, which is reported on stderr."""
    seen: dict[object, Run] = {}
    found: list[list[Run]] = []
    for group in groups:
        new = []
        for run in group:
            first = seen.setdefault(_identity(run), run)
            if first is run:
                new.append(run)
            elif first.path.resolve() != run.path.resolve():
                print(f"tonnage: left out: {run.path} is a copy of {first.path}", file=sys.stderr)
        found.append(new)
    return found


def repeated_runs(sides: Sequence[Sequence[Run]]) -> list[Path]:
    """Runs of a later side that are, or are copies of, some of the first."""
    first = set(map(_identity, sides[0]))
    return [run.path for side in sides[1:] for run in side if _identity(run) in first]


def same_runs(one: Iterable[Run], other: Iterable[Run]) -> bool:
    """Whether two sides are the same runs, or copies of them."""
    return set(map(_identity, one)) == set(map(_identity, other))


def _identity(run: Run) -> object:
    identity = run.manifest.get("run_id"), run.manifest.get("created")
    return identity if all(identity) else run.path.resolve()


def tell_undone(undone: Iterable[Undone]) -> None:
    """``--fail-if`` judges figures: findings that invalidate them are reported on stderr, because a pipeline shows no
    colours."""
    from tonnage.report.phrases import undone as sentences

    for text in sentences(tuple(undone)):
        _tell(f"in doubt: {text}")


def failed_text(names: Sequence[str], where: str) -> str:
    """Returns text such as ``1 setting failed in new: write, 4 tasks``."""
    return f"{plural(len(names), 'setting')} failed in {where}: {'; '.join(names)}"


def failing(asked: str | None) -> tuple[str, ...]:
    """The verdicts that ``--fail-if`` names."""
    return () if asked is None else ("faster", "slower") if asked == "changed" else (asked,)
