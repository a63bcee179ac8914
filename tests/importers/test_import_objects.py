"""``tonnage import`` of benchmarks of object stores and of trainings, by lines as they print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, codes, summary, take

MIB = 2**20
OLD = """\
----------------------------------------
Operation: PUT (2000). Ran 20s. Size: 4000 bytes. Concurrency: 60. Warp Instances: 6.

Requests considered: 1900:
 * Avg: 85ms, 50%: 80ms, 90%: 127ms, 99%: 1.17s, Fastest: 26ms, Slowest: 2.511s, StdDev: 37ms

Throughput:
* Average: 0.38 MiB/s, 100.00 obj/s

Throughput, split into 15 x 1s:
 * Fastest: 3.2MiB/s, 837.01 obj/s (1s, starting 03:55:27 UTC)
"""
MIXED = """\
Report: DELETE. Concurrency: 64. Ran: 4m57s
 * Average: 17.67 obj/s
 * Reqs: Avg: 107.7ms, 50%: 25.0ms, 90%: 338.4ms, 99%: 730.3ms, Fastest: 1.7ms, Slowest: 2736.1ms, StdDev: 165.4ms

Report: GET. Concurrency: 64. Ran: 4m58s
 * Average: 80.00 MiB/s, 80.00 obj/s
 * Reqs: Avg: 229.8ms, 50%: 166.1ms, 90%: 502.8ms, 99%: 948.7ms, Fastest: 10.8ms, Slowest: 1715.8ms, StdDev: 198.3ms
 * TTFB: Avg: 73ms, Best: 1ms, 25th: 8ms, Median: 14ms, 75th: 71ms, 90th: 212ms, 99th: 702ms, Worst: 1.575s

Report: Total. Concurrency: 64. Ran: 4m58s
 * Average: 97.67 MiB/s, 97.67 obj/s
"""
OLD_MIXED = """\
Mixed operations.
Operation: DELETE, 10%, Concurrency: 20, Ran 1m0s.
 * Throughput: 22.03 obj/s

Operation: GET, 45%, Concurrency: 20, Duration: 59s.
 * Throughput: 1008.33 MiB/s, 100.83 obj/s

Operation: STAT - total: 18012, 30.0%, Concurrency: 20, Ran 59s, starting 2022-12-13 19:48:23.673 +0530 +0530
 * Throughput: 302.51 obj/s

Cluster Total: 1008.33 MiB/s, 425.37 obj/s over 1m0s.
"""
"""As versions 0.3 to 1.0 print a mix: without details, as of 2020, and with ``--analyze.v``."""
DETAILED = """\
Report: GET (1003 reqs). Ran Duration: 10s, starting 09:10:11 CET
 * Objects per request: 1. Size: 4096 bytes. Concurrency: 20.
 * Average: 0.39 MiB/s, 100.00 obj/s (10s)
 * Reqs: Avg: 3.1ms, 50%: 3.0ms, 90%: 4.0ms, 99%: 8.0ms, Fastest: 1.0ms, Slowest: 504ms, StdDev: 1.2ms
"""
COUNTED = """\
Report: PUT. Concurrency: 1. Ran: 7s
 * Average: 28.41 MiB/s, 28.41 obj/s
 * Reqs: Avg: 35.0ms, 50%: 36.1ms, 90%: 40.0ms, 99%: 43.5ms, Fastest: 28.7ms, Slowest: 53.3ms
 * Reqs: 261, Errs: 0, Objs: 261, Bytes: 261.0MiB
