"""Utilisation against the benchmark's own loop over the same reads, and what the answer says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import jsonschema
import pytest
from tonnage.analysis import analyse
from tonnage.analysis.load_line import accelerators
from tonnage.analysis.load_line.accelerators import utilisation_of
from tonnage.analysis.summary import schema
from tonnage.cli import main
from tonnage.records import Run, headline
from tonnage.records.line_types import TrialLine

MODEL = "sim:knee=1,plateau=1GB/s,noise=3%"


def loop_of_the_benchmark(loaded_ns: Sequence[Sequence[int]], batch: int, compute_ns: int, steps: int) -> float:
    """What DLIO's training loop measures: each accelerator takes its batch when that was read and all have ended the
    step before, and computes; the first step is left out. ``loaded_ns``: of each one, when its samples were read."""
    free_ns, shares = 0, []
    spent_first = [0] * len(loaded_ns)
    for step in range(steps):
        ends = []
        for accelerator, instants in enumerate(loaded_ns):
            has_it_ns = max(free_ns, instants[(step + 1) * batch - 1])
            ends.append(has_it_ns + compute_ns)
            if step == 0:
                spent_first[accelerator] = ends[-1]
        free_ns = max(ends)
    for first_ns in spent_first:
        shares.append((steps - 1) * compute_ns / (free_ns - first_ns))
    return sum(shares) / len(shares)


def campaign(target: str, compute: str, numbers: str, more: str = "") -> str:
    return f"""
