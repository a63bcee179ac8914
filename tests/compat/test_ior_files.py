"""``tonnage ior`` on real files: its output, what it does to files, and what it says when things go wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.compat.ior.help import help_text

from .ior_calls import Ior, left, recorded_trials, refused
from .ior_peer import PEER, recorded, shapes

KIB, MIB = 1 << 10, 1 << 20


GOLDEN = {
    "tmpfs-fpp-write": "", "tmpfs-fpp-read": "-w", "ext4-fpp-wr-3reps": "", "ext4-shared-strided-verify": "",
    "ext4-random-4k": "", "ext4-odirect-random-4k": "", "ext4-aio-odirect": "", "ext4-checkwrite": "", "ext4-hog": "",
    "ext4-mintime": "", "ext4-multi-o": "", "ext4-rep0-multidir": "", "ext4-stonewall": "", "ext4-stonewall-read": "-w",
    "ext4-verbose1": "", "percsv": "", "ext4-mmap": "", "barriers": "", "collective": "", "rangelocks": "",
    "dummy-delays": "", "mmap-advice": "", "random-prefill": "", "random-random": "-w", "packets": "",
    "summary-always": "",
}  # fmt: skip
"""Recording → what has to be run before it."""
STALE = ("WARNING: Expected aggregate", "WARNING: Stat() of", "WARNING: Using actual")
ENDED = ("WARNING: Maybe caused", "WARNING: -D ")
"""What the recordings of MMAP say of a file that was there before, and of files each as long as all together;
those of a stonewall, which a faster host does not reach, and those of a least time, which a slow one fills with no
further pass. How IOR's and our line begin that names the stonewall."""


@pytest.mark.parametrize("name", GOLDEN)
def test_the_output_has_the_lines_and_columns_that_ior_printed(ior: Ior, data: Path, name: str) -> None:
    theirs = recorded(name)
    words = [word.replace("/scratch/out", str(data)).replace("/scratch", str(data)) for word in theirs.words]
    tasks = ["-N", str(theirs.tasks)]
    if GOLDEN[name]:
        assert ior(*[GOLDEN[name] if word == "-r" else word for word in words], *tasks).code == 0
    said = ior(*words, *tasks)
    dropped = STALE + ENDED if any(kind in name for kind in ("mmap", "stonewall", "mintime")) else ()
    ours, lines = (
        [line for line in found if not line.startswith(dropped)] for found in (said.out.splitlines(), theirs.lines)
    )
    assert said.code == 0, said.err
    assert shapes(ours) == shapes(lines)


@pytest.mark.parametrize(
    ("option", "fate"), [("--dryRun", "it is replaced if Tonnage made it"), ("-E", "its contents are overwritten")]
)
def test_a_file_that_is_there_is_named_between_the_options_and_the_table(
    ior: Ior, data: Path, option: str, fate: str
) -> None:
    words = ("-w", "-k", "-t", "4k", "-b", "8k", "-o", str(data / "f"))
    assert "WARNING" not in ior(*words).out
    said = ior(*words, option)
    before, warning, after = said.out.partition(f'WARNING: "{data}/f" exists: {fate}\n')
    assert said.code == 0 and warning and before.endswith("Results: \n") and after.startswith("\naccess ")


def test_a_script_prints_each_test_and_one_summary(ior: Ior, data: Path) -> None:
    script = data / "script"
    script.write_text(
        f"IOR START\n  api=POSIX\n  testFile={data}/file\n  transferSize=1m\n  blockSize=8m\n  filePerProc=1\n"
        "  keepFile=1\nRUN\n  transferSize=256k\nRUN\nIOR STOP\n"
    )
    said = ior("-f", str(script), "-N", "2")
    assert said.code == 0
    assert shapes(said.out.splitlines()) == shapes(recorded("script").lines)


def test_maxima_are_those_of_the_rows_and_grep_finds_them(ior: Ior, data: Path) -> None:
    said = ior("-t", "64k", "-b", "1m", "-i", "3", "-F", "-N", "2", "-o", str(data / "f"))
    for access, label in (("write", "Write"), ("read", "Read")):
        found = re.search(rf"^Max {label}:\s+([0-9.]+) MiB/sec \(([0-9.]+) MB/sec\)$", said.out, re.MULTILINE)
        assert found
        assert float(found[1]) == pytest.approx(max(float(row[1]) for row in said.rows(access)), rel=1e-3)
        assert float(found[2]) == pytest.approx(float(found[1]) * MIB / 1e6, rel=1e-4)


