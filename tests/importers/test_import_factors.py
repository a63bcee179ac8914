"""``tonnage import --factor``: what the files do not state, and what their user says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, codes, summary

ORIGINAL = RECORDED / "ior" / "ext4-fpp-wr-3reps.txt"
MIB = 128
"""That each of its writes moved."""


def later(path: Path, extra_s: float, scale: int = 1) -> Path:
    """The recorded output with writes that took so much longer, as if each had waited for something; ``scale``: of
    blocks so many times as large, which took so many times as long."""

    def row(found: re.Match[str]) -> str:
        cells = found[0].split()
        seconds = float(cells[9]) * scale * 20 + extra_s
        return f"write {MIB * scale / seconds:.4f} {' '.join(cells[2:9])} {seconds:.6f} {cells[10]}"

    text = re.sub(r"(?m)^write  .* [0-2]   $", row, ORIGINAL.read_text())
    text = text.replace("blocksize           : 64 MiB", f"blocksize           : {64 * scale} MiB")
    text = text.replace(" 65536 ", f" {65536 * scale} ").replace("128 MiB", f"{128 * scale} MiB")
    path.write_text(text[: text.index("Summary of all tests")] + "Finished            : now\n")
    return path


def take(out: Path, *arguments: object) -> Run:
    assert main(["import", "ior", *map(str, arguments), "--out", str(out), "--no-report"]) == 0
    return Run.open(out)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two sizes, without a snapshot and with one that takes two seconds."""
    return [
        later(tmp_path / f"{name}-{scale}.out", extra, scale)
        for name, extra in (("plain", 0.0), ("snap", 2.0))
        for scale in (1, 4)
    ]


def test_published_runs_with_and_without_a_snapshot_give_the_seconds_that_it_adds(
    files: list[Path], tmp_path: Path
) -> None:
    run = take(tmp_path / "run", *files, "--factor", "snapshot=no", "--factor", "snap-*:snapshot=yes")
    (found,) = summary(run)["snapshots"]
    cost = found["cost"]
    assert cost["cost_ns"] == pytest.approx(2e9, rel=0.02)
    assert cost["low_ns"] < 2e9 < cost["high_ns"]
    assert "fixed-cost" in codes(run)
    assert main(["verify", str(run.path)]) == 0
    assert main(["report", str(run.path)]) == 0


def test_without_the_factor_they_are_pooled_and_nothing_is_told_of_a_cost(files: list[Path], tmp_path: Path) -> None:
    run = take(tmp_path / "run", *files)
    assert "fixed-cost" not in codes(run) and not summary(run).get("snapshots")
    assert {point["repetitions"] for point in summary(run)["points"] if point["op"] == "write"} == {6}


def test_a_factor_keeps_trials_apart_and_is_kept_with_the_run(files: list[Path], tmp_path: Path) -> None:
    run = take(tmp_path / "run", files[0], files[2], "--factor", "day=1", "--factor", "snap*:day=2")
    writes = [(point["group"], point["repetitions"]) for point in summary(run)["points"] if point["op"] == "write"]
    assert writes == [("day 1", 3), ("day 2", 3)]
    assert run.manifest["imported"]["factors"] == ["day=1", "snap*:day=2"]


def test_who_states_what_a_file_hides_has_placed_its_trials(tmp_path: Path) -> None:
    one, other = RECORDED / "ior/script.txt", tmp_path / "other.txt"
    other.write_text(one.read_text().replace("0.002622", "0.002623"))
    assert "kept-apart" in codes(take(tmp_path / "apart", one, other))
    together = take(tmp_path / "together", one, other, "--factor", "test=a")
    assert "kept-apart" not in codes(together)
    assert {point["repetitions"] for point in summary(together)["points"]} == {2}


@pytest.mark.parametrize(
    ("factor", "why"),
    [
        ("snapshot", "states no factor"),
        ("=yes", "states no factor"),
        ("tasks=4", "is nothing that can be stated"),
        ("nothing*:snapshot=yes", "is the name of no file"),
        ("layout=shared", "says of layout 'file-per-task' itself"),
    ],
)
def test_what_cannot_be_stated_is_refused_in_one_line(
    factor: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "ior", str(ORIGINAL), "--factor", factor, "--out", str(tmp_path / "run")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert why in told
    assert not (tmp_path / "run").exists()


def test_a_factor_is_of_the_trials_that_leave_it_out(tmp_path: Path) -> None:
    """A write of rados bench says its seconds, and a read of the same file does not."""
    one, other = RECORDED / "rados/write-seq.txt", tmp_path / "other.txt"
    other.write_text(one.read_text().replace("3.5181", "3.5182"))
    arguments = ["--factor", "mode=seq", "--factor", "seconds=20", "--out", str(tmp_path / "run"), "--no-report"]
    assert main(["import", "rados", str(one), str(other), *arguments]) == 0
    run = Run.open(tmp_path / "run")
    assert {(line["phase"], line["setting"]["seconds"]) for line in run.trials()} == {("write", 5), ("read", 20)}
    assert "kept-apart" not in codes(run)
    assert {point["repetitions"] for point in summary(run)["points"]} == {2}


def test_compare_gives_the_difference_of_times_where_trials_moved_the_same(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        str(take(tmp_path / name, file, "--factor", f"snapshot={name}").path)
        for name, file in (("no", files[0]), ("yes", files[2]))
    ]
    capsys.readouterr()
    assert main(["compare", *runs, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    time = next(cell["time"] for cell in found["cells"] if cell["op"] == "write")
    assert time["added_ns"] == pytest.approx(2e9, rel=0.01)
    assert time["low_ns"] < 2e9 < time["high_ns"] and time["confidence"] == 0.95
    assert ("workload.snapshot", False, True) in [
        (one["key"], one["base"], one["other"]) for one in found["differences"]
    ]
    assert main(["compare", *runs]) == 0
    assert "write, 2 tasks: a trial takes 2.00 s longer, 3.35 s against 1.35 s" in capsys.readouterr().out
    # Trials of another size are not compared so.
    larger = str(take(tmp_path / "larger", files[1]).path)
    capsys.readouterr()
    assert main(["compare", runs[0], larger, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert [cell["time"] for cell in found["cells"]] == [None, None]
