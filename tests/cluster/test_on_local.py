"""``tonnage run --on local``: the whole way of a submitted run on one host, with a spool of the test's own."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from local_spool import own_local
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.jobs import run_by_jobs
from tonnage.campaign.jobs.trial_batch import LOCK
from tonnage.campaign.observer import Observer
from tonnage.cluster.scheduler import JobRequest
from tonnage.cluster.schedulers.local import Local
from tonnage.records import Run
from tonnage.records.jobs_jsonl import job_lines
from waiting import wait_until

LIMIT_S = 60.0
SHORT = 'op = "write"\ntasks = [1, 2]\nblock_size = "1MiB"\n'
WAITS = ["sh", "-c", "until [ -e go ]; do sleep 0.05; done"]
LONG = 'op = "write"\ntasks = 1\nwrap = true\ntime_limit = "60s"\n'


@pytest.fixture(autouse=True)
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    with own_local() as found:
        yield found


def campaign(work: Path, workload: str, *, top: str = "", count: int = 1) -> Path:
    file = work / "campaign.toml"
    file.write_text(f'target = "null:"\n{top}\n[repeat]\ncount = {count}\n[workload]\n{workload}')
    return file


def start(work: Path, *words: str | Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tonnage.cli", "run", *map(str, words), "--no-report"]
    return subprocess.Popen(argv, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, said


def is_followed(run: Path) -> bool:
    """Whether a process follows the run's jobs: it holds their lock."""
    with (run / LOCK).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def measuring(run: Path) -> None:
    progress = run / "progress.json"
    wait_until(lambda: progress.exists() and (json.loads(progress.read_text())["live"] or {}).get("elapsed_ns"))


def process_of(run: Path) -> int:
    """The job that measures a part of this run."""
    wanted = [b"--resume", os.fsencode(run), b"--part"]
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[4:7] == wanted:
            return int(file.parent.name)
    raise AssertionError("no job measures this run")


def test_a_run_in_one_place_is_one_job_and_reads_like_any_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    code, said = end(start(tmp_path, campaign(tmp_path, SHORT, count=2), "--on", "local", "--out", run))
    assert code == 0, said
    assert [line["event"] for line in job_lines(run)] == ["wanted", "submitted", "ended"]
    found = Run.open(run)
    assert [line["status"] for line in found.trials()] == ["ok"] * 4
    assert found.manifest["state"] == "complete" and found.manifest["ceilings"]
    told = re.findall(r"^\d{4}-write .*?(?:\(and (\d+) before it\))?$", said, re.MULTILINE)
    assert sum(1 + int(before or 0) for before in told) == 4, "a record was not told, or told twice"


def test_a_search_is_one_job(tmp_path: Path) -> None:
    file = tmp_path / "search.toml"
    file.write_text(
        'target = "sim:knee=4,plateau=2GB/s,noise=2%"\nseed = 3\n[job]\non = "local"\n'
        '[search]\nop = ["write"]\nmax_tasks = 16\nbudget = "60s"\n'
    )
    run = tmp_path / "run"
    code, said = end(start(tmp_path, file, "--out", run, "--no-keep"))
    assert code == 0, said
    assert len([line for line in job_lines(run) if line["event"] == "wanted"]) == 1
    assert Run.open(run).manifest["state"] == "complete"


@pytest.mark.parametrize(("on_error", "statuses", "state"), [
    ("continue", ["failed", "ok"], "complete"), ("stop", ["failed"], "failed"),
])  # fmt: skip
def test_a_killed_job_leaves_a_failed_trial_with_who_and_when(
    tmp_path: Path, on_error: str, statuses: list[str], state: str
) -> None:
    run = tmp_path / "run"
    file = campaign(tmp_path, LONG.replace("60s", "4s"), top=f'on_error = "{on_error}"', count=2)
    process = start(tmp_path, file, "--on", "local", "--out", run)
    measuring(run)
    os.kill(process_of(run), signal.SIGKILL)
    code, said = end(process)
    assert code == 1, said
    found = Run.open(run)
    assert [line["status"] for line in found.trials()] == statuses
    assert found.manifest["state"] == state
    reason = found.trials()[0]["reason"]
    assert reason.startswith("job 1 (1 node) failed on ") and "exited with 137" in reason
    assert said.count("-write     1 task  failed: ") == 1, "the lost trial was told twice"
    assert f"failed: {found.trials()[0]['record']}: {reason}" in said