"""


def imported(text: str, tmp_path: Path) -> Run:
    """Of a file whose kind is told by what is in it."""
    tmp_path.mkdir(exist_ok=True)
    file = tmp_path / "printed"
    file.write_text(text)
    assert main(["import", str(file), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    return Run.open(tmp_path / "run")


def test_a_put_of_warp_is_its_rate_times_its_time(tmp_path: Path) -> None:
    (line,) = imported(OLD, tmp_path).trials()
    assert (line["phase"], line["setting"]["tasks"], line["setting"]["transfer_size"]) == ("write", 60, 4000)
    assert (line["operations"], line["bytes"], line["elapsed_ns"]) == (2000, 2000 * 4000, 20 * 10**9)
    assert (line["latency"]["p50_ns"], line["latency"]["p99_ns"]) == (80_000_000, 1_170_000_000)
    assert line["latency"]["max_ns"] == 2_511_000_000


def test_an_old_mix_of_warp_is_read_in_each_form_of_its_headings(tmp_path: Path) -> None:
    run = imported(OLD_MIXED, tmp_path)
    remove, read, stat = run.trials()
    assert (remove["phase"], remove["operations"], remove["elapsed_ns"]) == ("remove", round(22.03 * 60), 60 * 10**9)
    assert (read["phase"], read["operations"], read["elapsed_ns"]) == ("read", round(100.83 * 59), 59 * 10**9)
    # Of what a heading counts, the rate tells the time to more digits than whole seconds do.
    assert (stat["phase"], stat["operations"]) == ("stat", 18012)
    assert stat["elapsed_ns"] == pytest.approx(18012 / 302.51 * 1e9)
    assert {line["setting"]["tasks"] for line in run.trials()} == {20}
    assert {"side-by-side", "bytes-estimated"} <= codes(run)


def test_what_a_detailed_report_of_warp_counts_is_no_estimate(tmp_path: Path) -> None:
    run = imported(DETAILED, tmp_path)
    (line,) = run.trials()
    assert (line["operations"], line["bytes"], line["setting"]["tasks"]) == (1003, 1003 * 4096, 20)
    assert line["operations"] * 1e9 / line["elapsed_ns"] == pytest.approx(100)
    assert "bytes-estimated" not in codes(run)
    # Of a longer run than the time that its rate is of, the rate stands.
    run = imported(DETAILED.replace("1003", "1500"), tmp_path / "longer")
    assert [line["operations"] for line in run.trials()] == [1000]
    assert "bytes-estimated" in codes(run)


def test_a_text_of_warp_that_says_too_little_is_told_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "printed"
    file.write_text("Operation: PUT. Concurrency: 20\n* Average: 125.50 MiB/s, 12.55 obj/s\n")
    assert main(["import", "warp", str(file), "--out", str(tmp_path / "run")]) == 2
    assert "line 1: PUT does not say for how long; left out" in capsys.readouterr().err


def test_operations_of_a_mix_are_apart_and_are_told_as_one_beside_the_other(tmp_path: Path) -> None:
    run = imported(MIXED, tmp_path)
    remove, read = run.trials()
    assert (remove["phase"], remove["operations"]) == ("remove", round(17.67 * 297))
    assert (read["bytes"], read["latency"]["mean_ns"]) == (80 * MIB * 298, 229_800_000)
    assert {"side-by-side", "bytes-estimated"} <= codes(run)


def test_errors_that_warp_counted_are_a_failed_trial(tmp_path: Path) -> None:
    for text in (
        OLD + "\n * Errors: 12\nThroughput by host:\n * http://a:9000: Avg: 50 obj/s\nErrors: 7\n",
        COUNTED.replace("Errs: 0", "Errs: 12"),
    ):
        (line,) = imported(text, tmp_path / str(len(text))).trials()
        assert (line["status"], line["reason"]) == ("failed", "warp counted 12 errors")
    (line,) = imported(COUNTED, tmp_path / "counted").trials()
    assert line["status"] == "ok"


SUMMARY: dict[str, Any] = {
    "num_accelerators": 4,
    "num_hosts": 2,
    "hostname": "node1",
    "start": "2026-11-26T10:00:00.000000",
    "end": "2026-11-26T10:01:40.000000",
    "metric": {
        "train_au_percentage": [91.0, 95.0],
        "train_throughput_samples_per_second": [10.0, 30.0],
        "train_throughput_mean_samples_per_second": 20.0,
        "train_io_mean_MB_per_second": 2800.0,
    },
}


def test_a_published_result_of_mlperf_storage_is_a_training_with_its_utilisation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = take("dlio", tmp_path / "run", RECORDED / "dlio" / "unet3d-h100-36-summary.json")
    lines = run.trials()
    assert [line["stated_training"]["utilisation"] for line in lines] == pytest.approx(
        [0.93482, 0.93988, 0.92931, 0.93648, 0.93875], abs=1e-4
    )
    # 708.9 samples of 146.6 MB each second, in five epochs of 907.3 s together.
    assert {line["setting"]["sample_size"] for line in lines} == {146_600_628}
    assert sum(line["operations"] for line in lines) == pytest.approx(708.853 * 907.31, rel=1e-4)
    assert sum(line["bytes"] for line in lines) == pytest.approx(708.853 * 907.31 * 146_600_628, rel=1e-4)
    (trained,) = summary(run)["training"]
    (point,) = trained["points"]
    assert (point["accelerators"], point["starved"], trained["demand_bytes_per_s"]) == (36, None, None)
    assert point["utilisation"] == pytest.approx(0.9365, abs=1e-3)
    assert "utilisation-missed" not in codes(run)
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "36 accelerators compute 93.6 % [93.0 %, 94.2 %] of the time" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run")]) == 0
    twice = take("dlio", tmp_path / "other", RECORDED / "dlio" / "unet3d-h100-36-summary.json")
    capsys.readouterr()
    assert main(["compare", str(run.path), str(twice.path)]) == 0
    told = capsys.readouterr().out
    assert "train" in told and "a verdict about the system takes 3 runs a side" in told
    assert main(["history", str(run.path), str(twice.path)]) == 0


def test_a_summary_that_missed_its_utilisation_says_so(tmp_path: Path) -> None:
    metric = {**SUMMARY["metric"], "train_au_mean_percentage": 84.0, "train_au_meet_expectation": "fail"}
    run = imported(json.dumps({**SUMMARY, "metric": metric}, indent=4), tmp_path)
    (finding,) = (one for one in summary(run)["findings"] if one["code"] == "utilisation-missed")
    assert "utilisation of 84 % is below" in json.dumps(finding)


STATS = {
    "1": {
        "start": "2026-11-26T10:00:00.000000",
        "save_ckpt1": {"duration": 2.5, "throughput": 4.0},
        "load_ckpt1": {"duration": 1.25, "throughput": 8.0},
        "save_ckpt2": {"duration": 5.0, "throughput": 2.0},
    }
}


def test_each_checkpoint_of_the_epochs_is_a_trial_in_gib(tmp_path: Path) -> None:
    run = imported(json.dumps(STATS, indent=4), tmp_path)
    found = [(line["phase"], line["bytes"], line["elapsed_ns"]) for line in run.trials()]
    size = 10 * 2**30
    assert found == [("checkpoint", size, 25 * 10**8), ("restart", size, 125 * 10**7), ("checkpoint", size, 5 * 10**9)]


def test_a_checkpoint_benchmark_is_its_mean_checkpoint(tmp_path: Path) -> None:
    metric = {
        "save_checkpoint_io_mean_GB_per_second": 21.0,
        "save_checkpoint_duration_mean_seconds": 5.0,
        "load_checkpoint_duration_mean_seconds": 2.0,
        "checkpoint_size_GB": 105.0,
    }
    run = imported(json.dumps({"num_accelerators": 8, "metric": metric}, indent=4), tmp_path)
    save, load = run.trials()
    assert (save["phase"], save["setting"]["tasks"], save["bandwidth_bytes_per_s"]) == ("checkpoint", 8, 21 * 2**30)
    assert (load["phase"], load["bandwidth_bytes_per_s"]) == ("restart", 105 * 2**29)
    assert "from-summary" in codes(run)


DAMAGED = {
    "a time that is none": ({"save_checkpoint_duration_mean_seconds": 0}, "a time of checkpoints without a size"),
    "no utilisation": ({"train_au_percentage": None}, "it has no accelerator utilisation of any epoch"),
    "more than all the time": (
        {"train_au_percentage": [150.0, 95.0]},
        "it has no accelerator utilisation of epoch 1 (",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_a_summary_of_dlio_cannot_say_is_named(case: str, tmp_path: Path) -> None:
    metric, told = DAMAGED[case]
    run = imported(json.dumps({**SUMMARY, "metric": {**SUMMARY["metric"], **metric}}, indent=4), tmp_path)
    (problem,) = run.manifest["imported"]["problems"]
    assert told in problem and "damaged-file" in codes(run)


def test_a_checkpoint_of_the_epochs_without_a_time_is_named(tmp_path: Path) -> None:
    stats = {"1": {**STATS["1"], "save_ckpt2": {"throughput": 2.0}}}
    run = imported(json.dumps(stats, indent=4), tmp_path)
    assert len(run.trials()) == 2
    assert run.manifest["imported"]["problems"][0].endswith("a checkpoint without a duration and a throughput above 0")


@pytest.mark.parametrize(("rate", "told"), [(21.0, False), (24.0, False), (210.0, True), (2.1, True)])
def test_a_rate_that_size_and_time_cannot_give_is_told(rate: float, told: bool, tmp_path: Path) -> None:
    """A mean of rates is above the rate of the mean time: 21 GB/s here."""
    metric = {
        "save_checkpoint_io_mean_GB_per_second": rate,
        "save_checkpoint_duration_mean_seconds": 5.0,
        "checkpoint_size_GB": 105.0,
    }
    run = imported(json.dumps({"num_accelerators": 8, "metric": metric}, indent=4), tmp_path)
    assert ("unit-mismatch" in codes(run)) == told


def test_runs_of_dlio_have_their_time(tmp_path: Path) -> None:
    run = imported(json.dumps(SUMMARY, indent=4), tmp_path)
    assert run.manifest["created"] == "2026-11-26T10:00:00"


def test_times_of_epochs_alone_are_refused_and_name_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = RECORDED / "dlio" / "unet3d-h100-36-per_epoch_stats.json"
    assert main(["import", "dlio", str(file), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "no checkpoint with a rate; give summary.json" in told and told.count("\n") == 1


def test_epochs_of_dlio_are_repetitions(tmp_path: Path) -> None:
    run = imported(json.dumps(SUMMARY, indent=4), tmp_path)
    first, second = run.trials()
    assert (first["setting"]["tasks"], first["setting"]["sample_size"]) == (4, 140 * MIB)
    assert (first["bytes"], first["elapsed_ns"]) == (10 * 50 * 140 * MIB, 50 * 10**9)
    assert second["bandwidth_bytes_per_s"] == 30 * 140 * MIB
    assert [line["repetition"] for line in (first, second)] == [0, 1]
    assert run.manifest["host"] == {"hostname": "node1"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_accelerators": 0}, "accelerators or rates are missing"),
        ({"end": "2026-11-26T10:00:00.000000"}, "does not say when it began and ended"),
        ({"metric": {"train_throughput_samples_per_second": ["a"]}}, "accelerators or rates are missing"),
        ({"metric": {"save_checkpoint_io_mean_GB_per_second": 2}}, "no training of which each epoch has a rate"),
    ],
)
def test_a_summary_that_says_too_little_is_refused_in_one_line(
    wrong: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "summary.json"
    file.write_text(json.dumps({**SUMMARY, **wrong}))
    assert main(["import", "dlio", str(file), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1 and not (tmp_path / "run").exists()


def test_a_text_of_warp_that_breaks_off_keeps_what_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "printed"
    file.write_text(MIXED[: MIXED.index("Report: Total") - 250])
    run = take("warp", tmp_path / "run", file)
    assert [line["phase"] for line in run.trials()] == ["remove"]


VDBENCH = """\
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018