target = "{target}"
seed = 3
keep_operations = 100000
[workload]
kind = "training"
sample_size = "200KiB"
sample_spread = "60KiB"
batch = 5
readers = 3
prefetch = 2
compute = "{compute}"
accelerators = {numbers}
dataset = "20MiB"
steps = 30
{more}
[repeat]
count = 2
"""


def carried_out(text: str, tmp_path: Path) -> Run:
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "c.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["run", str(file), "--no-report", "--out", str(tmp_path / "run")]) == 0
    return Run.open(tmp_path / "run")


@pytest.mark.parametrize("compute", ["2ms", "6ms", "20ms"])
@pytest.mark.parametrize("place", ["sim", "directory"])
def test_utilisation_is_what_the_benchmark_would_have_measured_of_the_same_reads(
    place: str, compute: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    target = "sim:knee=1,plateau=1GB/s,noise=20%" if place == "sim" else str(tmp_path / "data")
    run = carried_out(campaign(target, compute, "[1, 3]"), tmp_path)
    lines = [line for line in run.trials() if line["phase"] == "train"]
    assert len(lines) == 4
    for line in lines:
        setting = line["setting"]
        columns = run.operations(line["record"])
        assert columns is not None
        loaded: list[list[int]] = [[] for _ in range(setting["accelerators"])]
        for task, end_ns in sorted(zip(columns["task"], columns["end_ns"], strict=True), key=lambda pair: pair[1]):
            loaded[task // setting["readers"]].append(end_ns)
        expected = loop_of_the_benchmark(loaded, setting["batch"], setting["compute_ns"], 30)
        assert utilisation_of(line) == pytest.approx(expected, rel=1e-9 if place == "sim" else 0.02)
    assert not list((tmp_path / "data").iterdir()), "nothing is left in the directory"


@pytest.mark.parametrize("steps", [12, 60])
def test_a_rate_is_of_what_accelerators_take_however_long_a_trial_is(steps: int, tmp_path: Path) -> None:
    """They are fed all the time, so that they take what they compute on; what fills the queues before is no part."""
    run = carried_out(campaign(MODEL, "60ms", "[2]").replace("steps = 30", f"steps = {steps}"), tmp_path)
    (trained,) = analyse(run).trained
    (point,) = trained.points
    assert point.utilisation > 0.999
    assert trained.demand_bytes_per_s is not None
    assert point.samples_per_s == pytest.approx(2 * 5 / 0.06, rel=0.001)
    assert point.bandwidth_bytes_per_s == pytest.approx(2 * trained.demand_bytes_per_s, rel=0.03), "samples differ"
    for line in run.trials():
        if line["phase"] == "train":
            assert headline(line)[0] == pytest.approx(point.bandwidth_bytes_per_s, rel=0.03)
            assert line["operations"] * 1e9 / (line["elapsed_ns"] or 1) > 1.03 * point.samples_per_s


def answered(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    argv = ["probe", target, "--training", "unet3d-h100", "--seed", "1", "--json", "--out", str(tmp_path / "run")]
    assert main([*argv, *words]) == 0
    summary = json.loads(capsys.readouterr().out)
    jsonschema.validate(summary, schema())
    (trained,) = summary["training"]
    return dict(trained)


def test_the_answer_holds_the_number_that_follows_from_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # An accelerator asks for 3.177 GB/s, and is fed with nine tenths of it: 35 GB/s are enough for 12.
    trained = answered("sim:knee=4,plateau=35GB/s,noise=3%", tmp_path, capsys)
    answer = trained["answer"]
    assert answer["low"] <= 12 <= answer["high"] and answer["shown"], answer
    assert (answer["limit"], trained["model"], answer["utilisation"]) == ("storage", "unet3d-h100", 0.9)
    assert main(["report", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert f"feeds {answer['accelerators']} accelerators [{answer['low']}, {answer['high']}] of kind h100" in told
    assert "at 90 % utilisation, unet3d" in told
    rows = re.findall(r"^ *\d+ +([\d.]+) % +\[([\d.]+) %, ([\d.]+) %\]", told, re.MULTILINE)
    assert rows and all(float(low) <= float(share) <= float(high) for share, low, high in rows), rows
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_a_storage_that_does_not_feed_one_says_so_and_who_is_to_blame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few_readers = answered("sim:knee=64,plateau=35GB/s,noise=3%", tmp_path / "1", capsys, "--budget", "90s")
    assert (few_readers["answer"]["high"], few_readers["answer"]["limit"]) == (0, "readers")
    slow = answered("sim:knee=1,plateau=1GB/s,noise=3%", tmp_path / "2", capsys, "--budget", "90s")
    assert (slow["answer"]["high"], slow["answer"]["limit"]) == (0, "storage")
    assert main(["report", str(tmp_path / "2" / "run")]) == 0
    assert "does not feed 1 accelerator of kind h100 at 90 % utilisation, unet3d" in capsys.readouterr().out


def test_a_storage_that_feeds_all_that_were_tried_says_at_least(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = answered("sim:knee=1,plateau=900GB/s,noise=3%", tmp_path, capsys, "--accelerators", "8")
    answer = trained["answer"]
    assert (answer["low"], answer["high"], answer["limit"], answer["shown"]) == (8, None, None, True)


def test_readers_that_are_asked_for_little_are_no_stragglers(tmp_path: Path) -> None:
    argv = ["probe", "--training", "resnet50-a100", "--accelerators", "4", "--seed", "1", "--no-report"]
    assert main([*argv, "--out", str(tmp_path / "run"), "sim:knee=1,plateau=900GB/s,noise=3%"]) == 0
    tasks = tmp_path / "run" / "tasks.jsonl"
    lines = [json.loads(line) for line in tasks.read_text().splitlines()]
    for line in lines:
        line["bytes"] //= 20 if line["phase"] == "train" and line["task"] == 0 else 1
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "straggler-task" not in {found.code for found in analyse(Run.open(tmp_path / "run")).findings}


def test_what_limits_is_not_told_of_trials_that_were_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A budget of ten trials has none for the question who is to blame."""
    trained = answered("sim:knee=1,plateau=1GB/s,noise=3%", tmp_path, capsys, "--budget", "65s")
    repeated = [one for one in trained["points"] if one["accelerators"] >= trained["answer"]["starved"]]
    told = [len(one["utilisations"]) for one in repeated]
    assert trained["answer"]["starved"] == 1
    assert (trained["answer"]["limit"] is None) == (min(told[0], max(told[1:], default=0)) < 2), told
    single = _of_one_trial_each(tmp_path / "run")
    assert single.limit is None and single.starved == 1
    assert main(["report", str(tmp_path / "run")]) == 0


def _of_one_trial_each(path: Path) -> Any:
    """The answer of the same run, where of each number only the first trial is known."""
    run = Run.open(path)
    (trained,) = analyse(run).trained
    few = [replace(one, utilisations=one.utilisations[:1]) for one in trained.points]
    return accelerators._answer(run.manifest["accelerators"], few, ())


