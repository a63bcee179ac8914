"""``tonnage import`` of what tools print for people: fio, iperf3, iozone, as recorded from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, codes, lines, rates, summary, take

KIB, MIB = 2**10, 2**20
WHOLE = (
    ("fio-text", "fio/3.33-write-2jobs.txt"),
    ("fio-text", "fio/3.33-mix-grouped.txt"),
    ("fio-text", "fio/3.33-two.txt"),
    ("fio-text", "fio/3.33-odd.txt"),
    ("fio-text", "fio/3.33-appended.txt"),
    ("fio-terse", "fio/3.33-appended-two.terse"),
    ("fio-terse", "fio/3.33-write-2jobs.terse"),
    ("fio-terse", "fio/3.33-mix.terse"),
    ("fio-terse", "fio/3.33-mix-4.terse"),
    ("fio-terse", "fio/3.33-mix-5.terse"),
    ("ior-operations", "ior/operations/two-0-00000.csv"),
    ("elbencho-text", "elbencho/two-files.txt"),
    ("iozone", "iozone/3.489-all.txt"),
    ("iozone", "iozone/3.489-gap.txt"),
    ("iozone", "iozone/3.489-fsync.txt"),
)
ROUNDED = tuple(
    ("iperf3-text", f"iperf3/{test}.txt")
    for test in (
        *(f"{way}.{end}" for way in ("send", "recv", "udp") for end in ("client", "server")),
        *("short.client", "parallel.client", "in-bytes.client"),
    )
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


def test_calls_of_fio_in_one_text_are_trials_of_their_own(tmp_path: Path) -> None:
    run = take("fio-text", tmp_path / "run", RECORDED / "fio/3.33-appended.txt")
    assert [line["setting"]["tasks"] for line in run.trials()] == [1, 1, 1]
    assert rates(run, "write") == pytest.approx([1143 * MIB, 1231 * MIB, 1067 * MIB], rel=0.001)
    # Whether all had the same options, the text does not say; its user may.
    assert "kept-apart" in codes(run) and {point["repetitions"] for point in summary(run)["points"]} == {1}
    path = RECORDED / "fio/3.33-appended.txt"
    options = ["--factor", "options=same", "--no-report"]
    assert main(["import", "fio-text", str(path), "--out", str(tmp_path / "same"), *options]) == 0
    joined = Run.open(tmp_path / "same")
    assert "kept-apart" not in codes(joined) and [point["repetitions"] for point in summary(joined)["points"]] == [3]


def test_terse_lines_in_turn_are_of_several_calls_and_those_below_each_other_may_be(tmp_path: Path) -> None:
    """Two jobs, one after the other, three times; and one job three times."""
    run = take("fio-terse", tmp_path / "run", RECORDED / "fio/3.33-appended-two.terse")
    assert [line["setting"]["job"] for line in run.trials()] == ["a", "b"] * 3
    assert {line["setting"]["tasks"] for line in run.trials()} == {1}
    doubtful = take("fio-terse", tmp_path / "doubtful", RECORDED / "fio/3.33-appended.terse")
    assert [line["setting"]["tasks"] for line in doubtful.trials()] == [3]
    assert "tasks-assumed" in codes(doubtful)


def test_a_terse_line_does_not_say_of_how_many_jobs_it_is(tmp_path: Path) -> None:
    """With --group_reporting it is the sum of all of a name."""
    run = take("fio-terse", tmp_path / "run", RECORDED / "fio/3.33-grouped.terse")
    (line,) = run.trials()
    assert line["setting"]["tasks"] == 1 and "tasks-assumed" in codes(run)
    (line,) = take("fio-text", tmp_path / "text", RECORDED / "fio/3.33-grouped.txt").trials()
    assert line["setting"]["tasks"] == 2


@pytest.mark.parametrize(
    ("name", "told"), [("bits", "rates in bits (--unit_base=1)"), ("unified", "sums of reads and")]
)
def test_a_rate_of_fio_that_is_not_read_is_told_with_its_option(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = RECORDED / f"fio/3.33-{name}.txt"
    assert main(["import", "fio-text", str(path), "--out", str(tmp_path / "run")]) == 2
    assert told in capsys.readouterr().err


def test_a_write_that_fio_verifies_is_no_mix(tmp_path: Path) -> None:
    """It reads what it wrote when all is written."""
    run = take("fio-text", tmp_path / "run", RECORDED / "fio/3.33-verify.txt")
    assert [line["phase"] for line in run.trials()] == ["read", "write"] and "side-by-side" not in codes(run)


def test_a_terse_line_that_is_cut_off_takes_none_of_another_call_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.terse"
    path.write_text((RECORDED / "fio/3.33-appended-two.terse").read_text()[:-1500])
    run = take("fio-terse", tmp_path / "run", path)
    assert [line["setting"]["job"] for line in run.trials()] == ["a", "b"] * 2
    assert "line 5: this job is cut off; left out" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "name"), [("fio-text", "3.33-beside.txt"), ("fio-terse", "3.33-beside.terse")])
def test_jobs_of_other_names_in_a_group_of_fio_ran_beside_each_other(kind: str, name: str, tmp_path: Path) -> None:
    run = take(kind, tmp_path / "run", RECORDED / "fio" / name)
    beside = {(line["setting"]["job"], line["phase"]): line["setting"]["beside"] for line in run.trials()}
    assert beside == {("a", "write"): None, ("b", "read"): "c", ("b", "write"): "c", ("c", "read"): "b"}
    noted = {line["setting"]["job"] for line in run.trials() if "side-by-side" in {n["code"] for n in line["notes"]}}
    assert noted == {"b", "c"}


def test_a_job_that_fio_ended_with_an_error_fails_its_trial(tmp_path: Path) -> None:
    """Two jobs of one name; the second one met the limit of the size of a file."""
    (line,) = take("fio-text", tmp_path / "run", RECORDED / "fio/3.33-failed.txt").trials()
    assert (line["status"], line["reason"]) == ("failed", "fio ended it with error 27")
    assert (line["setting"]["tasks"], line["bytes"], line["operations"]) == (2, 14 * MIB, 15)


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


def test_what_a_server_of_iperf3_sent_is_not_taken_for_what_arrived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = take("iperf3-text", tmp_path / "tcp", RECORDED / "iperf3/recv.server.txt")
    assert any("its client has what arrived" in finding["evidence"] for finding in summary(run)["findings"])
    assert main(["import", str(RECORDED / "iperf3/udp-recv.server.txt"), "--out", str(tmp_path / "udp")]) == 2
    assert "what was sent by UDP, and not what arrived; hint: " in capsys.readouterr().err
    client = take("iperf3-text", tmp_path / "client", RECORDED / "iperf3/udp-recv.client.txt")
    assert rates(client, "network") == [pytest.approx(9.12e9 / 8, rel=0.004)]


@pytest.mark.parametrize(
    ("name", "stated", "seconds"),
    [
        # A tenth of a second, which is printed as 0.10.
        ("short", 24.1e9 / 8, 0.1023),
        # Of three streams the sum; the receiver ended a hundredth of a second after the sender.
        ("parallel", 13.7e9 / 8, 2.00),
        # With -f M.
        ("in-bytes", 2763 * MIB, 2.00),
    ],
)
def test_the_time_of_an_iperf3_text_is_the_receiver_s_that_agrees_with_its_rate(
    name: str, stated: float, seconds: float, tmp_path: Path
) -> None:
    (line,) = take("iperf3-text", tmp_path / "run", RECORDED / f"iperf3/{name}.client.txt").trials()
    assert line["bandwidth_bytes_per_s"] == pytest.approx(stated, rel=0.004)
    assert line["elapsed_ns"] == pytest.approx(seconds * 1e9, rel=0.004)


def test_texts_of_iperf3_are_kept_apart_for_they_state_no_options(tmp_path: Path) -> None:
    """One was asked for 300 MB, the other for two seconds."""
    files = [RECORDED / f"iperf3/{name}.client.txt" for name in ("short", "in-bytes")]
    run = take("iperf3-text", tmp_path / "run", *files)
    assert "kept-apart" in codes(run)
    assert [point["repetitions"] for point in summary(run)["points"]] == [1, 1]


@pytest.mark.parametrize("name", ["parallel.client", "udp.client"])
def test_an_iperf3_text_without_what_arrived_is_not_whole(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = lines(RECORDED / f"iperf3/{name}.txt")
    last = max(number for number, line in enumerate(text) if line.rstrip().endswith("receiver"))
    path = tmp_path / "cut.txt"
    path.write_text("".join(text[:last]) + text[last][:40])
    assert main(["import", "iperf3-text", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "line 1: this test breaks off before its end" in capsys.readouterr().err


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


def test_every_output_of_iozone_in_a_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, synced = ((RECORDED / f"iozone/3.489-{name}.txt").read_text() for name in ("gap", "fsync"))
    path = tmp_path / "both.txt"
    path.write_text(plain + synced + plain)
    of_plain, of_synced = (
        len(take("iozone", tmp_path / name, RECORDED / f"iozone/3.489-{name}.txt").trials())
        for name in ("gap", "fsync")
    )
    run = take("iozone", tmp_path / "run", path)
    assert len(run.trials()) == 2 * of_plain + of_synced
    assert [line["durability"] for line in run.trials() if line["phase"] == "write"][-1] == "none"
    # What the first one lacks is told, and the second one is whole.
    path.write_text(plain.partition("iozone test complete")[0] + synced)
    assert len(take("iozone", tmp_path / "cut", path).trials()) == of_plain + of_synced
    assert "another output begins before the end of the one above it" in capsys.readouterr().err


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
    assert "side-by-side" in codes(run), "both ran at once"
    assert "side-by-side" not in codes(take("ior-operations", tmp_path / "one", files[0]))


ELBENCHO = RECORDED / "elbencho"


def test_elbencho_s_text_and_its_csv_say_the_same_of_the_same_kind_of_run(tmp_path: Path) -> None:
    run = take("elbencho-text", tmp_path / "run", ELBENCHO / "two-files.txt")
    write, read = run.trials()
    assert (write["setting"]["tasks"], write["setting"]["transfer_size"], write["bytes"]) == (2, MIB, 512 * MIB)
    assert write["elapsed_ns"] == pytest.approx(330.8e6, rel=0.003), "the last thread's, by time and by rate"
    assert (write["latency"]["mean_ns"], write["latency"]["max_ns"]) == (1_210_000, 4_780_000)
    assert read["bandwidth_bytes_per_s"] == pytest.approx(16936 * MIB, rel=1e-4)
    assert codes(run) == {"single-repetition"}


def test_small_files_of_elbencho_s_text_are_counted_and_what_took_no_time_is_told(tmp_path: Path) -> None:
    run = take("elbencho-text", tmp_path / "run", ELBENCHO / "small-files.txt")
    done = {line["phase"]: line["operations"] for line in run.trials()}
    assert done == {"create": 4000, "stat": 4000, "read": 4000, "remove": 4000, "remove-directory": 8}
    assert [line["bytes"] for line in run.trials() if line["phase"] == "create"] == [4000 * 4096]
    (problem,) = run.manifest["imported"]["problems"]
    assert "line 4: MKDIRS" in problem and "0 ms" in problem


def test_a_text_of_elbencho_without_its_command_line_is_refused_with_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.write_text("".join(lines(ELBENCHO / "two-files.txt")[1:]))
    assert main(["import", "elbencho-text", str(text), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "line 3: the text does not say how many threads ran; hint: put elbencho's command line" in told
    assert not (tmp_path / "run").exists()


def test_bytes_that_elbencho_s_text_rounds_are_told_and_a_mix_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = take("elbencho-text", tmp_path / "run", ELBENCHO / "time-limit.txt")
    (line,) = limited.trials()
    assert (line["bytes"], line["elapsed_ns"]) == (21403 * MIB, pytest.approx(2002e6, rel=0.001))
    assert "bytes-estimated" in codes(limited)
    assert main(["import", "elbencho-text", str(ELBENCHO / "mix.txt"), "--out", str(tmp_path / "mix")]) == 2
    assert "line 4: RWMIX30 is no phase that is read here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("printed", "ns"), [("2m3.456s", 123_456e6), ("1h0m2s", 3602e9), ("2.002s", 2002e6), ("31ms", 31e6)]
)
def test_every_form_of_elbencho_s_elapsed_time_is_read(printed: str, ns: float, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(
        "$ elbencho -r -t4 -b 4k -s 256m /data/a\nOPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
        f"READ        Elapsed time     :  {printed}  {printed}\n            Total MiB        :  256  256\n---\n"
    )
    (line,) = take("elbencho-text", tmp_path / "run", text).trials()
    assert (line["elapsed_ns"], line["setting"]["tasks"], line["bytes"]) == (ns, 4, 256 * MIB)


LIVE = (
    "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,"
    "Active,CPU,Service,\n"
    "2026-11-26T10:00:01.000+0000,a,WRITE,1000,Total,,30,104857600,100,100,0,0,0,80,4,50,,\n"
    "2026-11-26T10:00:01.000+0000,a,WRITE,1000,0,,30,52428800,,,0,,,,,,,\n"
    "2026-11-26T10:00:02.000+0000,a,WRITE,2000,Total,,90,314572800,200,200,0,0,0,80,3,50,,\n"
    "2026-11-26T10:00:04.000+0000,a,READ,1500,Total,,50,157286400,100,100,0,0,0,80,4,50,,\n"
)
"""By the columns that elbencho writes, as its source has them."""


def test_a_live_csv_of_elbencho_is_what_was_done_until_its_last_row(tmp_path: Path) -> None:
    file = tmp_path / "live.csv"
    file.write_text(LIVE)
    assert main(["import", str(file), "--out", str(tmp_path / "run"), "--no-report"]) == 0, "its kind is found"
    run = Run.open(tmp_path / "run")
    write, read = run.trials()
    assert (write["bytes"], write["elapsed_ns"], write["setting"]["tasks"]) == (300 * MIB, 2 * 10**9, 4)
    assert write["started"].startswith("2026-11-26T10:00:00.000")
    assert (read["bytes"], read["elapsed_ns"]) == (150 * MIB, 1_500_000_000)
    assert codes(run) == {"single-repetition", "cut-short"}
    file.write_text(LIVE.replace("READ,1500,Total,,", "RWMIX30,1500,Total,Read,"))
    assert len(take("elbencho-live", tmp_path / "mixed", file).trials()) == 1, "a mix is left out"
