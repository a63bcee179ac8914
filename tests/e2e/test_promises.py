"""Each promise is ticked for a run that kept it, and not ticked any more where the run's records say otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis import analyse
from tonnage.records import Run

from .shell import Shell

Line = dict[str, Any]
Change = Callable[[Line], None]

STREAMS = """
target = "data"
seed = 3
[repeat]
count = 2
[[workload]]
name = "sweep"
tasks = [1, 2]
transfer_size = "64KiB"
block_size = "1MiB"
[[workload]]
name = "paced"
op = "write"
tasks = 2
transfer_size = "4KiB"
block_size = "256KiB"
operations_rate = 400
"""
CURVE = """
target = "sim:knee=4,plateau=2GB/s"
seed = 3
[repeat]
count = 4
[workload]
op = "write"
tasks = [1, 2, 4, 8, 16, 32]
block_size = "64MiB"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A run on files, with a paced workload, and of models one with a load line, a latency line, and users."""
    shell = Shell(tmp_path_factory.mktemp("promises"))
    for name, text in (("streams", STREAMS), ("curve", CURVE)):
        shell("run", shell.write(f"{name}.toml", text), "--out", name, "--no-report")
    probe = ("probe", "sim:knee=4,plateau=2GB/s,noise=2%", "--op", "write", "--seed", "2", "--budget", "30s")
    shell(*probe, "--p99", "9ms", "--no-report", "--out", "latency")
    cache = ("probe", "--kv-cache", "tiny-1b", "sim:knee=4,plateau=2GB/s,noise=2%", "--seed", "2", "--no-keep")
    shell(*cache, "--no-report", "--out", "users")
    yield {name: shell.home / name for name in ("streams", "curve", "latency", "users")}


@pytest.fixture
def altered(runs: dict[str, Path], tmp_path: Path) -> Callable[..., Path]:
    """A copy of a run with other trials (``keep`` of them, each changed) and another manifest."""

    def make(name: str, change: Change = lambda _: None, keep: Callable[[Line], bool] = bool, **manifest: Any) -> Path:
        copy = tmp_path / "copy"
        shutil.copytree(runs[name], copy)
        lines = [json.loads(line) for line in (copy / "trials.jsonl").read_text().splitlines()]
        kept = [line for line in lines if keep(line)]
        for line in kept:
            change(line)
        (copy / "trials.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
        evidence_of = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps({**evidence_of, **manifest}))
        return copy

    return make


def kept(run: Path) -> dict[int, bool | None]:
    return {promise.number: promise.kept for promise in analyse(Run.open(run)).promises}


def test_a_run_that_kept_them_has_every_promise_ticked_that_it_can_show(runs: dict[str, Path]) -> None:
    assert {number for number, evidence_of in kept(runs["streams"]).items() if not evidence_of} == {9, 12}
    assert kept(runs["streams"])[9] is None, "no curve"
    assert kept(runs["curve"])[9] is True
    assert kept(runs["streams"])[12] is None, "no run can show that"


def campaign_of(run: Path) -> Line:
    found: Line = json.loads((run / "manifest.json").read_text())["campaign"]
    return found


def rate(line: Line) -> None:
    line["bandwidth_bytes_per_s"] = line["bandwidth_bytes_per_s"] * 2 + 1


def unknown(line: Line) -> None:
    if line["phase"] == "read":
        line["cache"].update(state="unknown", device_bytes=None, device_share=None, device_ratio=None)


def silent(line: Line) -> None:
    line["durability"] = None


def fraction(line: Line) -> None:
    line["cpu_user_ns"] += 0.5


def never_waited(line: Line) -> None:
    """As if far more operations had been due than came, and none had waited."""
    line["latency"]["max_ns"] = 1000
    line["setting"]["operations_rate"] = line["setting"]["operations_rate"] and 1_000_000


def at_once(line: Line) -> None:
    """As if a turn ended before its calls."""
    line["latency"]["mean_ns"] //= 2


def failed(line: Line) -> None:
    line["status"] = "failed" if line["trial"] == 1 else line["status"]


@pytest.mark.parametrize(
    ("number", "change"),
    [(1, rate), (2, unknown), (2, silent), (4, failed), (5, fraction)],
    ids=["rate", "unknown", "silent", "failed", "fraction"],
)
def test_records_that_break_a_promise_take_its_tick(altered: Callable[..., Path], number: int, change: Change) -> None:
    assert kept(altered("streams", change))[number] is False


@pytest.mark.parametrize(
    ("number", "manifest"),
    [(3, {"ceilings": []}), (10, {"cost": None}), (11, {"command_line": None}), (6, {"seed": None})],
)
def test_a_manifest_without_what_was_promised_takes_its_tick(
    altered: Callable[..., Path], number: int, manifest: Line
) -> None:
    assert kept(altered("streams", **manifest))[number] is False


def test_the_fourth_is_broken_where_a_trial_left_no_record(altered: Callable[..., Path]) -> None:
    assert kept(altered("streams", keep=lambda line: line["trial"] != 1))[4] is False


def test_the_sixth_is_broken_by_the_order_of_the_file_and_by_repetitions_that_are_missing(
    altered: Callable[..., Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    campaign = campaign_of(runs["streams"])
    assert kept(altered("streams", campaign={**campaign, "order": "given"}))[6] is False
    shutil.move(tmp_path / "copy", tmp_path / "given")
    assert kept(altered("streams", keep=lambda line: line["repetition"] == 0))[6] is False
    shutil.move(tmp_path / "copy", tmp_path / "single")
    more = {**campaign["repeat"], "count": 3}
    assert kept(altered("streams", campaign={**campaign, "repeat": more}))[6] is False
    shutil.move(tmp_path / "copy", tmp_path / "fewer")
    narrow = {"count": None, "interval": 1e-9, "at_least": 2, "at_most": 30}
    assert kept(altered("streams", campaign={**campaign, "repeat": narrow}))[6] is False


def test_the_seventh_is_broken_where_a_phase_left_no_series(altered: Callable[..., Path]) -> None:
    copy = altered("streams")
    gone = sorted((copy / "series").iterdir())[0]
    gone.unlink()
    assert kept(copy)[7] is False


def test_the_eighth_is_broken_where_no_latency_holds_what_a_task_was_late(altered: Callable[..., Path]) -> None:
    assert kept(altered("streams", never_waited))[8] is False


def test_the_eighth_is_broken_where_turns_took_less_time_than_their_calls(
    runs: dict[str, Path], altered: Callable[..., Path]
) -> None:
    assert kept(runs["users"])[8] is True
    assert kept(altered("users", at_once))[8] is False


@pytest.mark.parametrize("least", [4, 8], ids=["at the knee", "beyond it"])
def test_the_ninth_is_broken_without_a_point_below(altered: Callable[..., Path], least: int) -> None:
    copy = altered("curve", keep=lambda line: line["setting"]["tasks"] >= least)
    (line,) = analyse(Run.open(copy)).load_lines
    assert line.reached and kept(copy)[9] is False


def slower(line: Line) -> None:
    """As if operations had taken longer than the histograms say."""
    line["latency"]["p99_ns"] = line["latency"]["p99_ns"] * 3 // 2


def evidence_of(run: Path, number: int) -> str:
    return next(promise.evidence for promise in analyse(Run.open(run)).promises if promise.number == number)


def test_the_twelfth_is_broken_where_a_latency_line_does_not_follow_from_the_histograms(
    runs: dict[str, Path], altered: Callable[..., Path], tmp_path: Path
) -> None:
    assert kept(runs["latency"])[12] is None
    assert evidence_of(runs["latency"], 12).startswith(
        "1 latency line computed again from the kept histograms; no run can"
    )
    assert kept(altered("latency", slower))[12] is False
    shutil.move(tmp_path / "copy", tmp_path / "slower")
    copy = altered("latency")
    for file in (copy / "latency").iterdir():
        file.unlink()
    assert kept(copy)[12] is False
