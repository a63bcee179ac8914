"""``tonnage import`` of each tool but IOR: what its figures mean, from recorded outputs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main

from tests.records.manifests import rewritten

from .import_command import RECORDED, codes, lines, rates, summary, take

MIB = 2**20
WHOLE = (
    ("mdtest", "mdtest/i3-files-3901.txt"),
    ("mdtest", "mdtest/2rank.txt"),
    ("mdtest", "mdtest/3.3.0-verbose.txt"),
    ("fio", "fio/rw-2jobs.json"),
    ("fio", "fio/write-grouped.json"),
    ("fio", "fio/plus.json"),
    ("fio", "fio/2.1.10-mix.json"),
    ("fio", "fio/2.2.10.json"),
    ("fio", "fio/2.15-mix.json"),
    ("fio", "fio/2.99-write.json"),
    ("fio", "fio/client.json"),
    ("fio-log", "fio/w_bw.1.log"),
    ("fio-log", "fio/each_lat.1.log"),
    ("elbencho", "elbencho/elbencho.csv"),
    ("elbencho", "elbencho/elbencho.json"),
    ("iperf3", "iperf3/send.client.json"),
    ("iperf3", "iperf3/both.client.json"),
    ("sob", "sob/lines.txt"),
    ("rados", "rados/write-seq.txt"),
    ("rados", "rados/old-read.txt"),
    ("rados", "rados/16.2.txt"),
    ("rados", "rados/16.2-json.txt"),
    ("rados", "rados/16.2-pretty.txt"),
    ("rados", "rados/16.2-time.txt"),
    ("nextflow", "nextflow-raw.txt"),
    ("nextflow-timeline", "nextflow-timeline.html"),
)


@pytest.mark.parametrize(("kind", "name"), WHOLE)
def test_a_whole_file_has_no_doubt_and_a_report_and_can_be_verified(kind: str, name: str, tmp_path: Path) -> None:
    run = take(kind, tmp_path / "run", RECORDED / name)
    assert not codes(run) & {"unit-mismatch", "damaged-file", "bytes-estimated", "copy-failed", "trial-failed"}
    assert main(["verify", str(run.path)]) == 0
    assert main(["report", str(run.path)]) == 0
    assert (run.path / "report.html").stat().st_size > 0
    assert run.manifest["state"] == "complete"


def test_of_three_iterations_of_mdtest_each_follows_from_the_summary(tmp_path: Path) -> None:
    run = take("mdtest", tmp_path / "run", RECORDED / "mdtest/i3-files-3901.txt")
    made = [line["operations"] * 1e9 / line["elapsed_ns"] for line in run.trials() if line["phase"] == "create"]
    assert max(made) == pytest.approx(11044.821, rel=1e-6)
    assert min(made) == pytest.approx(9663.783, rel=1e-6)
    assert sum(made) / 3 == pytest.approx(10538.474, rel=1e-6)
    assert {line["bytes"] for line in run.trials() if line["phase"] == "create"} == {1000 * 3901}
    assert {line["operations"] for line in run.trials()} == {1000}
    assert "from-summary" in codes(run)


def test_rank_0_alone_and_a_mean_of_rates_are_no_trials_of_mdtest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = RECORDED / "mdtest/i4-verbose.txt"
    assert main(["import", "mdtest", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "a mean of rates is no trial" in capsys.readouterr().err
    # Before 4.0 the same lines were of all tasks.
    older = tmp_path / "3.3.txt"
    text = re.sub(r"([0-9.]+) ops/sec", lambda match: f"{2 * float(match[1]):.3f} ops/sec", path.read_text())
    older.write_text(text.replace("mdtest-4.1.0+dev", "mdtest-3.3.0"))
    run = take("mdtest", tmp_path / "older", older)
    made = [line["operations"] * 1e9 / line["elapsed_ns"] for line in run.trials() if line["phase"] == "create"]
    assert made == pytest.approx([2 * 14806.213, 2 * 5518.240, 2 * 9628.355, 2 * 23494.869], rel=1e-6)
    assert "unit-mismatch" not in codes(run)


def test_iterations_that_contradict_their_deviation_are_not_derived(tmp_path: Path) -> None:
    text = (RECORDED / "mdtest/i3-files-3901.txt").read_text().replace("760.641", "960.641")
    path = tmp_path / "md.txt"
    path.write_text(text)
    run = take("mdtest", tmp_path / "run", path)
    assert {line["phase"] for line in run.trials()} == {"stat", "read", "remove"}


def test_bytes_and_latencies_of_fio_2_are_kib_and_microseconds(tmp_path: Path) -> None:
    (line,) = take("fio", tmp_path / "run", RECORDED / "fio/2.2.10.json").trials()
    assert (line["bytes"], line["setting"]["transfer_size"], line["operations"]) == (7116 * 1024, 4096, 1779)
    assert line["bandwidth_bytes_per_s"] == pytest.approx(275 * 1024, rel=0.01)
    assert (line["latency"]["p99_ns"], line["latency"]["max_ns"]) == (90_624_000, 381_378_000)


def test_bytes_and_latencies_of_fio_3_are_bytes_and_nanoseconds(tmp_path: Path) -> None:
    said = json.loads((RECORDED / "fio/plus.json").read_text())["jobs"][0]["read"]
    (line,) = take("fio", tmp_path / "run", RECORDED / "fio/plus.json").trials()
    assert line["bytes"] == said["io_bytes"] == 8 * MIB
    assert line["latency"]["max_ns"] in (said["clat_ns"]["max"], said["lat_ns"]["max"])
    assert line["latency"]["p99_ns"] == said["clat_ns"]["percentile"]["99.000000"]
    assert line["bandwidth_bytes_per_s"] == pytest.approx(said["bw_bytes"], rel=1e-3)


def test_jobs_of_one_name_are_tasks_of_one_trial_as_group_reporting_has_them(tmp_path: Path) -> None:
    apart = take("fio", tmp_path / "apart", RECORDED / "fio/rw-2jobs.json")
    assert [(line["phase"], line["setting"]["tasks"]) for line in apart.trials()] == [("read", 2), ("write", 2)]
    assert [task["bytes"] for task in apart.tasks() if task["phase"] == "read"] == [4063232, 3866624]
    assert "side-by-side" in codes(apart)
    (together,) = take("fio", tmp_path / "together", RECORDED / "fio/write-grouped.json").trials()
    assert (together["setting"]["tasks"], together["bytes"], together["first_done_ns"]) == (2, 16 * MIB, None)


def test_states_of_one_run_of_fio_are_no_repetitions_of_it(tmp_path: Path) -> None:
    """``--status-interval=1`` of two seconds: after one, after two, and at the end."""
    path = RECORDED / "fio/3.33-status-interval.json"
    (line,) = take("fio", tmp_path / "run", path).trials()
    assert (line["operations"], line["elapsed_ns"]) == (1001, pytest.approx(2.001e9, rel=1e-3))
    # Runs that began after the one before them was printed are three.
    text = path.read_text()
    for number, stamp in enumerate(("1795825734684", "1795825734800"), 1):
        text = text.replace(stamp, str(int(stamp) + number * 10_000))
    later = tmp_path / "later.json"
    later.write_text(text)
    assert [line["operations"] for line in take("fio", tmp_path / "later", later).trials()] == [448, 950, 1001]
    # An end that is cut off says nothing: the last whole state is what there is.
    cut = tmp_path / "cut.json"
    cut.write_text(path.read_text()[:-700])
    assert [line["operations"] for line in take("fio", tmp_path / "cut", cut).trials()] == [950]


def test_the_sum_of_all_clients_of_fio_is_not_counted_again(tmp_path: Path) -> None:
    said = json.loads((RECORDED / "fio/plus.json").read_text())
    (job,) = said.pop("jobs")
    said["client_stats"] = [{**job, "hostname": "a"}, {**job, "jobname": "All clients"}]
    path = tmp_path / "clients.json"
    path.write_text(json.dumps(said))
    assert rates(take("fio", tmp_path / "run", path), "read") == rates(
        take("fio", tmp_path / "one", RECORDED / "fio/plus.json"), "read"
    )


def test_a_bandwidth_log_of_fio_is_kib_over_the_time_between_its_lines(tmp_path: Path) -> None:
    run = take("fio-log", tmp_path / "run", RECORDED / "fio/w_bw.1.log")
    (line,) = run.trials()
    entries = [[int(cell) for cell in row.split(",")] for row in lines(RECORDED / "fio/w_bw.1.log")]
    times = [0, *(entry[0] for entry in entries)]
    moved = sum(entry[1] * 1024 * (entry[0] - before) // 1000 for entry, before in zip(entries, times, strict=False))
    assert line["bytes"] == pytest.approx(moved, abs=len(entries))
    series = run.series(line["record"])
    assert series is not None
    assert sum(series["bytes"]) == line["bytes"]


def test_a_log_of_mean_latencies_says_nothing_of_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = RECORDED / "fio/w_lat.1.log"
    assert main(["import", "fio-log", str(log), "--out", str(tmp_path / "run")]) == 2
    assert "import the bw log" in capsys.readouterr().err


def test_elbencho_counts_until_the_last_thread_is_done(tmp_path: Path) -> None:
    run = take("elbencho", tmp_path / "run", RECORDED / "elbencho/elbencho.json")
    assert rates(run, "write") == pytest.approx([6434215148], rel=1e-6)
    assert {line["bytes"] for line in run.trials()} == {64 * MIB}
    from_csv = take("elbencho", tmp_path / "csv", RECORDED / "elbencho/elbencho.csv")
    assert rates(from_csv, "write") == pytest.approx([6136 * MIB], rel=1e-3)
    assert from_csv.trials()[0]["latency"]["max_ns"] == 713_000
    assert from_csv.trials()[0]["started"] == "2026-11-20T15:11:00.389+00:00"


def test_the_first_thread_of_elbencho_to_be_done_is_no_measure(tmp_path: Path) -> None:
    text = (RECORDED / "elbencho/elbencho.csv").read_text()
    path = tmp_path / "early.csv"
    path.write_text(text.replace("WRITE,10,10,,,6137,6136,6137,6136,", "WRITE,5,10,,,12000,6136,12000,6136,"))
    run = take("elbencho", tmp_path / "run", path)
    assert run.trials()[0]["elapsed_ns"] == pytest.approx(10_430_000, rel=1e-3)
    assert "unit-mismatch" not in codes(run)


def test_iperf3_counts_what_arrived_in_bytes(tmp_path: Path) -> None:
    said = json.loads((RECORDED / "iperf3/send.client.json").read_text())["end"]["sum_received"]
    (line,) = take("iperf3", tmp_path / "run", RECORDED / "iperf3/send.client.json").trials()
    assert line["bytes"] == said["bytes"]
    assert line["elapsed_ns"] == pytest.approx(said["seconds"] * 1e9), "the receiver's"
    assert line["bandwidth_bytes_per_s"] == pytest.approx(said["bits_per_second"] / 8, rel=1e-6)


def test_both_ways_of_iperf3_are_what_arrived_over_the_receivers_time(tmp_path: Path) -> None:
    """In a test of a given size bytes still arrive after the sender's last interval."""
    path = RECORDED / "iperf3/both-short.client.json"
    said = json.loads(path.read_text())["end"]
    arrived = [said[key] for key in ("sum_received", "sum_received_bidir_reverse")]
    (line,) = (run := take("iperf3", tmp_path / "run", path)).trials()
    flows = line["network"]["flows"]
    assert [flow["received_bytes"] for flow in flows] == [one["bytes"] for one in arrived] == [18350080, 15990784]
    assert (line["bytes"], line["elapsed_ns"]) == (18350080 + 15990784, 94_686_000)
    assert "rates-not-additive" not in codes(run)


