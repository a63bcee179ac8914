"""``tonnage import`` of what tools print for people: fio, iperf3, iozone, as recorded from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main

from .import_command import RECORDED, codes, lines, rates, take

KIB, MIB = 2**10, 2**20
WHOLE = (
    ("fio-text", "fio/3.33-write-2jobs.txt"),
    ("fio-text", "fio/3.33-mix-grouped.txt"),
    ("fio-text", "fio/3.33-two.txt"),
    ("fio-text", "fio/3.33-odd.txt"),
    ("fio-terse", "fio/3.33-write-2jobs.terse"),
    ("fio-terse", "fio/3.33-mix.terse"),
    ("fio-terse", "fio/3.33-mix-4.terse"),
    ("fio-terse", "fio/3.33-mix-5.terse"),
    ("ior-operations", "ior/operations/two-0-00000.csv"),
    ("iozone", "iozone/3.489-all.txt"),
    ("iozone", "iozone/3.489-gap.txt"),
    ("iozone", "iozone/3.489-fsync.txt"),
)
ROUNDED = tuple(
    ("iperf3-text", f"iperf3/{test}.{end}.txt") for test in ("send", "recv", "udp") for end in ("client", "server")
)


@pytest.mark.parametrize(("kind", "name"), (*WHOLE, *ROUNDED))
def test_a_text_is_read_without_doubt_and_can_be_verified(kind: str, name: str, tmp_path: Path) -> None:
    run = take(kind, tmp_path / "run", RECORDED / name)
    doubts = codes(run) & {"unit-mismatch", "damaged-file", "bytes-estimated", "copy-failed", "trial-failed"}
    assert doubts == ({"bytes-estimated"} if (kind, name) in ROUNDED else set())
    assert main(["verify", str(run.path)]) == 0
    assert run.manifest["state"] == "complete"


def test_jobs_of_one_name_in_fio_s_text_are_tasks_of_one_trial(tmp_path: Path) -> None:
    run = take("fio-text", tmp_path / "run", RECORDED / "fio/3.33-write-2jobs.txt")
    (line,) = run.trials()
    assert (line["setting"]["tasks"], line["bytes"], line["operations"]) == (2, 16 * MIB, 256)
    assert line["setting"]["transfer_size"] == 64 * KIB
    assert line["elapsed_ns"] == pytest.approx(28e6, rel=0.01), "the slower of the two"
    assert [task["bytes"] for task in run.tasks()] == [8 * MIB, 8 * MIB]


def test_one_entry_of_a_group_of_fio_is_all_its_jobs(tmp_path: Path) -> None:
    run = take("fio-text", tmp_path / "run", RECORDED / "fio/3.33-mix-grouped.txt")
    read, write = run.trials()
    assert (read["setting"]["tasks"], read["bytes"], read["operations"]) == (2, 713 * 4096, 713)
    assert (write["bytes"], write["setting"]["queue_depth"]) == (311 * 4096, 8)
    assert read["latency"]["p99_ns"] == 7_832_000
    assert read["latency"]["max_ns"] == 9_622_000
    assert "side-by-side" in codes(run)


def test_latencies_in_thousands_of_nanoseconds_are_not_nanoseconds(tmp_path: Path) -> None:
    text = (RECORDED / "fio/3.33-odd.txt").read_text()
    assert "max=53940" in text
    path = tmp_path / "fio.txt"
    path.write_text(text.replace("max=53940", "max=5394.0k"))
    (line,) = take("fio-text", tmp_path / "run", path).trials()
    assert line["latency"]["max_ns"] == 5_394_000


def test_bytes_of_fio_s_text_that_its_operations_do_not_explain_are_estimated(tmp_path: Path) -> None:
    path = tmp_path / "fio.txt"
    path.write_text((RECORDED / "fio/3.33-odd.txt").read_text().replace("(W) 6000B-6000B", "(W) 4096B-64.0KiB"))
    run = take("fio-text", tmp_path / "run", path)
    (line,) = run.trials()
    assert line["bytes"] == 1465 * KIB
    assert line["setting"]["transfer_size"] is None
    assert "bytes-estimated" in codes(run)


def test_a_job_that_fio_prints_again_counts_once(tmp_path: Path) -> None:
    text = lines(RECORDED / "fio/3.33-odd.txt")
    job = text[5:]
    path = tmp_path / "fio.txt"
    path.write_text("".join([*text, *job]))
    (line,) = take("fio-text", tmp_path / "run", path).trials()
    assert line["setting"]["tasks"] == 1


def test_a_terse_line_and_fio_s_text_of_one_workload_agree(tmp_path: Path) -> None:
    (line,) = take("fio-terse", tmp_path / "run", RECORDED / "fio/3.33-write-2jobs.terse").trials()
    assert (line["setting"]["tasks"], line["bytes"], line["operations"]) == (2, 16 * MIB, 256)
    read, write = take("fio-terse", tmp_path / "mix", RECORDED / "fio/3.33-mix.terse").trials()
    assert (read["bytes"], read["operations"], read["latency"]["max_ns"]) == (2852 * KIB, 713, 6_567_000)
    assert (write["bytes"], write["operations"], write["latency"]["p99_ns"]) == (1244 * KIB, 311, 95_000)
    # Version 5 has other columns between the two directions.
    read, write = take("fio-terse", tmp_path / "5", RECORDED / "fio/3.33-mix-5.terse").trials()
    assert (read["bytes"], write["bytes"]) == (1408 * KIB, 640 * KIB)


def test_a_text_of_iperf3_is_its_sum_without_the_warm_up(tmp_path: Path) -> None:
    for end in ("client", "server"):
        (line,) = take("iperf3-text", tmp_path / end, RECORDED / f"iperf3/send.{end}.txt").trials()
        assert line["setting"]["streams"] == 2
        assert line["bandwidth_bytes_per_s"] == pytest.approx(4.33e9 / 8, rel=0.01), end
        assert line["setting"]["direction"] == "send"
    client, server = (
        take("iperf3-text", tmp_path / f"r{end}", RECORDED / f"iperf3/recv.{end}.txt").trials()[0]
        for end in ("client", "server")
    )
    assert {client["setting"]["direction"], server["setting"]["direction"]} == {"receive"}
    assert client["bandwidth_bytes_per_s"] == pytest.approx(4.66e9 / 8, rel=0.01)


def test_both_ways_at_once_in_iperf3_s_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = RECORDED / "iperf3/bidir.client.txt"
    assert main(["import", "iperf3-text", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "hint: iperf3 --json" in capsys.readouterr().err


def test_each_column_of_iozone_is_a_test_of_its_own(tmp_path: Path) -> None:
    run = take("iozone", tmp_path / "run", RECORDED / "iozone/3.489-all.txt")
    by_test = {line["setting"]["test"]: line["bandwidth_bytes_per_s"] for line in run.trials()}
    assert len(by_test) == 13
    for test, kib in (("write", 2832715), ("record-rewrite", 17356809), ("stride-read", 9529517), ("freread", 8981502)):
        assert by_test[test] == pytest.approx(kib * KIB, rel=1e-4), test
    gaps = take("iozone", tmp_path / "gaps", RECORDED / "iozone/3.489-gap.txt")
    assert [line["setting"]["test"] for line in gaps.trials()] == ["write", "rewrite", "random-read", "random-write"]
    assert rates(gaps, "read") == pytest.approx([9247398 * KIB], rel=1e-4)


def test_an_fsync_in_iozone_s_clock_is_another_setting(tmp_path: Path) -> None:
    run = take("iozone", tmp_path / "run", RECORDED / "iozone/3.489-fsync.txt")
    assert {line["durability"] for line in run.trials() if line["phase"] == "write"} == {"fsync"}
    assert {line["setting"]["transfer_size"] for line in run.trials()} == {64 * KIB, MIB}


@pytest.mark.parametrize(("name", "why"), [("O", "operations per second"), ("t", "throughput mode")])
def test_figures_of_iozone_that_are_no_bytes_over_time_are_refused(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = RECORDED / f"iozone/3.489-{name}.txt"
    assert main(["import", "iozone", str(path), "--out", str(tmp_path / "run")]) == 2
    assert why in capsys.readouterr().err


def test_operations_of_ior_have_the_size_that_their_rates_and_times_agree_on(tmp_path: Path) -> None:
    files = [RECORDED / f"ior/operations/two-0-0000{rank}.csv" for rank in (0, 1)]
    run = take("ior-operations", tmp_path / "run", *files)
    assert [line["bytes"] for line in run.trials()] == [32 * 64 * KIB, 32 * 64 * KIB]
    assert [line["setting"]["rank"] for line in run.trials()] == [0, 1], "two ranks are no repetitions of each other"
    longest = max(float(line.split(",")[1]) for line in lines(files[0])[1:])
    assert run.trials()[0]["latency"]["max_ns"] == pytest.approx(longest * 1e9, abs=1)
    assert {line["phase"] for line in run.trials()} == {"transfer"}, "the file does not say which way"
