"""The score of the IO500 results that a run was imported from."""

from __future__ import annotations

from tonnage import units
from tonnage.analysis.io500 import Imported, Spread, scores_of
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.sections.section_type import Section


def sentences(analysis: Analysis) -> list[Statement]:
    """One for each number of tasks: the score of each result, or the median of several with its interval; or why there
    is none."""
    is_invalid = any(finding.code == "marked-invalid" for finding in analysis.findings)
    return [_statement(tasks, found, is_invalid) for tasks, found in scores_of(analysis.points).items()]


def _statement(tasks: int, found: Imported, is_invalid: bool) -> Statement:
    if found.missing:
        missing = f"phases that count are missing: {', '.join(found.missing)}."
        return Statement("IO500 score", f"none at {phrases.tasks(tasks)}.", (missing,), sure=False)
    scores = found.scores
    total, metadata, bandwidth = (
        Spread.of([getattr(score, key) for score in scores]) for key in ("total", "metadata", "bandwidth")
    )
    why = [f"Bandwidth {_text(bandwidth)} GiB/s, metadata {_text(metadata)} kIOPS."]
    if not total.has_interval:
        why.append("One result has no interval: import several together.")
    if is_invalid:
        why.append("IO500 marked a result as invalid: by the rules of the benchmark it has no score.")
    mark, is_sure = " [INVALID]" if is_invalid else "", total.has_interval and not is_invalid
    return Statement("IO500 score", f"{_text(total)}{mark} at {phrases.tasks(tasks)}.", tuple(why), is_sure)


def _text(spread: Spread) -> str:
    middle = units.significant(spread.median)
    if not spread.has_interval:
        return middle
    return f"{middle} [{units.interval(spread.low, spread.high, units.significant, ', ')}]"


SECTION = Section("io500", sentences=sentences)