@pytest.mark.parametrize("option", ["target_bitrate", "blksize", "tos"])
def test_whatever_iperf3_states_as_an_option_keeps_trials_apart(option: str, tmp_path: Path) -> None:
    path = RECORDED / "iperf3/send.client.json"
    said = json.loads(path.read_text())
    said["start"]["test_start"][option] = 50_000_000
    other = tmp_path / "other.json"
    other.write_text(json.dumps(said))
    run = take("iperf3", tmp_path / "run", path, other)
    assert [point["repetitions"] for point in summary(run)["points"]] == [1, 1]


def test_bits_that_were_written_as_bytes_are_named(tmp_path: Path) -> None:
    said = json.loads((RECORDED / "iperf3/send.client.json").read_text())
    for sums in ("sum_sent", "sum_received"):
        said["end"][sums]["bits_per_second"] /= 8
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(said))
    run = take("iperf3", tmp_path / "run", path)
    (found,) = [one for one in summary(run)["findings"] if one["code"] == "unit-mismatch"]
    assert "a byte and a bit is 8" in found["evidence"]


def test_the_mb_of_rados_bench_and_of_sob_are_mib(tmp_path: Path) -> None:
    run = take("rados", tmp_path / "run", RECORDED / "rados/write-seq.txt")
    assert rates(run, "write") == pytest.approx([111.81 * MIB], rel=1e-4)
    assert rates(run, "read") == pytest.approx([618.516 * MIB], rel=1e-4)
    write = run.trials()[0]
    assert (write["bytes"], write["setting"]["queue_depth"]) == (146 * 4194304, 16)
    assert write["latency"] == {
        "count": 146, "min_ns": 85518200, "mean_ns": 571748000, "p50_ns": None, "p90_ns": None, "p99_ns": None,
        "p999_ns": None, "max_ns": 2102020000,
    }  # fmt: skip
    sob = take("sob", tmp_path / "sob", RECORDED / "sob/lines.txt")
    assert rates(sob, "write") == pytest.approx([48.302 * MIB, 186.182 * MIB], rel=1e-4)
    assert [line["repetition"] for line in sob.trials()] == [0, 0, 1]


