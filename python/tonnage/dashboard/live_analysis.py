"""The analysis of a run so far, as its report would show it now: its findings, its answer, its load line figure."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from tonnage.analysis import analyse
from tonnage.dashboard.run_files import check_plain, unforeseen
from tonnage.dashboard.timeline import DrawnFigure, plain
from tonnage.errors import RecordError
from tonnage.records import Run
from tonnage.report.sections import live_exhibits, sentences_of

_MOST = 8
"""Sentences, and figures of load lines, that a live page shows."""


def load_analysis() -> None:
    """Imports what the first judgement would wait for."""
    import numpy as np  # noqa: F401


class FindingText(TypedDict):
    """A finding so far."""

    code: str
    subject: str
    evidence: str
    advice: str


class SaidLine(TypedDict):
    """A sentence so far."""

    said: str
    sure: bool


class Judgement(TypedDict):
    """As the page's script shows it."""

    problem: str | None
    """Why there is nothing."""
    findings: list[FindingText]
    lines: list[SaidLine]
    figures: list[DrawnFigure]


def judge(path: Path) -> Judgement:
    """As the page's script shows it; ``problem`` says why there is nothing. May take seconds where a run is long."""
    try:
        check_plain(path)
        found = analyse(Run.open(path))
    except (RecordError, OSError) as error:
        return _nothing(str(error))
    except Exception as error:
        # Records of any make are judged: what no rule foresaw must not end the page.
        return _nothing(unforeseen(error, path))
    exhibits = live_exhibits(found)[:_MOST]
    return {
        "problem": None,
        "findings": [
            {"code": one.code, "subject": one.subject, "evidence": one.evidence, "advice": one.advice}
            for one in found.findings
        ],
        "lines": [{"said": statement.text, "sure": statement.sure} for statement in sentences_of(found)[:_MOST]],
        "figures": [
            {**plain(figure), "title": exhibit.title}
            for exhibit in exhibits
            for figure in exhibit.variants[exhibit.default].figures[:1]
        ],
    }


def _nothing(problem: str) -> Judgement:
    return {"problem": problem, "findings": [], "lines": [], "figures": []}
