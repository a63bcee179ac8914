"""``tonnage import sob``: hosts that ran together, what is missing, and what cannot have come over the link."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, codes, summary, take

HOSTS = RECORDED / "sob" / "hosts.txt"
"""Tests 1 and 3 of the knox-epouta experiment as sob printed them, with a heading for each host."""
MIB = 2**20


def test_hosts_that_ran_together_are_tasks_of_one_trial_and_no_repetitions(tmp_path: Path) -> None:
    run = take("sob", tmp_path / "run", HOSTS)
    first, second, third = run.trials()
    assert [(line["phase"], line["setting"]["tasks"], line["bytes"]) for line in (first, second, third)] == [
        ("write", 3, 3 * 10240 * MIB),
        ("read", 3, 3 * 10240 * MIB),
        ("write", 2, 2 * 6400 * MIB),
    ]
    assert first["elapsed_ns"] == pytest.approx(492e9, rel=1e-4)
    assert [task["host"] for task in run.tasks() if task["record"] == first["record"]] == [
        "compute1",
        "compute2",
        "compute3",
    ]
    assert main(["verify", str(run.path)]) == 0


def test_the_sum_of_their_rates_is_told_as_another_figure(tmp_path: Path) -> None:
    run = take("sob", tmp_path / "run", HOSTS)
    found = [one for one in summary(run)["findings"] if one["code"] == "summed-rates"]
    assert "the 3 hosts' rates add up to 94.5 MB/s, and all bytes over the longest time are 65.5 MB/s" in str(found)


def test_the_block_is_that_of_the_command_line(tmp_path: Path) -> None:
    run = take("sob", tmp_path / "run", HOSTS)
    assert [line["setting"]["transfer_size"] for line in run.trials()] == [8 * MIB, 8 * MIB, 65536]
    assert [line["setting"]["file_size"] for line in run.trials()] == [10 << 30, 10 << 30, 128 * MIB]


def test_random_reads_that_were_asked_for_and_have_no_line_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = take("sob", tmp_path / "run", HOSTS)
    told = capsys.readouterr().err
    assert "line 22: sob was asked for random reads (-R) on compute2, and has no line of it" in told
    assert "damaged-file" in codes(run)
    whole = tmp_path / "whole.txt"
    whole.write_text(HOSTS.read_text() + "Random read 312.500 MB in 9.000 s for 34.722 MB/s, 50 files\n")
    take("sob", tmp_path / "whole", whole)
    told = capsys.readouterr().err
    assert "on compute1, and" in told and "on compute2, and" not in told


def test_hosts_told_of_twice_are_two_repetitions(tmp_path: Path) -> None:
    text = HOSTS.read_text()
    one = text[: text.index("Test 3")]
    path = tmp_path / "twice.txt"
    path.write_text(one + one.replace("492.000", "482.000").replace("20.813", "21.245"))
    run = take("sob", tmp_path / "run", path)
    writes = [line for line in run.trials() if line["phase"] == "write"]
    assert [(line["setting"]["tasks"], line["repetition"]) for line in writes] == [(3, 0), (3, 1)]


def linked(tmp_path: Path, link: str) -> Run:
    path = tmp_path / "cached.txt"
    path.write_text("sob -rw -b 8m -s 1g\nRead 1024.000 MB in 0.300 s for 3413.333 MB/s, 1 files\n")
    out = tmp_path / link.replace("/", "-")
    assert main(["import", "sob", str(path), "--link", link, "--out", str(out)]) == 0
    return Run.open(out)


def test_a_rate_above_the_link_is_told(tmp_path: Path) -> None:
    run = linked(tmp_path, "1Gbit/s")
    (found,) = [one for one in summary(run)["findings"] if one["code"] == "above-ceiling"]
    assert "is above the stated link ceiling of 125 MB/s" in found["evidence"]
    assert main(["verify", str(run.path)]) == 0
    assert "above-ceiling" not in codes(linked(tmp_path, "100Gbit/s"))


@pytest.mark.parametrize("link", ["1G", "fast"])
def test_a_link_that_is_no_rate_is_refused(link: str, tmp_path: Path) -> None:
    assert main(["import", "sob", str(HOSTS), "--link", link, "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


def test_a_time_of_nothing_beside_a_rate_is_no_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sob.txt"
    path.write_text("Wrote 1.000 MB in 0.000 s for 268000000.000 MB/s, 1 files\n")
    assert main(["import", "sob", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "beside a time of 0.000 s; left out" in capsys.readouterr().err