def test_a_detached_run_is_taken_up_and_not_submitted_twice(tmp_path: Path) -> None:
    run = tmp_path / "run"
    file = campaign(tmp_path, f'kind = "command"\ncopies = 1\ntasks = 1\nargv = {json.dumps(WAITS)}\n')
    code, said = end(start(tmp_path, file, "--on", "local", "--out", run, "--detach"))
    assert code == 0 and f"tonnage run --resume {run}" in said
    resumed = start(tmp_path, "--resume", run)
    wait_until(lambda: is_followed(run))
    (tmp_path / "go").touch()
    code, said = end(resumed)
    assert code == 0, said
    assert len([line for line in job_lines(run) if line["event"] == "wanted"]) == 1
    code, said = end(start(tmp_path, "--resume", run))
    assert code == 2 and "is complete" in said


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(tmp_path, campaign(tmp_path, LONG.replace("60s", "3s"), count=2), "--on", "local", "--out", run)
    measuring(run)
    process.send_signal(signal.SIGINT)
    code, said = end(process)
    assert code == 130, said
    assert [line["status"] for line in Run.open(run).trials()] == ["interrupted"]
    code, said = end(start(tmp_path, "--resume", run, "--on", "local"))
    assert code == 0, said
    assert [line["status"] for line in Run.open(run).trials()] == ["interrupted", "ok", "ok"]


def test_a_job_that_was_given_up_measures_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert end(start(tmp_path, campaign(tmp_path, SHORT), "--on", "local", "--out", run))[0] == 0
    before = (run / "trials.jsonl").read_bytes()
    code, said = end(start(tmp_path, "--resume", run, "--part", "0:0"))
    assert code == 2 and "does not wait for this job any more" in said
    assert (run / "trials.jsonl").read_bytes() == before


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_more_tasks_than_the_nodes_take_are_refused_before_a_job_is_submitted(
    tmp_path: Path, dry: tuple[str, ...]
) -> None:
    words = ("--on", "local", "--nodes", "1", "--tasks-per-node", "4", *dry)
    eight = campaign(tmp_path, SHORT.replace("[1, 2]", "[1, 8]"))
    code, said = end(start(tmp_path, eight, "--out", tmp_path / "run", *words))
    assert (code, len(said.splitlines())) == (2, 1), said
    assert "8 tasks are more than 4 on each of 1 node (tasks_per_node); hint: ask for 2 nodes" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--on", "local", "--nodes", "2"), "2 nodes are asked for, and the local scheduler has"),
        (("--on", "local", "--time-limit", "5m"), "the local scheduler knows no time limits"),
        (("--detach",), "--detach leaves a submitted run"),
        (("--on", "local", "--partition", "fast"), "local has no partition 'fast'"),
    ],
)
def test_a_wrong_request_is_one_line(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    code, said = end(start(tmp_path, campaign(tmp_path, SHORT), "--out", tmp_path / "run", *words))
    assert (code, len(said.splitlines())) == (2, 1), said
    assert told in said
    assert not (tmp_path / "run").exists()


def test_a_plan_names_the_jobs_and_writes_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tonnage.cli", "run", str(campaign(tmp_path, SHORT)), "--on", "local", "--dry-run"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout
    assert "jobs      of local: one" in said and "the default partition: 1 node, 1 process each" in said
    assert not (tmp_path / "tonnage-runs").exists()


class Broken:
    """A scheduler on whose hosts the program cannot start: everything else is the real one's."""

    def __init__(self, real: Local) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def submit(self, request: JobRequest) -> Any:
        return self._real.submit(replace(request, argv=("sh", "-c", "echo no such library >&2; exit 127")))


def test_jobs_that_never_begin_are_not_submitted_without_end(
    tmp_path: Path, local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_by_jobs, "scheduler_here", lambda *_, **__: Broken(local))
    monkeypatch.chdir(tmp_path)
    workload = {"op": "write", "tasks": 1, "block_size": "1MiB"}
    found = build_campaign(
        {"target": "null:", "job": {"on": "local"}, "repeat": {"count": 9}, "workload": workload, "seed": 1}
    )
    outcome = run_by_jobs.submit_run(found, text=None, command_line=[], out=str(tmp_path / "run"), observer=Observer())
    assert (outcome.state, outcome.exit_code, len(outcome.failed)) == ("failed", 1, run_by_jobs.FRUITLESS)
    assert all("no such library" in reason for reason in outcome.failed)
    wanted = [line for line in job_lines(tmp_path / "run") if line["event"] == "wanted"]
    assert len(wanted) == run_by_jobs.FRUITLESS