def test_json_and_csv_hold_the_figures_of_the_records(ior: Ior, data: Path, tmp_path: Path) -> None:
    words = ["-t", "64k", "-b", "1m", "-N", "2", "-F", "-e", "-o", str(data / "f")]
    whole = json.loads(ior(*words, "-O", "summaryFormat=JSON").out)
    trials = recorded_trials(tmp_path)
    for row, trial in zip(whole["tests"][0]["Results"], trials, strict=True):
        assert row["access"] == trial["phase"]
        assert row["bwMiB"] == pytest.approx(trial["bytes"] / MIB / (trial["elapsed_ns"] / 1e9), rel=1e-4)
        assert row["totalTime"] == pytest.approx(trial["elapsed_ns"] / 1e9, rel=1e-4)
    rows = list(csv.DictReader(io.StringIO(ior(*words, "-O", "summaryFormat=CSV").out)))
    assert [(row["access"], row["numTasks"], row["iter"]) for row in rows] == [("write", "2", "0"), ("read", "2", "0")]
    assert all(float(row["bw(MiB/s)"]) > 0 and float(row["xfer(KiB)"]) == 64 for row in rows)


def test_each_operation_has_a_line_where_they_are_asked_for(ior: Ior, data: Path, tmp_path: Path) -> None:
    ior("-t", "64k", "-b", "512k", "-F", "-N", "2", "-O", f"savePerOpDataCSV={data / 'op'}", "-o", str(data / "f"))
    recorded_tasks = map(json.loads, (tmp_path / "run-0/tasks.jsonl").read_text().splitlines())
    tasks = [line for line in recorded_tasks if line["phase"] == "read"]
    theirs = (PEER / "ior-perop-0-00000.csv").read_text().splitlines()
    for task in range(2):
        ours = (data / f"op-0-{task:05d}.csv").read_text().splitlines()
        assert ours[0] == theirs[0] and len(ours) == len(theirs)
        assert all(re.fullmatch(r"\d\.\d{8}e[+-]\d\d,\d\.\d{8}e[+-]\d\d,\d\.\d{6}e[+-]\d\d", line) for line in ours[1:])
        starts, seconds = zip(*(map(float, line.split(",")[:2]) for line in ours[1:]), strict=True)
        assert list(starts) == sorted(starts)
        # They count from the task's first transfer, and lie within what the task took for all of them.
        (taken,) = (line["transfer_ns"] for line in tasks if line["task"] == task)
        assert starts[0] == 0 and starts[-1] + seconds[-1] <= taken / 1e9 + 1e-8


def test_files_go_unless_they_are_to_be_kept(ior: Ior, data: Path) -> None:
    words = ["-t", "4k", "-b", "64k", "-F", "-N", "2", "-o", str(data / "f")]
    assert ior(*words).code == 0 and left(data) == []
    assert ior(*words, "-k", "-w").code == 0 and left(data) == ["f.00000000", "f.00000001"]
    # Read, and gone: they were ours.
    assert ior(*words, "-r").code == 0 and left(data) == []


def test_with_many_files_each_repetition_has_its_own(ior: Ior, data: Path) -> None:
    words = ["-w", "-z", "-E", "-F", "-k", "-e", "-m", "-d", "0.1", "-i", "3", "-t", "4k", "-b", "64k", "-N", "2"]
    said = ior(*words, "-o", str(data / "f"))
    assert said.code == 0
    assert left(data) == [f"f.{task:08d}.{number}" for task in range(2) for number in range(3)]
    assert [row[-1] for row in said.rows("write")] == ["0", "1", "2"]


def test_the_delay_between_phases_is_kept_to_the_fraction(ior: Ior, data: Path, tmp_path: Path) -> None:
    ior("-t", "4k", "-b", "4k", "-i", "2", "-d", "0.2", "-o", str(data / "f"))
    trials = recorded_trials(tmp_path)
    gaps = [b["first_start_ns"] - a["last_done_ns"] for a, b in pairwise(trials)]
    assert len(gaps) == 3 and min(gaps) >= 200_000_000