def test_a_bench_that_was_cut_off_is_kept_until_its_last_second(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.txt"
    path.write_text("".join(lines(RECORDED / "rados/write-seq.txt")[:8]))
    run = take("rados", tmp_path / "run", path)
    (line,) = run.trials()
    assert (line["bytes"], line["elapsed_ns"]) == (111 * 4194304, 3 * 10**9)
    assert {"cut-short", "damaged-file"} <= codes(run)
    assert "until second 3" in capsys.readouterr().err


def test_a_json_that_was_cut_off_keeps_the_jobs_before_the_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (RECORDED / "fio/rw-2jobs.json").read_text()
    second = text.rindex('"jobname"')
    # The second job under a name of its own: its options are read, and its writes are lost.
    cut = (text[:second] + text[second:].replace('"a"', '"b"', 1))[: second + 1500]
    path = tmp_path / "cut.json"
    path.write_text(cut)
    run = take("fio", tmp_path / "run", path)
    assert [(line["phase"], line["bytes"]) for line in run.trials()] == [("read", 4063232), ("write", 4325376)]
    assert f"line {cut.count(chr(10)) + 1}: the JSON breaks off" in capsys.readouterr().err
    assert run.manifest["state"] == "incomplete"
    # Of one name it cannot be told how many jobs there were.
    path.write_text(text[: second + 1500])
    assert main(["import", "fio", str(path), "--out", str(tmp_path / "none")]) == 2


def test_a_workflow_tells_where_its_time_went(tmp_path: Path) -> None:
    run = take("nextflow", tmp_path / "run", RECORDED / "nextflow-raw.txt")
    (line,) = run.trials()
    assert len(run.workflow()) == 17
    first = min(task["submit_ns"] for task in run.workflow())
    assert (first, max(task["complete_ns"] for task in run.workflow())) == (0, line["elapsed_ns"])
    (copy,) = run.copies()
    assert (copy["exit_code"], copy["cpu_user_ns"]) == (None, None)


def test_a_name_that_is_no_text_or_very_long_is_kept_under_one_that_is(tmp_path: Path) -> None:
    original = (RECORDED / "sob/lines.txt").read_bytes()
    odd = tmp_path / os.fsdecode(b"b\xffad")
    long = tmp_path / ("x" * 250)
    odd.write_bytes(original)
    long.write_bytes(original * 2)
    run = take("sob", tmp_path / "run", odd, long)
    kept = sorted((run.path / "originals").iterdir())
    assert [path.read_bytes() for path in kept] == [original, original * 2]
    assert {line["origin"]["file"] for line in run.trials()} == {0, 1}


def test_a_single_result_asks_for_more_files(tmp_path: Path) -> None:
    run = take("fio", tmp_path / "run", RECORDED / "fio/plus.json")
    (found,) = [one for one in summary(run)["findings"] if one["code"] == "single-repetition"]
    assert "import more outputs" in found["advice"]


def test_a_rate_that_fio_kept_in_a_closed_loop_is_told_with_its_latencies(tmp_path: Path) -> None:
    assert "coordinated-omission" in codes(take("fio", tmp_path / "asked", RECORDED / "fio" / "logged.json"))
    offloaded = json.loads((RECORDED / "fio" / "logged.json").read_text())
    offloaded["jobs"][0]["job options"]["io_submit_mode"] = "offload"
    (tmp_path / "offload.json").write_text(json.dumps(offloaded))
    assert "coordinated-omission" not in codes(take("fio", tmp_path / "offloaded", tmp_path / "offload.json"))
    assert "coordinated-omission" not in codes(take("fio", tmp_path / "free", RECORDED / "fio" / "rw-2jobs.json"))


def test_an_imported_figure_without_repetitions_is_no_single_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(__file__).parent / "recorded" / "fio" / "plus.json"
    run = tmp_path / "theirs"
    assert main(["import", "fio", str(file), "--out", str(run), "--no-report"]) == 0
    said = capsys.readouterr().out
    assert "one figure, and no repetitions that the importer could see, so no interval" in said
    assert "measured once only" not in said
    old = "measured once only, so without an interval"

    def age(manifest: dict[str, Any]) -> None:
        for finding in manifest["summary"]["findings"]:
            if finding["code"] == "single-repetition":
                text = finding["evidence"]
                finding["evidence"] = f"{old}:{text.rpartition(':')[2]}"
                finding["advice"] = finding["advice"].replace("One figure can", "One run can")

    rewritten(run, age)
    assert old in (run / "manifest.json").read_text(encoding="utf-8")
    assert main(["verify", str(run)]) == 0, capsys.readouterr().out


def test_logs_of_the_same_calls_are_no_repetitions_of_each_other(tmp_path: Path) -> None:
    run = take("fio-log", tmp_path / "run", RECORDED / "fio/each_bw.1.log", RECORDED / "fio/each_lat.1.log")
    assert {line["repetition"] for line in run.trials()} == {0}
    assert {line["setting"]["logged"] for line in run.trials()} == {"bw", "lat"}
    assert "side-by-side" not in codes(run)


def test_logs_of_several_jobs_may_be_of_one_time_and_say_so(tmp_path: Path) -> None:
    """fio began them together, or one after the other (`stonewall`): each log counts from its own job's start."""
    first = RECORDED / "fio/each_bw.1.log"
    second, other = tmp_path / "each_bw.2.log", tmp_path / "other" / "each_bw.1.log"
    other.parent.mkdir()
    for path in (tmp_path / first.name, other):
        path.write_text(first.read_text())
    second.write_text("".join(lines(first)[:-1]))
    run = take("fio-log", tmp_path / "run", tmp_path / first.name, second)
    (found,) = (one for one in summary(run)["findings"] if one["code"] == "side-by-side")
    assert (found["subject"], "unless `stonewall` parted them" in found["evidence"]) == ("4 trials", True)
    # A log of another directory is of another run.
    assert "side-by-side" not in codes(take("fio-log", tmp_path / "apart", other, second))


def test_calls_of_fio_on_names_moved_no_bytes(tmp_path: Path) -> None:
    """fio counts 4 KiB for each of them, and prints a throughput."""
    (first,) = take("fio", tmp_path / "stat", RECORDED / "fio/3.33-filestat.json").trials()
    (second,) = take("fio-text", tmp_path / "create", RECORDED / "fio/3.33-filecreate.txt").trials()
    for line, phase, tasks, operations in ((first, "stat", 2, 400), (second, "create", 1, 1000)):
        assert (line["phase"], line["setting"]["kind"], line["setting"]["tasks"]) == (phase, "files", tasks)
        assert (line["operations"], line["bytes"]) == (operations, 0)
        assert not {"op", "transfer_size"} & line["setting"].keys()
    assert second["operations"] * 1e9 / second["elapsed_ns"] == pytest.approx(4166, rel=0.001)
