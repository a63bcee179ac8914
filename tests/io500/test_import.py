"""Results of IO500's own programs become runs, whatever year they are of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.cli import main
from tonnage.importers.file_kinds import kinds_of
from tonnage.importers.io500 import read
from tonnage.records import Run
from tonnage.report.sections import sentences_of

RECORDED = Path(__file__).parent / "recorded"


def test_a_result_of_the_original_keeps_its_figures_and_its_score(tmp_path: Path) -> None:
    assert main(["import", "io500", str(RECORDED), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    run = Run.open(tmp_path / "run")
    lines = {line["setting"]["workload"]: line for line in run.trials()}
    assert len(lines) == 13
    write = lines["ior-easy-write"]
    assert (write["setting"]["tasks"], write["setting"]["transfer_size"], write["phase"]) == (2, 2 << 20, "write")
    assert abs(write["bytes"] / (write["elapsed_ns"] or 1) * 1e9 / 2**30 - 0.109153) < 1e-5
    assert lines["find"]["operations_per_s"] == pytest.approx(1138808, rel=1e-3)
    # result.txt says how many files the search looked at.
    assert (lines["find"]["operations"], lines["find"]["elapsed_ns"]) == (
        1003,
        pytest.approx(1003e6 / 1138.808, rel=1e-3),
    )
    assert not write["facts"]["valid"] and lines["find"]["facts"]["valid"]
    told = {said.name: said for said in sentences_of(analyse(run))}["IO500 score"]
    assert told.sentence == "2.31 [INVALID] at 2 tasks."
    assert told.why[0] == "Bandwidth 0.283 GiB/s, metadata 18.8 kIOPS."
    assert not told.sure
    # No path with its time stamp keeps it from another result.
    assert "2026.11.26" not in json.dumps([line["setting"] for line in lines.values()])
    assert run.manifest["target"]["name"] == "./data"


def test_the_summary_has_the_same_phases_without_their_tasks() -> None:
    whole = read((RECORDED / "result.txt").read_bytes(), "result.txt").phases
    short = read((RECORDED / "result_summary.txt").read_bytes(), "result_summary.txt").phases
    assert [phase.setting["workload"] for phase in short] == [phase.setting["workload"] for phase in whole]
    assert [phase.facts for phase in short] == [phase.facts for phase in whole]
    for one, other in zip(short, whole, strict=True):
        # Times of a thousandth of a second are rounded there to one digit; of the search it is that of the whole phase.
        assert one.elapsed_ns == pytest.approx(other.elapsed_ns, rel=0.2 if one.phase == "find" else 0.1)


def test_a_summary_of_2019_is_read() -> None:
    found = read((RECORDED / "summary-2019.txt").read_bytes(), "x")
    assert not found.problems
    assert len(found.phases) == 12
    first = found.phases[0]
    assert (first.setting["workload"], first.phase) == ("ior-easy-write", "write")
    assert first.bytes == pytest.approx(8.5 * 2**30 * 320.25, rel=1e-6)


@pytest.mark.parametrize("name", ["result.txt", "result_summary.txt"])
def test_what_the_benchmark_marked_as_invalid_is_told_and_nothing_else(name: str) -> None:
    text = (RECORDED / name).read_text()

    def marked(text: str) -> set[bool]:
        phases = read(text.encode(), name).phases
        return {"marked-invalid" in {note.code for note in phase.notes} for phase in phases}

    assert marked(text) == {True}
    reasons = [line for line in text.splitlines() if not line.startswith("; ERROR INVALID")]
    valid = "\n".join(line.removesuffix(" [INVALID]") for line in reasons) + "\n"
    assert marked(valid) == {False}
    # Only the score is marked where the configuration as a whole breaks the rules.
    score = next(line for line in valid.splitlines() if line.startswith(("SCORE  ", "[SCORE ]")))
    assert marked(valid.replace(score, f"{score} [INVALID]")) == {True}


def test_a_find_has_a_row_as_every_phase_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "io500", str(RECORDED), "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^find \(find\)\nphase .*\nfind +2 +1\.14 M/s ", printed, re.MULTILINE)
    assert "the fastest is find at 1.14 M/s" in (tmp_path / "run/report.html").read_text()


def test_several_results_give_the_score_an_interval(tmp_path: Path) -> None:
    text = (RECORDED / "result.txt").read_text()
    for number, factor in enumerate((1.0, 1.1, 0.9, 1.05)):
        place = tmp_path / f"2026.11.2{number}-00.00.00"
        place.mkdir()
        stamped = text.replace("2026.11.26-19.40.00", place.name).replace("0.109153", f"{0.109153 * factor:.6f}")
        (place / "result.txt").write_text(stamped)
    results = [str(path) for path in sorted(tmp_path.iterdir())]
    assert main(["import", "io500", *results, "--out", str(tmp_path / "run"), "--no-report"]) == 0
    told = {said.name: said for said in sentences_of(analyse(Run.open(tmp_path / "run")))}["IO500 score"]
    assert told.sentence.startswith("2.3") and "[" in told.sentence


def test_a_result_that_lacks_a_phase_has_no_score(tmp_path: Path) -> None:
    text = (RECORDED / "result.txt").read_text()
    (tmp_path / "result.txt").write_text(text.partition("[find]")[0] + "[SCORE]\n")
    assert main(["import", "io500", str(tmp_path), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    told = {said.name: said for said in sentences_of(analyse(Run.open(tmp_path / "run")))}["IO500 score"]
    assert told.sentence == "none at 2 tasks."
    assert told.why[0].startswith("phases that count are missing: find, ior-easy-read, mdtest-easy-stat, ")
    assert not told.sure


@pytest.mark.parametrize("name", ["result.txt", "result_summary.txt", "summary-2019.txt"])
def test_a_result_is_known_by_what_is_in_it(name: str) -> None:
    assert kinds_of((RECORDED / name).read_bytes(), name) == ("io500",)


def test_what_breaks_off_is_kept_and_told() -> None:
    data = (RECORDED / "result.txt").read_bytes()
    half = read(data[: data.index(b"[ior-hard-read]")], "result.txt")
    assert len(half.phases) == 7
    assert "breaks off here, before its score" in half.problems[0]
    assert read(b"nothing\n", "x").problems == ("line 1: this is no result of IO500: it has no phase with its score",)
