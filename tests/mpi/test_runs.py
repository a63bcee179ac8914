"""The command line under a real mpiexec: runs, front ends, wrong requests, and what waiting costs."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest
from waiting import wait_until

from .hosts import only_line
from .ranks import Started, environment, lines, manifest, needs_mpi, scratches, tonnage

pytestmark = needs_mpi()

CAMPAIGN = """
name = "many"
target = "."
[workload]
op = ["write", "read"]
tasks = [1, 4]
block_size = "256KiB"
transfer_size = "64KiB"
direct = "no"
verify = true
[repeat]
count = 1
"""


def test_a_campaign_runs_in_all_processes_and_its_records_hold(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(CAMPAIGN)
    done = tonnage(4, "run", "many.toml", "--out", "run", "--json", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"]
    # Where the order of chance has a read first, what it reads is filled in before.
    measured = [line for line in lines(tmp_path / "run") if line["purpose"] == "measure"]
    found = {(line["phase"], line["setting"]["tasks"]): line for line in measured}
    four = found["write", 4]
    assert (four["status"], four["bytes"], four["operations"], four["latency"]["count"]) == ("ok", 1 << 20, 16, 16)
    assert found["read", 4]["verify"]["checked_bytes"] == 1 << 20
    assert (four["ensemble"]["processes"], found["write", 1]["ensemble"]["processes"]) == (4, 1)
    tasks = [task for task in lines(tmp_path / "run", "tasks.jsonl") if task["record"] == four["record"]]
    assert [task["task"] for task in tasks] == [0, 1, 2, 3]
    # All opened their line together: none starts later than the bound of the skew says, on this process's clock.
    assert max(task["start_ns"] for task in tasks) - min(task["start_ns"] for task in tasks) < 10**9
    assert manifest(tmp_path / "run")["launcher"]["name"] == "mpi"
    checked = tonnage(1, "verify", "run", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert scratches(tmp_path) == []


def test_one_rank_is_one_process_and_the_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(CAMPAIGN)
    done = tonnage(1, "run", "many.toml", "--out", "run", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = manifest(tmp_path / "run")["launcher"]
    assert (facts["name"], facts["processes"]) == ("local", 1)
    assert all(line["ensemble"] is None for line in lines(tmp_path / "run"))


@pytest.mark.slow
def test_thirty_two_ranks_start_and_measure(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(CAMPAIGN.replace("[1, 4]", "32"))
    done = tonnage(32, "run", "many.toml", "--out", "run", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {(line["status"], line["ensemble"]["processes"]) for line in lines(tmp_path / "run")} == {("ok", 32)}


def test_probe_looks_at_no_more_tasks_than_there_are_processes(tmp_path: Path) -> None:
    words = ["--budget", "3s", "--op", "write", "--out", "run", "--no-report", "--no-keep", "--space", "64MiB"]
    done = tonnage(3, "probe", ".", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert manifest(tmp_path / "run")["search"]["max_tasks"] == 3
    assert max(line["setting"]["tasks"] for line in lines(tmp_path / "run")) == 3


def test_ior_takes_each_rank_as_a_task_and_prints_once(tmp_path: Path) -> None:
    words = ["-w", "-r", "-F", "-b", "256k", "-t", "64k", "-o", "f", "-e", "-C", "-R", "-g"]
    done = tonnage(4, "ior", *words, cwd=tmp_path, extra={"TONNAGE_OUT": "run"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Summary of all tests:") == 1
    assert re.search(r"^tasks +: 4$", done.stdout, re.MULTILINE)
    assert re.search(r"^clients per node +: 4$", done.stdout, re.MULTILINE)
    assert re.search(r"^nodes +: 1$", done.stdout, re.MULTILINE)
    (read,) = (line for line in lines(tmp_path / "run") if line["phase"] == "read")
    assert read["setting"]["shift"] == 1 and read["verify"]["checked_bytes"] == 1 << 20
    assert list(tmp_path.glob("f*")) == []


def test_ior_leaves_ranks_out_with_n_and_warns_of_more_than_there_are(tmp_path: Path) -> None:
    done = tonnage(3, "ior", "-N", "2", "-b", "64k", "-t", "64k", "-o", "f", cwd=tmp_path)
    assert done.returncode == 0 and re.search(r"^tasks +: 2$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    done = tonnage(2, "ior", "-N", "8", "-b", "64k", "-t", "64k", "-o", "f", cwd=tmp_path)
    assert "WARNING: -N 8 is more than the 2 processes that MPI started; the test has 2 tasks\n" in done.stdout
    assert done.returncode == 0 and re.search(r"^tasks +: 2$", done.stdout, re.MULTILINE)


def test_ior_stonewalls_and_wears_out_to_the_same_count_over_ranks(tmp_path: Path) -> None:
    words = ["-w", "-F", "-b", "4g", "-t", "64k", "-o", "f", "-D", "1", "-O", "stoneWallingWearOut=1"]
    done = tonnage(3, "ior", *words, "-O", "stoneWallingWearOutIterations=4000", cwd=tmp_path,
                   extra={"TONNAGE_OUT": "run"})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = lines(tmp_path / "run", "tasks.jsonl")
    assert len(tasks) == 3 and len({task["operations"] for task in tasks}) == 1


def test_mdtest_makes_the_files_of_each_rank_where_it_is_told_to(tmp_path: Path) -> None:
    done = tonnage(
        3, "mdtest", "-n", "10", "-u", "-F", "-N", "1", "-d", "d", cwd=tmp_path, extra={"TONNAGE_OUT": "run"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was launched with 3 total task(s) on 1 node(s)" in done.stdout and "Nodemap: 111" in done.stdout
    assert "3 tasks, 30 files" in done.stdout
    operations = {line["phase"]: line["operations"] for line in lines(tmp_path / "run")}
    assert operations["create"] == operations["stat"] == operations["remove"] == 30
    assert not (tmp_path / "d").exists()


def test_io500_has_a_task_in_each_process_and_prints_once(tmp_path: Path) -> None:
    off = "".join(f"[{name}]\nrun = FALSE\n" for name in ("ior-hard", "mdtest-hard", "ior-rnd4K-easy-read"))
    sizes = "[debug]\nstonewall-time = 1\n[ior-easy]\nblockSize = 2m\n[mdtest-easy]\nn = 20\n"
    (tmp_path / "c.ini").write_text(f"[global]\ndatadir = d\nresultdir = r\n{sizes}{off}")
    done = tonnage(2, "io500", "c.ini", "--timestamp", "t", cwd=tmp_path)
    # Without the hard files there is nothing that the search could find.
    assert done.returncode == 0, done.stdout + done.stderr
    result = (tmp_path / "r" / "t" / "result.txt").read_text()
    assert "procs           = 2\n" in result
    # 40 files of mdtest, two of IOR, and the marks of mdtest's trees.
    assert re.search(r"nproc +=\s2\nfound +=\s0\ntotal-files +=\s4[2-4]\n", result), result
    assert len([line for line in done.stdout.splitlines() if "ior-easy-write" in line]) == 1
    tasks = lines(tmp_path / "r" / "t" / "tonnage" / "find", "tasks.jsonl")
    assert len(tasks) == 2 and all(task["operations"] for task in tasks)
    assert {task["host"] for task in tasks} == {manifest(tmp_path / "r" / "t" / "tonnage" / "find")["host"]["hostname"]}
    runtime, columns, *rows = (tmp_path / "r" / "t" / "find.csv").read_text().splitlines()
    assert re.fullmatch(r"runtime: [0-9.]+ rate: [0-9.]+", runtime)
    assert columns == "rank, errors, unknown, found, total"
    assert rows == [f"{task['task']}, 0, 0, 0, {task['operations']}" for task in tasks]
    assert not (tmp_path / "d").exists()


def test_sob_says_its_line_once_for_each_rank(tmp_path: Path) -> None:
    done = tonnage(2, "sob", "-rw", "-b", "64k", "-s", "256k", "-n", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert [line.split()[0] for line in said] == ["Wrote", "Wrote", "Read", "Read"]
    assert all("0.500 MB" in line and line.endswith("2 files") for line in said)


def test_more_tasks_than_processes_are_refused_once_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(CAMPAIGN)
    done = tonnage(2, "run", "many.toml", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "run").exists()
    assert "4 tasks are more than the 2 processes" in only_line(done.stderr)


def test_without_mpi4py_the_extra_is_named_once(tmp_path: Path) -> None:
    stub = tmp_path / "stub/mpi4py"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("raise ImportError('not here')\n")
    path = f"{stub.parent}:{os.environ.get('PYTHONPATH', '')}"
    done = tonnage(2, "probe", ".", cwd=tmp_path, extra={"PYTHONPATH": path})
    assert done.returncode == 2
    said = only_line(done.stderr)
    assert "Open MPI started 2 processes" in said and "pip install 'tonnage[mpi]'" in said


def test_an_mpi_of_another_make_is_told_from_the_launchers(tmp_path: Path) -> None:
    import subprocess

    # Alone, with another launcher's variables: MPI finds one process where two were started.
    alone = environment({"PMI_RANK": "0", "PMI_SIZE": "2"})
    done = subprocess.run(
        [sys.executable, "-m", "tonnage.cli", "probe", "."],
        cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "PMI started 2 processes" in done.stderr and "sees 1 of them" in done.stderr


def test_what_measures_nothing_runs_once(tmp_path: Path) -> None:
    done = tonnage(3, "schema", "campaign", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_an_error_of_one_process_names_it_and_fails_the_trial_for_all(tmp_path: Path) -> None:
    # The second file's place is taken by a directory: its task fails when it opens, and the others end with it.
    (tmp_path / "f.00000001").mkdir()
    done = tonnage(3, "ior", "-w", "-F", "-b", "64k", "-t", "64k", "-o", "f", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "f.00000001" in done.stderr


def test_processes_that_wait_use_no_processor(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("[1, 4]", "1").replace('["write", "read"]', '"write"')
    text = text.replace("verify = true", 'time_limit = "6s"\nwrap = true\nthink = "20ms"')
    (tmp_path / "many.toml").write_text(text)
    with Started(3, "run", "many.toml", "--out", "run", "--no-report", cwd=tmp_path) as started:
        started.await_ranks()
        wait_until(lambda: list(tmp_path.glob(".tonnage-*/data.*")))
        time.sleep(1.0)
        before, began = _cpu_s(started.ranks[2]), time.monotonic()
        time.sleep(3.0)
        used = (_cpu_s(started.ranks[2]) - before) / (time.monotonic() - began)
        code, _, said = started.ended()
    assert code == 0, said
    assert used < 0.02, f"{used:.2%} of a processor while it waits"


def _cpu_s(pid: int) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(fields[0]) / 1e9


def test_a_training_in_several_processes_is_refused_in_one_line_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = tonnage(2, "probe", "data", "--training", "unet3d-h100", "--scale", "0.001", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if line.startswith("tonnage: error")]
    assert len(told) == 1 and "training runs in one process, and there are 2; hint: start it without mpiexec" in told[0]
    assert not (tmp_path / "run").exists() and not list((tmp_path / "data").iterdir())
