"""``tonnage import mdtest``: how many items each test did, whatever the header says of them. Recorded from 4.1."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main

from .import_command import RECORDED, codes, summary, take

MDTEST = RECORDED / "mdtest"
DONE = 2 * 5823
"""Files that were there when the creation of ``4.1-write.txt`` ended: both tasks had as many as the faster one."""


def test_a_stonewalled_creation_is_of_what_all_tasks_had_made_in_the_end(tmp_path: Path) -> None:
    (line,) = take("mdtest", tmp_path / "run", MDTEST / "4.1-write.txt").trials()
    assert (line["phase"], line["operations"]) == ("create", DONE)
    assert line["elapsed_ns"] == pytest.approx(1.260e9, abs=5e5)
    assert line["setting"]["stonewall"] == 1
    # Without times beside the rates the lines of the stonewall say it.
    (older,) = take("mdtest", tmp_path / "older", MDTEST / "stonewall.txt").trials()
    assert older["operations"] == 2 * 2697
    assert older["operations"] * 1e9 / older["elapsed_ns"] == pytest.approx(5024.844)


def test_items_of_a_status_file_come_from_rate_and_time_and_not_from_the_header(tmp_path: Path) -> None:
    run = take("mdtest", tmp_path / "run", MDTEST / "4.1-stat.txt")
    (line,) = run.trials()
    assert line["operations"] == pytest.approx(DONE, rel=0.02)
    assert line["operations"] * 1e9 / line["elapsed_ns"] == pytest.approx(300448.176, rel=1e-4)
    assert "items-estimated" in codes(run)
    # With -v mdtest says what it read there.
    known = take("mdtest", tmp_path / "known", MDTEST / "4.1-stat-v.txt")
    assert [one["operations"] for one in known.trials()] == [2 * 9271]
    assert "items-estimated" not in codes(known)


def test_a_number_that_rate_and_time_leave_no_doubt_of_is_no_estimate(tmp_path: Path) -> None:
    """80 tasks of 318 files each in 401.817 s."""
    text = (
        (MDTEST / "4.1-stat.txt").read_text().replace("with 2 total", "with 80 total").replace("300448.176", "63.312")
    )
    path = tmp_path / "long.txt"
    path.write_text(text.replace("2 tasks, 200000 files", "80 tasks, 80000000 files").replace("0.039", "401.817"))
    run = take("mdtest", tmp_path / "run", path)
    assert [line["operations"] for line in run.trials()] == [80 * 318]
    assert "items-estimated" not in codes(run)


def test_what_only_a_status_file_says_is_no_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "mdtest", str(MDTEST / "4.1-delete-b.txt"), "--out", str(tmp_path / "run")]) == 2
    assert "how many were done is not said (only its status file says it" in capsys.readouterr().err


def test_failed_items_are_not_counted_and_fail_their_trial(tmp_path: Path) -> None:
    run = take("mdtest", tmp_path / "run", MDTEST / "4.1-failed-stat.txt")
    (line,) = run.trials()
    assert (line["status"], line["operations"]) == ("failed", 0)
    assert line["reason"] == "mdtest warned of 20 of 20 items that failed"
    assert "trial-failed" in codes(run) and not summary(run)["points"]


def test_a_rate_of_nothing_is_no_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (MDTEST / "4.1-write.txt").read_text()
    path = tmp_path / "none.txt"
    path.write_text(text.replace("9241.780", "   0.000"))
    assert main(["import", "mdtest", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "all of its rates are 0.000: nothing was done" in capsys.readouterr().err
    # Of three iterations with one of nothing, none follows.
    three = (MDTEST / "i3-files-3901.txt").read_text()
    row = next(line for line in three.splitlines() if "File stat" in line)
    cells = row.split()
    path.write_text(three.replace(row, row.replace(cells[3], "0.000")))
    run = take("mdtest", tmp_path / "three", path)
    assert "stat" not in {line["phase"] for line in run.trials()}
    assert "File stat has an iteration without a rate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "factor"),
    [
        (("'-n'", "'-c' '-n'"), "-c"),
        (("'-a' 'POSIX'", "'-a' 'POSIX' '-y'"), "sync"),
        (("'-W' '1'", "'-W' '300'"), "stonewall"),
        (("'-N' '1'", "'-N' '4'"), "-N"),
        (("on 1 node", "on 2 node"), "tasks_per_node"),
    ],
)
def test_whatever_mdtest_states_as_an_option_keeps_trials_apart(
    change: tuple[str, str], factor: str, tmp_path: Path
) -> None:
    original = MDTEST / "4.1-write.txt"
    assert change[0] in original.read_text()
    other = tmp_path / "other.txt"
    other.write_text(original.read_text().replace(*change))
    points = summary(take("mdtest", tmp_path / "run", original, other))["points"]
    assert [(point["group"].split()[0], point["repetitions"]) for point in points] == [(factor, 1)] * 2


def test_tests_of_several_numbers_of_tasks_are_settings_of_their_own(tmp_path: Path) -> None:
    """``-f 2 -l 4 -s 2`` of four tasks: each number has a heading and a summary."""
    run = take("mdtest", tmp_path / "run", MDTEST / "4.1-steps.txt")
    creations = [line for line in run.trials() if line["phase"] == "create"]
    assert [(line["setting"]["tasks"], line["operations"]) for line in creations] == [(2, 100)] * 2 + [(4, 200)] * 2
    stated = [189444.625, 162067.388, 158245.765, 82200.960]
    assert [line["operations"] * 1e9 / line["elapsed_ns"] for line in creations] == pytest.approx(stated, rel=1e-4)
    assert [point["repetitions"] for point in summary(run)["points"]] == [2] * 8


def test_the_nodes_of_fewer_tasks_than_were_launched_are_unknown(tmp_path: Path) -> None:
    text = (MDTEST / "4.1-steps.txt").read_text()
    path = tmp_path / "nodes.txt"
    path.write_text(text.replace("on 1 node", "on 2 node"))
    lines = list(take("mdtest", tmp_path / "run", path).trials())
    assert {(line["setting"]["tasks"], line["setting"]["tasks_per_node"]) for line in lines} == {(2, None), (4, 2)}


def test_statistics_of_ranks_stand_before_those_of_iterations_and_are_no_trials(tmp_path: Path) -> None:
    for version in ("4.1.0+dev", "3.4.0+dev"):
        path = tmp_path / f"{version}.txt"
        path.write_text((MDTEST / "4.1-ranks.txt").read_text().replace("4.1.0+dev", version))
        lines = [line for line in take("mdtest", tmp_path / version, path).trials() if line["phase"] == "create"]
        found = [line["operations"] * 1e9 / line["elapsed_ns"] for line in lines]
        assert found == pytest.approx([415895.290, 379575.023], rel=1e-4)


def test_a_summary_of_times_alone_or_of_unknown_columns_is_refused_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "mdtest", str(MDTEST / "4.1-times.txt"), "--out", str(tmp_path / "run")]) == 2
    assert "the summary has only times (-Z), which are not read" in capsys.readouterr().err
    # As a development version had them for a month, with the deviation before the iterations' columns.
    path = tmp_path / "columns.txt"
    path.write_text((MDTEST / "4.1-ranks.txt").read_text().replace("per Iteration:", "Std Dev per Iteration:"))
    assert main(["import", "mdtest", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "line 12: the columns of this summary are not known; left out" in capsys.readouterr().err


def test_each_output_that_ends_before_its_summary_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (MDTEST / "4.1-write.txt").read_text()
    path = tmp_path / "two.txt"
    path.write_text(text.partition("\nSUMMARY")[0] + "\n" + text)
    assert len(list(take("mdtest", tmp_path / "run", path).trials())) == 1
    assert "the output ends here, before its summary" in capsys.readouterr().err


def test_a_line_of_an_iteration_is_rank_0s_from_3_4_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "3.4.txt"
    path.write_text((MDTEST / "3.3.0-verbose.txt").read_text().replace("mdtest-3.3.0 ", "mdtest-3.4.0+dev "))
    assert main(["import", "mdtest", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "no line of each for all tasks" in capsys.readouterr().err


def test_of_a_noisy_sweep_nothing_is_said_that_its_trials_do_not_show(tmp_path: Path) -> None:
    """Four tasks did 782 k stats/s, one did 1.02 M: of two repetitions that far apart it is likely, and not shown."""
    found = summary(take("mdtest", tmp_path / "run", MDTEST / "4.1-sweep.txt"))
    sentences = {line["op"]: line["why"] for line in found["load_lines"]}
    assert sentences["stat"].endswith("more, measured up to 4, may lose throughput, and 3 tasks do")
    # What may show a plateau is no option of a probe: the tool that measured has to measure again.
    (missing,) = (one for one in found["findings"] if one["code"] == "no-plateau")
    assert sentences["read"].endswith("more repetitions, or a sweep up to 8 tasks, may show it")
    assert missing["subject"] == "read"
    assert missing["evidence"] == sentences["read"]
    assert missing["advice"].startswith("Measure with more tasks, or more repetitions, and import all outputs together")
