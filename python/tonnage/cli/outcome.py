"""What comes after a run: the analysis, the report, the summary, the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonnage.analysis import Analysis
from tonnage.analysis.summary import summary
from tonnage.campaign.session import Outcome
from tonnage.cli.entry import complain
from tonnage.cli.stream import is_plain
from tonnage.errors import MeasurementError
from tonnage.measuring import analysed, keep_load_line
from tonnage.records import Run
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
            keep_load_line(run, analysis, _tell)
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


def present(path: Path, *, as_json: bool, with_report: bool, keep: bool = False) -> tuple[Analysis, Path | None]:
    """Prints what the run says, and gives it and where the report is (None: it was not written).

    ``keep``: and puts it into the manifest, for ``tonnage verify`` to compare with.
    """
    analysis, report = analysed(path, with_report=with_report, keep=keep, tell=_tell)
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


def _tell(text: str) -> None:
    print(f"tonnage: {text}", file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