def test_a_unique_directory_is_made_for_each_task_and_goes_with_its_file(ior: Ior, data: Path) -> None:
    words = ["-t", "4k", "-b", "64k", "-F", "-u", "-N", "2", "-o", str(data / "f")]
    assert ior(*words, "-k").code == 0
    assert left(data) == ["0/f.00000000", "1/f.00000001"]
    assert ior(*words).code == 0 and left(data) == []


def test_a_unique_directory_that_cannot_be_made_leaves_none_of_the_others(ior: Ior, data: Path) -> None:
    (data / "2").symlink_to("nowhere")
    words = ["-t", "4k", "-b", "64k", "-F", "-u", "-N", "3", "-o", str(data / "f")]
    assert refused(ior, *words) == f"cannot make {data}/2: File exists; hint: give another -o"
    assert [path.name for path in data.iterdir()] == ["2"]


def test_a_file_of_the_users_is_neither_removed_nor_overwritten(ior: Ior, data: Path) -> None:
    file = data / "f"
    file.write_bytes(b"thesis" * 1000)
    said = refused(ior, "-t", "4k", "-b", "4k", "-o", str(file))
    assert str(file) in said
    assert file.read_bytes() == b"thesis" * 1000
    # Read without -k, it stays as well.
    assert ior("-r", "-t", "8", "-b", "4k", "-o", str(file)).code == 0
    assert file.read_bytes() == b"thesis" * 1000


def test_an_existing_file_is_overwritten_in_place_where_that_is_asked_for(ior: Ior, data: Path) -> None:
    file = data / "f"
    file.write_bytes(b"x" * 16 * KIB)
    inode = file.stat().st_ino
    assert ior("-w", "-E", "-k", "-t", "4k", "-b", "8k", "-o", str(file)).code == 0
    now = file.read_bytes()
    assert (file.stat().st_ino, len(now), now[8 * KIB :]) == (inode, 16 * KIB, b"x" * 8 * KIB)
    assert b"xxxx" not in now[: 8 * KIB]


def test_a_read_of_files_that_are_not_there_is_refused_and_names_the_first(ior: Ior, data: Path) -> None:
    theirs = recorded("err-nofile")
    words = [word.replace("/scratch", str(data)) for word in theirs.words]
    assert f"{data}/doesnotexist.00000000" in refused(ior, *words, "-N", "2")


def test_a_read_of_a_file_that_is_too_short_is_refused_with_its_name_and_both_lengths(ior: Ior, data: Path) -> None:
    words = ["-t", "64k", "-F", "-k", "-N", "2", "-o", str(data / "f")]
    assert ior("-w", "-b", "64k", *words).code == 0
    # The second of both files is short.
    (data / "f.00000000").write_bytes(bytes(128 * KIB))
    said = refused(ior, "-r", "-b", "128k", *words)
    assert said.startswith(f"{data}/f.00000001 has 65536 bytes and the read needs 131072")


def test_a_directory_that_is_not_there_is_refused(ior: Ior, data: Path) -> None:
    said = refused(ior, "-o", str(data / "no" / "f"))
    assert said == f"{data}/no is not a directory; hint: make it first, or give another -o"


@pytest.mark.parametrize(("name", "damaged", "transfer"), [
    ("err-corrupt", 1, MIB), ("err-corrupt-128xfers", 128, 4 * KIB), ("err-corrupt-128xfers", 256, 4 * KIB),
])  # fmt: skip
def test_damage_makes_the_exit_status_1_however_much_with_count_and_first_places(
    ior: Ior, data: Path, name: str, damaged: int, transfer: int
) -> None:
    theirs = recorded(name)
    words = [word.replace("/scratch", str(data)) for word in theirs.words]
    assert ior(*["-w" if word in ("-r", "-R") else word for word in words], "-N", "2").code == 0
    file = data / "iorcor.00000001"
    with file.open("r+b") as handle:
        for number in range(damaged):
            handle.seek(number * transfer + 100)
            handle.write(b"\xff\x00\xff")
    said = ior(*words, "-N", "2")
    assert said.code == 1
    assert f"WARNING: Incorrect data on read ({damaged} errors found).\n" in said.out
    assert shapes(said.out.splitlines()) == shapes(theirs.lines)
    failed = [line for line in said.err.splitlines() if line.startswith("ior: failed:")]
    assert len(failed) == 1 and f"{damaged} operation" in failed[0] and f"{file} offset 0 " in failed[0]