23:59:57.002 Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max
23:59:58.000           1      320.0    40.00  131072   0.00    0.739    0.000    0.739     0.00    32.50    2.466    0.2  36.5  25.0
23:59:58.001     avg_2-1        0.0     0.00       0   0.00    0.000    0.000    0.000     0.00     0.00    0.000    0.0   NaN   NaN

23:59:58.002 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=4; For loops: None

Nov 26, 2026    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
23:59:59.018           1       84.0     0.08    1024  75.00    0.013    0.010    0.015     0.03     0.05    0.006    0.4  19.2   1.5
00:00:00.011           2      103.0     0.10    1024  75.00    0.012    0.010    0.014     0.05     0.02    0.005    2.6   5.0   0.5
00:00:01.011           3      103.0     0.10    1024  75.00    0.012    0.010    0.014     0.05     0.02    0.005    1.6   5.0   0.5
00:00:01.021     avg_2-3      103.0     0.10    1024  75.00    0.012    0.010    0.014     0.05     0.07    0.005    1.0   5.0   0.5
"""  # noqa: E501


def test_an_average_of_vdbench_leaves_the_first_interval_out_and_has_no_threads(tmp_path: Path) -> None:
    run = imported(VDBENCH, tmp_path)
    read, write = run.trials()
    assert (read["phase"], read["elapsed_ns"], read["operations"]) == ("read", 2 * 10**9, round(103 * 0.75 * 2))
    assert (write["operations"], write["bytes"]) == (round(103 * 0.25 * 2), round(103 * 0.25 * 2) * 1024)
    assert read["setting"]["tasks"] == 3, "2.6 were in flight"
    assert (read["latency"]["mean_ns"], write["latency"]["max_ns"]) == (10_000, 70_000)
    assert "side-by-side" in codes(run)
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(VDBENCH)
    second.write_text(VDBENCH.replace("avg_2-3      103.0", "avg_2-3      105.0"))
    assert "kept-apart" in codes(take("vdbench", tmp_path / "both", first, second)), "each may have had other threads"


def test_older_columns_of_vdbench_are_read_and_other_ones_told(tmp_path: Path) -> None:
    old = (
        "09:58:54.000 Starting RD=rd1; I/O rate: MAX; elapsed=40; For loops: threads=8\n"
        "09:58:56.048        31    8635.00    33.73    4096 100.00    3.703   18.697    1.768     7.1   6.1\n"
        "09:58:57.048        32    8471.00    33.09    4096 100.00    3.775   31.621    1.863     6.7   5.7\n"
        "09:59:00.051  avg_6-35    8482.60    33.14    4096 100.00    3.770  372.672    2.940     7.4   5.8\n"
        "09:59:01.051  avg_6-35    8482.60    33.14\n"
    )
    file = tmp_path / "old"
    file.write_text(old)
    run = take("vdbench", tmp_path / "run", file)
    (line,) = run.trials()
    assert (line["setting"]["tasks"], line["elapsed_ns"], line["latency"]["max_ns"]) == (8, 30 * 10**9, 372_672_000)
    assert line["bandwidth_bytes_per_s"] == pytest.approx(33.14 * MIB, rel=1e-3)
    assert "line 5: rd1 has a row with other columns" in run.manifest["imported"]["problems"][0]
