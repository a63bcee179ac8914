"""A setting whose trials failed is told of wherever its run is compared: it is no setting that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.cli import main

from .json_output import answered
from .test_undone_answers import undone

ONE_IN_40 = ",fault-every=40"
"""Of 16 transfers a task none fails with one task, and with four some does."""
LOST = "write, 4 tasks"


def campaign(place: Path, more: str, *, seed: int, tasks: str = "[1, 4]", target: str = "", code: int = 0) -> Path:
    model = target or f"knee=4,plateau=2GB/s,noise=2%{more},name=X"
    file = place.parent / f"{place.name}.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f'target = "sim:{model}"\nseed = {seed}\n[repeat]\ncount = 6\n'
        f'[workload]\nop = "write"\ntasks = {tasks}\nblock_size = "16MiB"\n'
    )
    assert main(["run", str(file), "--out", str(place), "--no-report"]) == code
    return place


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("sides")
    for number in range(3):
        campaign(directory / "sound" / str(number), "", seed=number)
        campaign(directory / "lost" / str(number), ONE_IN_40, seed=10 + number, code=1)
        campaign(directory / "last" / str(number), "", seed=20 + number)
        campaign(directory / "all" / str(number), ONE_IN_40, seed=30 + number, tasks="[4, 8]", code=1)
    campaign(directory / "last" / "3", ONE_IN_40, seed=23, code=1)
    return {path.name: path for path in directory.iterdir() if path.is_dir()}


def test_a_comparison_tells_of_the_setting_that_its_newer_side_lost(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [str(sides["sound"]), str(sides["lost"])]
    found = answered(capsys, "compare", *words)
    assert {code for code, _ in undone(found)} == {"trial-failed"} and len(undone(found)) == 3
    (told,) = found["comparisons"]
    assert told["failed_other"] == [LOST] and told["failed_base"] == told["only_base"] == []
    page = tmp_path / "page.html"
    assert main(["compare", *words, "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert f"Failed in {words[1]}: {LOST}." in said and "Only in" not in said and "\n  but trial-failed in " in said
    assert 'class="answer reached"' not in page.read_text()


@pytest.mark.parametrize("verdict", ["slower", "faster", "changed"])
def test_no_check_passes_a_setting_that_failed_on_the_newer_side(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str], verdict: str
) -> None:
    assert main(["compare", str(sides["sound"]), str(sides["lost"]), "--fail-if", verdict]) == 1
    error = capsys.readouterr().err
    assert "tonnage: in doubt: trial-failed in " in error
    assert f"tonnage: error: 1 setting failed in {sides['lost']}: {LOST}" in error


def test_a_setting_that_failed_on_the_older_side_is_in_doubt_and_fails_no_check(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(sides["lost"]), str(sides["sound"]), "--fail-if", "slower"]) == 0
    said = capsys.readouterr()
    assert "in doubt: trial-failed" in said.err and f"Failed in {sides['lost']}: {LOST}." in said.out


def test_a_setting_that_some_runs_of_the_newer_side_lost_passes_no_check_where_the_others_are_too_few(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for number, more in enumerate(("", "", ONE_IN_40)):
        campaign(tmp_path / "some" / str(number), more, seed=40 + number, code=1 if more else 0)
    capsys.readouterr()
    some = tmp_path / "some"
    assert main(["compare", str(sides["sound"]), str(some), "--fail-if", "slower"]) == 1
    said = capsys.readouterr()
    assert f"1 setting failed in {some}" in said.err and f"Failed in some runs of {some}: {LOST}." in said.out
    # With three runs that have a figure it is judged, and in doubt.
    assert main(["compare", str(sides["sound"]), str(sides["last"]), "--fail-if", "slower"]) == 0
    assert "in doubt: trial-failed" in capsys.readouterr().err


def test_a_side_that_lost_all_settings_is_no_other_kind_of_workload(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(sides["sound"]), str(sides["all"]), "--fail-if", "slower"]) == 1
    said = capsys.readouterr()
    assert "kinds of workload" not in said.err + said.out
    assert f"2 settings failed in {sides['all']}: write, 4 tasks; write, 8 tasks" in said.err


def test_a_history_tells_of_the_setting_that_its_newest_run_lost(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(sides["sound"]), str(sides["last"])]
    found = answered(capsys, "history", *runs)
    assert [(code, run) for code, run in undone(found)] == [("trial-failed", "3")]
    assert found["history"]["failed"] == [LOST]
    assert main(["history", *runs]) == 0
    assert f"Failed in the newest run that has it: {LOST}." in capsys.readouterr().out
    assert main(["history", *runs, "--fail-if", "slower"]) == 1
    error = capsys.readouterr().err
    assert "in doubt: trial-failed in " in error and f"1 setting failed in its newest run: {LOST}" in error


def test_a_setting_that_failed_once_and_was_measured_again_is_in_doubt_only(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    campaign(tmp_path / "new" / "1", "", seed=51)
    runs = [str(sides["sound"]), str(sides["last"]), str(tmp_path / "new")]
    assert answered(capsys, "history", *runs)["history"]["failed"] == []
    assert main(["history", *runs, "--fail-if", "slower"]) == 0
    assert "in doubt: trial-failed in " in capsys.readouterr().err


def test_all_of_a_storage_marks_what_failures_undo(sides: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(sides["sound"]), str(sides["last"])]
    capsys.readouterr()
    assert main(["report", "--storage", "auto", *runs]) == 0
    assert "\n  but trial-failed in " in capsys.readouterr().out


def test_a_projection_and_a_crossover_name_the_failed_trials_of_their_curves(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    curve = campaign(tmp_path / "curve", ONE_IN_40, seed=3, tasks="[1, 2, 3, 4]", code=1)
    other = campaign(tmp_path / "other", "", seed=3, target="knee=4,plateau=1GB/s")
    found = answered(capsys, "crossover", curve, other, "--shared", other)
    assert undone(found) == [("trial-failed", "curve")]
    wide = campaign(tmp_path / "wide", "", seed=3, tasks="[1, 2, 3, 8]", target="knee=8,fault-every=100", code=1)
    found = answered(capsys, "project", wide, "--tasks", "4")
    assert undone({"projections": found["projections"]}) == [("trial-failed", "wide")]


def test_no_check_passes_where_no_setting_can_have_a_verdict(
    sides: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sound, last = str(sides["sound"]), str(sides["last"])
    assert main(["history", sound, "--fail-if", "slower"]) == 2
    assert "--fail-if: no setting can have a verdict: each is in fewer than 6 runs" in capsys.readouterr().err
    assert main(["history", sound]) == 0
    assert main(["compare", sound, sound, "--fail-if", "slower"]) == 2
    assert "nothing differs from itself" in capsys.readouterr().err
    assert main(["compare", sound, sound]) == 0
    assert main(["compare", sound, last, sound, "--fail-if", "slower"]) == 2


def test_a_probe_in_which_a_trial_fails_says_so_of_all_that_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, asked = "sim:knee=8,plateau=2GB/s,fault-every=800,name=P", ["--p99", "20ms", "--budget", "10s"]
    assert main(["probe", model, *asked, "--seed", "3", "--no-keep", "--out", str(tmp_path / "run")]) == 1
    screen = capsys.readouterr().out.splitlines()
    assert any(line.startswith("write: not shown: measuring ended because a trial failed") for line in screen)
    assert any(line.startswith("read: not measured: 1 trial failed (") for line in screen)
    (p99,) = [line for line in screen if "p99 within 20 ms" in line]
    assert p99.startswith("  ") and "measuring ended because a trial failed" in p99
    (named,) = [line for line in screen if line.startswith("  but trial-failed: ")]
    assert "operation failed: task" in named and not any("--budget" in line for line in screen)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "not measured: 1 trial failed (" in page and 'class="answer reached"' not in page
    assert main(["report", str(tmp_path / "run"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(line["op"], line["undone_by"]) for line in found["load_lines"]] == [
        ("write", ["single-repetition", "trial-failed"])
    ]


def test_a_search_whose_long_trials_failed_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--op", "write", "--seed", "1", "--no-keep", "--no-report", "--out", str(tmp_path / "run")]
    assert main(["probe", *words, "sim:knee=4,full-after=5GB"]) == 1
    assert "3 trials failed" in capsys.readouterr().err