def test_every_repetition_is_read_even_if_the_first_found_damage(ior: Ior, data: Path) -> None:
    theirs = recorded("err-corrupt-multirep")
    words = [word.replace("/scratch", str(data)) for word in theirs.words]
    assert ior(*["-w" if word in ("-r", "-R") else word for word in words], "-N", "2").code == 0
    with (data / "iorcor.00000000").open("r+b") as handle:
        handle.write(b"\xff\x00\xff")
    said = ior(*words, "-N", "2")
    assert (said.code, len(said.rows("read"))) == (1, 2)
    assert shapes(said.out.splitlines()) == shapes(theirs.lines)
    assert said.err.count("ior: failed:") == 2


def test_a_read_check_with_another_signature_finds_all_of_it_wrong(ior: Ior, data: Path) -> None:
    words = ["-t", "4k", "-b", "64k", "-k", "-o", str(data / "f")]
    assert ior("-w", "-G", "27", *words).code == 0
    assert ior("-r", "-R", "-G", "27", *words).code == 0
    assert "(16 errors found)" in ior("-r", "-R", "-G", "28", *words).out


def test_a_write_check_reads_back_what_was_written_and_no_row_shows_it(ior: Ior, data: Path, tmp_path: Path) -> None:
    said = ior("-w", "-W", "-t", "4k", "-b", "64k", "-i", "2", "-o", str(data / "f"))
    trials = recorded_trials(tmp_path)
    assert said.code == 0 and len(said.rows("write")) == 2 and not said.rows("read")
    assert [trial["phase"] for trial in trials] == ["write", "check"] * 2
    assert trials[1]["verify"]["checked_bytes"] == 64 * KIB


def test_a_read_after_a_write_that_time_cut_short_reads_what_was_written(ior: Ior, data: Path) -> None:
    said = ior(
        "-w", "-r", "-R", "-W", "-G", "3", "-D", "1", "-t", "64k", "-b", "64g", "-F", "-Y", "-o", str(data / "f")
    )
    assert said.code == 0, said.err
    assert len(said.rows("read")) == 1
    assert "WARNING: -D 1 may have ended the phase before all was moved\n" in said.out


def test_a_status_file_tells_a_later_read_how_far_the_write_got(ior: Ior, data: Path, tmp_path: Path) -> None:
    words = ["-k", "-F", "-N", "2", "-t", "64k", "-b", "4g", "-o", str(data / "f"), "-D", "1", "-Y"]
    words += ["-O", f"stoneWallingWearOut=1,stoneWallingStatusFile={data / 'status'}"]
    assert ior("-w", *words).code == 0
    pairs = int((data / "status").read_text())
    assert ior("-r", *words).code == 0
    trial = json.loads((tmp_path / "run-1" / "trials.jsonl").read_text())
    assert trial["operations"] == 2 * pairs
    (data / "status").unlink()
    assert refused(ior, "-r", *words).startswith(
        f"stoneWallingStatusFile: {data / 'status'} does not hold a number of transfers; hint: "
    )


def test_a_read_by_other_tasks_works_on_their_files(ior: Ior, data: Path) -> None:
    words = ["-t", "4k", "-b", "64k", "-F", "-N", "3", "-G", "5", "-k", "-o", str(data / "f")]
    assert ior("-w", *words).code == 0
    for order in ("-C", "-Z"):
        assert ior("-r", "-R", order, *words).code == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    directory = tmp_path / "small"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tonnage-test", str(directory)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def test_a_disk_that_fills_up_is_one_line_and_leaves_no_file(
    ior: Ior, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The plan would refuse it; another job may take the space after that.
    monkeypatch.setattr("tonnage.campaign.plan.check_space", lambda *_: None)
    said = ior("-w", "-k", "-t", "1m", "-b", "16m", "-i", "3", "-o", str(small / "f"))
    failed = [line for line in said.err.splitlines() if line.startswith("ior: failed:")]
    assert said.code == 1 and len(failed) == 1 and "No space left on device" in failed[0]
    assert left(small) == [] and not said.rows("write")


