"""What comes after a run: the analysis, the report, the summary, the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonnage.analysis import Analysis, analyse
from tonnage.analysis.summary import summary
from tonnage.campaign.session import Outcome
from tonnage.cli.entry import complain
from tonnage.cli.stream import is_plain
from tonnage.errors import MeasurementError, TonnageError
from tonnage.records import Run, RunWriter, Tasks, Trials
from tonnage.records.chain import sha256
from tonnage.records.names import MANIFEST

if TYPE_CHECKING:
    from rich.console import Console


def conclude(outcome: Outcome, *, as_json: bool, with_report: bool, keep_line: bool) -> int:
    """Analyses the run, writes its report, prints the result; the exit code of the command.

    ``keep_line``: the load line of a search that came to its end is kept for placement.
    """
    run = Run.open(outcome.path)
    if run.has_trials():
        analysis, _ = present(outcome.path, as_json=as_json, with_report=with_report, keep=True)
        if keep_line and outcome.state == "complete" and run.manifest.get("search"):
            _keep_line(run, analysis)
    for failure in outcome.failed:
        print(f"tonnage: failed: {failure}", file=sys.stderr)
    if Run.open(outcome.path).is_sealed:
        data = (outcome.path / MANIFEST).read_bytes()
        print(f"tonnage: sealed: the SHA-256 of {outcome.path / MANIFEST} is {sha256(data)}", file=sys.stderr)
    for trouble in outcome.troubles:
        complain(trouble, 1)
    if outcome.state == "interrupted":
        return complain(
            f"interrupted; the records so far are in {outcome.path}; "
            f"hint: go on with `tonnage run --resume {outcome.path}`",
            130,
        )
    if outcome.failed:
        count = len(outcome.failed)
        raise MeasurementError(
            f"{count} trial{'s' if count != 1 else ''} failed; "
            f"hint: the reasons are above and in {outcome.path}/trials.jsonl"
        )
    return outcome.exit_code


def _keep_line(run: Run, analysis: Analysis) -> None:
    from tonnage.placement.keeping import keep_found

    kept = keep_found(run, analysis)
    if kept.problem:
        print(f"tonnage: the load line was not kept: {kept.problem}", file=sys.stderr)
    elif kept.lines:
        found = ", ".join(f"{line.operation} {line.tasks}" for line in kept.lines)
        print(f"tonnage: kept the load line for placement ({found} tasks) in {kept.directory}", file=sys.stderr)


def present(path: Path, *, as_json: bool, with_report: bool, keep: bool = False) -> tuple[Analysis, Path | None]:
    """Prints what the run says, and gives it and where the report is (None: it was not written).

    ``keep``: and puts it into the manifest, for ``tonnage verify`` to compare with.
    """
    run = Run.open(path)
    trials, tasks = run.each_trial(), run.each_task()
    analysis = analyse(run, trials, tasks)
    report = _report(run, analysis, trials, tasks) if with_report else None
    if keep:
        # Not taken up again: it has just ended well, and reading all of it once more may take longer than the rest.
        RunWriter(run.path, run.manifest).update_manifest(summary=summary(analysis, report))
    if as_json:
        print_json(summary(analysis, report))
        return analysis, report
    from tonnage.report import print_summary

    print_summary(analysis, console(), report)
    return analysis, report


def console() -> Console:
    """Of stdout, as it takes it."""
    from tonnage.cli.terminal import rich_console

    return rich_console(sys.stdout, has_colours=not is_plain(sys.stdout))


def _report(run: Run, analysis: Analysis, trials: Trials, tasks: Tasks) -> Path | None:
    """The report's path; None, with the reason on stderr, where it cannot be drawn: the records are what matters."""
    from tonnage.report.page import write_page

    try:
        return write_page(run, analysis, trials, tasks)
    except TonnageError as error:
        print(f"tonnage: no report: {error}", file=sys.stderr)
    except OSError as error:
        print(f"tonnage: no report: cannot write it into {run.path}: {error.strerror}", file=sys.stderr)
    return None


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
