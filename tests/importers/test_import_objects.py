"""``tonnage import`` of benchmarks of object stores and of trainings, by lines as they print them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import codes, take

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


def imported(text: str, tmp_path: Path) -> Run:
    """Of a file whose kind is told by what is in it."""
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


def test_operations_of_a_mix_are_apart_and_are_told_as_one_beside_the_other(tmp_path: Path) -> None:
    run = imported(MIXED, tmp_path)
    remove, read = run.trials()
    assert (remove["phase"], remove["operations"]) == ("remove", round(17.67 * 297))
    assert (read["bytes"], read["latency"]["mean_ns"]) == (80 * MIB * 298, 229_800_000)
    assert {"side-by-side", "bytes-estimated"} <= codes(run)


def test_errors_that_warp_counted_are_a_failed_trial(tmp_path: Path) -> None:
    run = imported(OLD + "\n * Errors: 12\n", tmp_path)
    (line,) = run.trials()
    assert (line["status"], line["reason"]) == ("failed", "warp counted 12 errors")


SUMMARY = {
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
