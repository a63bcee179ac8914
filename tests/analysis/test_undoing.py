"""Which findings undo which answers: on all of a run, on one curve, or on none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tonnage.analysis.findings.undoing import OF_CURVE, OF_RUN, doubts, undone_by
from tonnage.analysis.results import Finding
from tonnage.records import Trials

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

import report_sample as sample

ROOT = Path(__file__).parents[2]


def finding(code: str, subject: str) -> Finding:
    return Finding(code, subject, "seen", "do")


def undone(*found: Finding, confidence: float = 0.95) -> dict[str, list[str]]:
    """The codes by load line of the usual run."""
    whole = sample.whole()[0]
    lines = tuple(sample.line(op, confidence=confidence) for op in ("write", "read"))
    every = doubts(found, whole.points, lines, Trials.of(()))
    return {op: [one.code for one in undone_by(every, op, "")] for op in ("write", "read")}


@pytest.mark.parametrize("code", sorted(OF_RUN))
def test_what_is_of_the_run_undoes_every_answer(code: str) -> None:
    assert undone(finding(code, "anything")) == {"write": [code], "read": [code]}


@pytest.mark.parametrize("code", sorted(OF_CURVE - {"single-repetition"}))
@pytest.mark.parametrize("subject", ["read", "read, 8 tasks"])
def test_what_is_of_a_curve_undoes_its_answer_alone(code: str, subject: str) -> None:
    assert undone(finding(code, subject)) == {"write": [], "read": [code]}


def test_a_subject_that_only_begins_alike_is_another_one() -> None:
    assert undone(finding("cache-read", "read, random")) == {"write": [], "read": []}


def test_a_point_beside_the_answer_may_have_been_measured_once() -> None:
    single = finding("single-repetition", "read")
    assert undone(single)["read"] == []
    assert undone(single, confidence=0.0)["read"] == ["single-repetition"]


def test_what_only_tells_of_a_measurement_undoes_nothing() -> None:
    assert undone(finding("unsteady", "read"), finding("load-present", "host")) == {"write": [], "read": []}


def test_all_of_these_codes_are_findings() -> None:
    assert all((ROOT / "python/tonnage/explained" / f"{code}.md").is_file() for code in OF_RUN | OF_CURVE)
