"""Searches compared: the load line at each transfer size, users, accelerators, an interval on each side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis.compare.search_answers import Found, SearchQuestion, _compared, _of_all
from tonnage.cli import main


def probed(out: Path, knee: int, seed: int) -> str:
    words = ["--surface", "--op", "read", "--budget", "60s", "--max-tasks", "32", "--no-report", "--no-keep"]
    target = f"sim:knee={knee},plateau=2GB/s,noise=2%"
    assert main(["probe", *words, "--seed", str(seed), "--out", str(out), target]) == 0
    return str(out)


def compared(capsys: pytest.CaptureFixture[str], *runs: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["compare", "--json", *runs]) == 0
    said = json.loads(capsys.readouterr().out)
    return dict(said["comparisons"][0])


def test_the_lines_of_two_storages_differ_at_each_size_and_those_of_one_storage_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, again, many = (probed(tmp_path / str(n), knee, n) for n, knee in enumerate((3, 3, 14)))
    same, other = compared(capsys, few, again)["answers"], compared(capsys, few, many)["answers"]
    assert len(same) == len(other) == 13
    assert {one["verdict"] for one in same} <= {"no change shown", "too few to tell"}
    told = [one for one in other if one["verdict"] == "more"]
    assert len(told) >= 10, other
    assert all(one["base_high"] < one["low"] <= one["other"] <= one["high"] for one in told)
    assert main(["compare", few, many]) == 0
    said = capsys.readouterr().out
    assert "read, 4 KiB" in said and "more tasks" in said


@pytest.mark.parametrize(
    ("words", "rates", "what"),
    [
        (["--kv-cache", "llama3.1-8b"], (20, 12), "users within 200 ms at p95, llama3.1-8b"),
        (["--training", "unet3d-h100"], (35, 15), "accelerators at 90 %, unet3d-h100"),
    ],
    ids=["users", "accelerators"],
)
def test_what_searches_of_a_number_found_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], rates: tuple[int, int], what: str
) -> None:
    runs = [str(tmp_path / f"{seed}") for seed in (1, 2)]
    for seed, rate, out in zip((1, 2), rates, runs, strict=True):
        argv = ["probe", *words, "--seed", str(seed), "--no-report", "--out", out]
        assert main([*argv, f"sim:knee=4,plateau={rate}GB/s,noise=3%,name=scratch"]) == 0
    (one,) = compared(capsys, *runs)["answers"]
    assert one["verdict"] == "fewer" and one["high"] < one["base_low"], one
    assert main(["compare", *runs]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(what)]
    assert rows[-1].endswith(f"fewer {one['counted']}")


@pytest.mark.parametrize(
    ("words", "others"),
    [
        (("--kv-cache", "tiny-1b", "--users", "4"), (("--p95", "200ms"), ("--p95", "400ms"))),
        (("--training", "unet3d-h100", "--accelerators", "4"), ((), ("--checkpoint-every", "10"))),
    ],
    ids=["objective", "checkpoints"],
)
def test_what_was_asked_otherwise_is_another_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str], others: Sequence[Sequence[str]]
) -> None:
    runs = [str(tmp_path / str(number)) for number in range(2)]
    for other, out in zip(others, runs, strict=True):
        argv = ["probe", *words, *other, "--no-report", "--out", out]
        assert main([*argv, "--seed", "1", "sim:knee=4,plateau=35GB/s,noise=3%"]) == 0
    assert compared(capsys, *runs)["answers"] == []


ASKED = SearchQuestion("read", "", "tasks", transfer_size=4096)


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        ([Found(4, 3, 5)], [Found(8, 6, 9)], "more"),
        ([Found(4, 3, 6)], [Found(8, 6, 9)], "no change shown"),
        ([Found(8, 6, 9)], [Found(4, 3, 5)], "fewer"),
        ([None], [Found(4, 3, 5)], "too few to tell"),
        ([Found(4, 3, 5), None], [Found(8, 6, 9)], "too few to tell"),
        ([Found(4, 3, 5), Found(5, 4, 7)], [Found(8, 6, 9)], "no change shown"),
        ([Found(4, 3, 5)], [Found(64, 64, None)], "more"),
        ([Found(4, 3, None)], [Found(8, 6, 9)], "no change shown"),
    ],
)
def test_answers_differ_where_the_intervals_have_no_number_in_common(
    base: Sequence[Found | None], other: Sequence[Found | None], verdict: str
) -> None:
    assert _compared(ASKED, _of_all(base), _of_all(other)).verdict == verdict