def test_files_that_do_not_fit_are_refused_before_anything_is_written(ior: Ior, small: Path) -> None:
    assert "8 MiB free" in refused(ior, "-w", "-t", "1m", "-b", "16m", "-o", str(small / "f"))
    assert left(small) == []


def test_findings_tell_what_the_output_does_not(ior: Ior, data: Path) -> None:
    said = ior("-t", "64k", "-b", "1m", "-o", str(data / "f"))
    told = [line for line in said.err.splitlines() if line.startswith("ior: finding ")]
    assert any(
        "write: Latency(s) is the lowest mean of a task; the latencies measured are p50" in line for line in told
    )
    assert any("without -e" in line for line in told)


def test_a_warning_is_an_error_where_that_is_asked_for(ior: Ior, data: Path) -> None:
    words = ["-t", "4k", "-b", "64k", "-O", "minTimeDuration=1", "-w", "-o", str(data / "f")]
    assert ior(*words).code == 0
    assert ior(*words, "--warningAsErrors").code == 1


def test_a_directory_that_vanishes_is_one_line(
    ior: Ior, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(_seconds: float) -> None:
        if recorded_trials(tmp_path) and data.exists():
            (data / "f").unlink()
            data.rmdir()

    monkeypatch.setattr("tonnage.campaign.trial_loop.time.sleep", pause)
    said = ior("-w", "-t", "4k", "-b", "64k", "-i", "2", "-d", "0.001", "-o", str(data / "f"))
    failed = [line for line in said.err.splitlines() if line.startswith("ior: failed:")]
    assert (said.code, len(said.rows("write")), len(failed)) == (1, 1, 1)
    assert (
        f"repetition 1, write: 1 operation failed: task 0, offset 0: cannot create (its directory was removed) {data}/f"
        in failed[0]
    )


def test_an_interrupt_ends_with_130_keeps_the_rows_so_far_and_removes_the_files(
    ior: Ior, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(_seconds: float) -> None:
        if recorded_trials(tmp_path):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("tonnage.campaign.trial_loop.time.sleep", pause)
    said = ior("-w", "-t", "4k", "-b", "64k", "-i", "3", "-d", "0.001", "-o", str(data / "f"))
    assert said.code == 130
    assert len(said.rows("write")) == 1 and "Max Write:" in said.out
    assert "ior: interrupted; the records so far are in " in said.err
    assert "ior: finding missing-repetitions: write: 1 of 3 repetitions were measured" in said.err
    assert left(data) == []


def test_the_command_line_hands_every_word_over(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ior", "--help"]) == 0
    assert capsys.readouterr().out == help_text()
    assert main(["ior", "-t", "3m", "-b", "16m", "-o", str(data / "f")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith("tonnage: error: -b 16 MiB is not a multiple of -t 3 MiB; hint: ")


def test_a_run_of_ior_reads_as_any_run_does(ior: Ior, data: Path, tmp_path: Path) -> None:
    assert ior("-t", "4k", "-b", "64k", "-F", "-N", "2", "-i", "2", "-o", str(data / "f")).code == 0
    run_directory = tmp_path / "run-0"
    manifest = json.loads((run_directory / "manifest.json").read_text())
    assert manifest["state"] == "complete" and manifest["command_line"][:2] == ["tonnage", "ior"]
    assert main(["verify", str(run_directory)]) == 0
    assert main(["report", str(run_directory)]) == 0


def test_each_command_of_a_job_has_records_of_its_own_below_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONNAGE_OUT", str(tmp_path / "records"))
    words = ["-t", "4k", "-b", "64k", "-o", str(tmp_path / "f")]
    assert main(["ior", *words, "-k"]) == 0
    assert main(["ior", *words, "-r"]) == 0
    assert main(["mdtest", "-n", "10", "-d", str(tmp_path / "tree")]) == 0
    kept = sorted(path.name for path in tmp_path.glob("records*"))
    assert kept == ["records", "records-2", "records-3"]
    commands = [json.loads((tmp_path / name / "manifest.json").read_text())["command_line"][1] for name in kept]
    assert commands == ["ior", "ior", "mdtest"]
