"""Score, hash and the lines of a result are the original's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tonnage.analysis.io500 import Benchmark, PhaseFigure, Spread, carried, missing_of, score_of
from tonnage.io500 import result_directory
from tonnage.io500.phase_commands import STEPS
from tonnage.io500.result_directory import ResultDirectory, score_hash, summary_line
from tonnage.report.answers.io500 import answer

RECORDED = Path(__file__).parent / "recorded"


def recorded() -> list[PhaseFigure]:
    text = (RECORDED / "result.txt").read_text()
    found = []
    for name, body in re.findall(r"^\[([a-zA-Z0-9-]+)\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL):
        step = next((step for step in STEPS if step.name == name), None)
        if step is None:
            continue
        pairs = dict(re.findall(r"^(\S+) += (\S+)", body, re.MULTILINE))
        problems = tuple(re.findall(r"^; ERROR INVALID (.*)$", body, re.MULTILINE))
        value, seconds = float(pairs.get("score", 0)), float(pairs["t_delta"])
        found.append(PhaseFigure(name, step.group, step.unit, value, seconds, problems=problems))
    return found


def test_the_score_of_the_original_s_figures_is_the_original_s() -> None:
    score = score_of(recorded())
    # Its figures stand there with six places.
    assert abs(score.metadata - 18.838549) < 1e-4 * 18
    assert abs(score.bandwidth - 0.283375) < 1e-5
    assert abs(score.total - 2.310491) < 1e-4


def test_the_hash_is_the_original_s() -> None:
    found = 0
    figures = recorded()
    for key, value in [
        ("version", "peer"),
        *((figure.name, f"{figure.value:f}") for figure in figures if figure.group),
        ("MD", "18.838549"), ("BW", "0.283375"), ("SCORE", "2.310491"), ("valid", "NO"),
    ]:  # fmt: skip
        found ^= result_directory.hash_text(value, result_directory.hash_text(key))
    assert f"{found:X}" == "37DE7166"
    valid, invalid = (score_hash(figures, score_of(figures), is_valid) for is_valid in (True, False))
    assert valid ^ invalid == result_directory.hash_text("NO", result_directory.hash_text("valid"))


def test_a_line_of_the_summary_is_the_original_s() -> None:
    told = (RECORDED / "result_summary.txt").read_text().splitlines()
    for figure in recorded():
        line = summary_line(figure)
        assert re.sub(r"time [0-9.]+", "time", line) in {re.sub(r"time [0-9.]+", "time", one) for one in told}


def test_a_phase_without_a_figure_is_in_no_mean() -> None:
    figures = recorded()
    without = [figure for figure in figures if figure.name != "find"]
    zero = PhaseFigure("find", "MD", "kIOPS", 0.0, 0.0, problems=("it failed",))
    assert score_of([*without, zero]) == score_of(without)
    find = next(figure for figure in figures if figure.name == "find")
    assert carried(figures, find) == score_of(figures).total / score_of(without).total
    assert carried([*without, zero], zero) is None
    assert missing_of(figures) == ()
    assert missing_of([*without, zero]) == ("find",)


def test_without_a_phase_that_counts_there_is_no_score() -> None:
    less = tuple(one for one in recorded() if one.name != "ior-hard-read")
    found = Benchmark("results", 2, "standard", 1, (less, less))
    assert found.score is None
    assert found.missing == ("ior-hard-read",)
    told = answer(found)
    assert told.statements[0].text.startswith("score: none. Phases that count are missing: ior-hard-read.")
    assert not told.statements[0].sure
    assert "carries" not in " ".join(statement.name for statement in told.statements)


def test_the_phases_of_the_extended_mode_are_in_no_score() -> None:
    figures = recorded()
    more = PhaseFigure("find-easy", "MD", "kIOPS", 1e6, 1.0)
    found = Benchmark("results", 2, "extended", 1, ((*figures, more),))
    assert found.score is not None
    assert found.score.values == (score_of(figures).total,)


def test_repetitions_have_an_interval_and_one_has_none() -> None:
    one = Spread.of([2.0])
    assert (one.low, one.high, one.has_interval) == (2.0, 2.0, False)
    several = Spread.of([1.0, 2.0, 4.0])
    assert several.has_interval
    assert several.low < 2.0 < several.high
    assert Spread.of([0.0, 2.0]).low == 0.0


def test_a_repetition_without_some_phases_is_in_no_score_over_repetitions() -> None:
    whole = tuple(recorded())
    less = tuple(replace(one, value=0.0) if one.name == "ior-easy-write" else one for one in whole)
    found = Benchmark("results", 2, "standard", 1, (less, whole))
    assert found.score is not None
    assert found.score.values == (score_of(whole).total,)
    assert not found.score.has_interval
    assert "1 of 2 repetitions; the others lack ior-easy-write" in answer(found).statements[0].text


def test_the_page_says_what_carries_the_score_and_that_it_is_no_submission() -> None:
    found = Benchmark("results", 2, "standard", 1, (tuple(recorded()),), ("stonewall-time is 1 s",))
    told = answer(found)
    text = " ".join(statement.text for statement in told.statements)
    assert "find raises the score most" in text
    assert "no official submission" in " ".join(told.notes)
    assert not told.statements[0].sure
    assert [row[0] for row in told.tables[0][1].rows] == [one.name for one in recorded() if one.name != "timestamp"]


def test_a_result_directory_is_written_in_the_original_s_shape(tmp_path: Path) -> None:
    from tonnage.io500.config import read_config

    files = ResultDirectory(tmp_path, "./results/x")
    config = read_config(str(RECORDED / "config.ini"))
    files.begin(config, 2, "standard", ["stonewall-time is 1 s"])
    for figure in recorded():
        files.phase(next(step for step in STEPS if step.name == figure.name), figure, "2026-11-26 19:34:47", [])
    files.conclude(recorded(), "standard", ["stonewall-time is 1 s"])

    def shape(path: Path) -> list[str]:
        lines = [line for line in path.read_text().splitlines() if not line.startswith(";")]
        keys = [re.sub(r"=.*", "=", re.sub(r"[0-9.:-]{2,}.*", "#", line)) for line in lines if line]
        return [key for key in keys if not key.startswith(("exe", "throughput-", "rate-", "nproc", "found", "total-"))]

    assert shape(tmp_path / "result.txt") == shape(RECORDED / "result.txt")
    ours, theirs = (place / "result_summary.txt" for place in (tmp_path, RECORDED))
    assert [line.split()[:3] for line in ours.read_text().splitlines()[1:]] == [
        line.split()[:3] for line in theirs.read_text().splitlines()[1:]
    ]