def test_a_short_trial_tells_what_an_epoch_of_500_steps_would(tmp_path: Path) -> None:
    """The queues that fill at the beginning of a trial are missing of its utilisation as of an epoch's, and no more."""
    text = f"""
target = "{MODEL.replace("1GB/s", "20GB/s")}"
seed = 5
[workload]
kind = "training"
model = "unet3d-h100"
dataset = "40GB"
accelerators = [6]
steps = STEPS
[repeat]
count = 12
"""
    found = {}
    for steps in (40, 500):
        run = carried_out(text.replace("STEPS", str(steps)), tmp_path / str(steps))
        lines = [line for line in run.trials() if line["phase"] == "train"]
        found[steps] = (fmean(map(_plain, lines)), fmean(map(_epoch, lines)))
    assert found[40][0] < found[500][0] - 0.01, "the short trial misses some of it"
    assert found[40][1] == pytest.approx(found[500][0], abs=0.007), found
    assert found[500][1] == found[500][0]


def _plain(line: TrialLine) -> float:
    return utilisation_of(line) or 0.0


def _epoch(line: TrialLine) -> float:
    return accelerators.epoch_utilisation_of(line) or 0.0


def test_checkpoints_pause_the_accelerators_and_are_told_beside_the_utilisation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a device that writes 1 GB/s a checkpoint of 100 MB takes 0.1 s; ten steps of 50 ms are between two."""
    more = 'checkpoint_every = 10\ncheckpoint_size = "100MB"\n'
    run = carried_out(campaign("sim:knee=1,plateau=1GB/s", "50ms", "[2]", more), tmp_path)
    (trained,) = analyse(run).trained
    (point,) = trained.points
    assert point.utilisation == pytest.approx(1.0, abs=0.01)
    told = point.checkpoints
    assert told is not None
    # 96 transfers of 1 MiB; three checkpoints in each of two trials.
    assert (told.count, told.bytes) == (6, 96 << 20)
    assert told.mean_ns == pytest.approx((96 << 20) + 200_000, rel=0.05)
    assert told.time_share == pytest.approx(3 * 0.1 / (3 * 0.1 + 30 * 0.05), abs=0.01)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "6 checkpoints of 96 MiB took 101 ms each" in out
    assert "straggler-task" not in out, "one that writes checkpoints is no slow reader"
    assert main(["verify", str(tmp_path / "run")]) == 0


@pytest.mark.parametrize("budget", ["5m", "20m"])
def test_with_checkpoints_a_search_says_of_an_epoch_what_long_trials_say(
    budget: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Short trials begin with empty queues: taken for an epoch, they fed 8 where trials of 200 steps feed 20."""
    device, every = "sim:knee=4,plateau=20GB/s,noise=3%", ("--checkpoint-every", "5", "--checkpoint-size", "10GiB")
    answer = answered(device, tmp_path, capsys, *every, "--budget", budget)["answer"]
    assert answer["low"] > 8 and answer["limit"] in (None, "storage")
    assert answer["high"] is None or answer["high"] >= 18
    long = 'kind = "training"\nmodel = "unet3d-h100"\ncheckpoint_every = 5\ncheckpoint_size = "10GiB"\nsteps = 200\n'
    more = f'target = "{device}"\n[workload]\n{long}accelerators = {answer["low"]}\n'
    run = carried_out(more, tmp_path / "long")
    (trained,) = analyse(run).trained
    assert trained.points[0].utilisation >= 0.9


def test_checkpoints_leave_no_file_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    more = 'checkpoint_every = 10\ncheckpoint_size = "llama3-8b"\n'
    text = campaign(str(tmp_path / "data"), "2ms", "[1, 3]", more).replace("seed = 3", "seed = 3\nscale = 0.00001")
    text = text.replace('sample_size = "200KiB"\nsample_spread = "60KiB"', 'sample_size = "20GB"')
    run = carried_out(text.replace("transfer_size", "#"), tmp_path)
    assert not list((tmp_path / "data").iterdir())
    for line in (line for line in run.trials() if line["phase"] == "train"):
        assert line["status"] == "ok" and len(line["training"]["checkpoints"]) == 3
        tasks = [task for task in run.tasks() if task["record"] == line["record"] and task["role"] == "save"]
        assert len(tasks) == line["setting"]["accelerators"]
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_a_sweep_has_a_table_and_no_answer(tmp_path: Path) -> None:
    run = carried_out(campaign(MODEL, "3ms", "[1, 2, 8]"), tmp_path)
    (trained,) = analyse(run).trained
    assert (trained.answer, [one.accelerators for one in trained.points]) == (None, [1, 2, 8])
    # 8 accelerators ask for 8 × 5 samples of 200 KiB in 3 ms, of a device that has 1 GB/s; and wait for each other.
    assert trained.points[2].utilisation == pytest.approx(0.003 * 1e9 / (8 * 5 * 204_800), rel=0.12)
    assert trained.points[2].idle < 0.05 < trained.points[2].starved
