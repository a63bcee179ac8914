"""``tonnage run FILE --on slurm`` against a real Slurm: what a user of a login node sees, and what is left of a run
whose job, node or submitter ends early."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import slurm as lab
from impossible import skipped_where_impossible
from tonnage.cluster.scheduler import JobRequest, Spread
from tonnage.cluster.schedulers.slurm import Slurm
from tonnage.records import Run
from tonnage.records.jobs_jsonl import job_lines
from waiting import wait_until

HOSTS = tuple(lab.Host(name=f"n{number}") for number in range(1, 5))
QUEUES = {"mm": ["n1", "n2"], "far": ["n3", "n4"], "all": ["n1", "n2", "n3", "n4"]}
LIMIT_S = 40.0
SHORT = {"op": "write", "tasks": 1, "block_size": "1MiB"}
LONG = {"op": "write", "tasks": 1, "wrap": True, "time_limit": "60s"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm]:
    with skipped_where_impossible(), lab.slurm(HOSTS, QUEUES, settings={"KillWait": 5}) as found:
        yield found


class Login:
    """A login node's user in a directory that all hosts see."""

    def __init__(self, work: Path, cluster: lab.Slurm) -> None:
        self.work = work
        self.cluster = cluster
        self.run = work / "run"
        self.target = work / "target"
        self.target.mkdir()

    def campaign(self, *, target: str | None = None, count: int = 1, **workload: object) -> Path:
        file = self.work / "campaign.toml"
        lines = [f"target = {json.dumps(target or str(self.target))}", "[repeat]", f"count = {count}"]
        keys = (f"{key} = {json.dumps(value)}" for key, value in workload.items())
        file.write_text("\n".join([*lines, "[workload]", *keys]) + "\n")
        return file

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "tonnage.cli", "run", *map(str, words)]
        return subprocess.Popen(argv, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def submit(self, file: Path, *words: str | Path) -> subprocess.Popen[str]:
        return self.start(file, "--on", "slurm", "--out", self.run, "--no-report", *words)

    def resume(self, *words: str) -> tuple[int, str]:
        return self.end(self.start("--resume", self.run, "--no-report", *words))

    def end(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        _, said = process.communicate(timeout=LIMIT_S)
        return process.returncode, said

    @property
    def trials(self) -> list[dict[str, Any]]:
        return Run.open(self.run).trials()

    def jobs(self, event: str) -> list[dict[str, Any]]:
        return [line for line in job_lines(self.run) if line["event"] == event]

    def measuring(self) -> None:
        """Until a phase is under way."""
        progress = self.run / "progress.json"
        wait_until(lambda: progress.exists() and (json.loads(progress.read_text())["live"] or {}).get("elapsed_ns"))


@pytest.fixture
def login(cluster: lab.Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Login]:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    yield Login(tmp_path, cluster)
    scheduler = Slurm(timeout_s=10.0)
    for job in {job.job for job in scheduler.jobs()}:
        scheduler.cancel(job)
    wait_until(lambda: not scheduler.jobs())


def test_each_block_is_a_job_in_each_partition_and_the_records_are_one_run(login: Login) -> None:
    code, said = login.end(
        login.submit(login.campaign(count=2, partition=["mm", "far"], **SHORT, transfer_size=["4k", "64k"]))
    )
    assert code == 0, said
    order = [(line["block"], line["setting"]["partition"]) for line in login.trials]
    assert len(order) == 8 and sorted(set(order)) == [(0, "far"), (0, "mm"), (1, "far"), (1, "mm")]
    stretches = [pair for at, pair in enumerate(order) if at == 0 or order[at - 1] != pair]
    assert len(stretches) == 4, "a place was left and entered again within a block"
    ended = login.jobs("ended")
    assert [line["state"] for line in ended] == ["done"] * 4
    for wanted, line in zip(login.jobs("wanted"), ended, strict=True):
        assert set(line["hosts"]) <= set(QUEUES[wanted["partition"]])
    run = Run.open(login.run)
    assert run.manifest["state"] == "complete" and run.manifest["on"]["scheduler"] == "slurm"
    told = re.findall(r"^\d{4}-write .*?(?:\(and (\d+) before it\))?$", said, re.MULTILINE)
    assert sum(1 + int(before or 0) for before in told) == 8
    verify = [sys.executable, "-m", "tonnage.cli", "verify", str(login.run)]
    assert subprocess.run(verify, capture_output=True, check=False, timeout=LIMIT_S).returncode == 0
    assert not list(login.target.iterdir())


@pytest.mark.parametrize(
    ("workload", "words", "told"),
    [
        ({"partition": "m"}, ("--on", "slurm"), "slurm has no partition 'm'; hint: did you mean 'mm'?"),
        ({"hosts": ["n1", "n9"]}, ("--on", "slurm"), "slurm knows no host 'n9'"),
        ({"partition": "mm", "hosts": ["n3"]}, ("--on", "slurm"), "n3 is not in the partition mm"),
        ({}, ("--on", "slurm", "--nodes", "3"), "3 nodes are asked for, and the partition mm has 2"),
        ({}, ("--on", "slurm", "--nodes", "2", "--mpi", "none"), "mpi none is one process"),
        ({}, ("--on", "lsf"), "lsf is not set up on this host"),
        ({}, ("--nodes", "2"), "--nodes is about jobs of a scheduler"),
        ({"partition": "mm"}, (), "partition mm is a scheduler's"),
    ],
)
def test_a_wrong_request_is_one_line_and_nothing_is_submitted(
    login: Login, workload: dict[str, Any], words: tuple[str, ...], told: str
) -> None:
    file = login.campaign(**SHORT, **workload)
    code, said = login.end(login.start(file, "--out", login.run, *words))
    assert (code, len(said.splitlines())) == (2, 1), said
    assert told in said
    assert not login.run.exists() and not Slurm(timeout_s=10.0).jobs()


def test_what_a_job_finds_wrong_is_a_wrong_request_too(login: Login) -> None:
    code, said = login.end(login.submit(login.campaign(target=str(login.work / "nowhere"), **SHORT)))
    assert code == 2 and "nowhere does not exist" in said.splitlines()[-1], said
    assert "Traceback" not in said


def test_ctrl_c_cancels_the_job_and_resume_finishes_the_run(login: Login) -> None:
    process = login.submit(login.campaign(target="null:", **LONG))
    login.measuring()
    process.send_signal(signal.SIGINT)
    code, said = login.end(process)
    assert code == 130, said
    assert [line["state"] for line in login.jobs("ended")] == ["cancelled"]
    assert [line["status"] for line in login.trials] == ["interrupted"]
    assert Run.open(login.run).manifest["state"] == "interrupted"
    assert not Slurm(timeout_s=10.0).jobs()


def test_a_killed_submitter_leaves_a_job_that_resume_takes_up(login: Login) -> None:
    process = login.submit(login.campaign(target="null:", op="write", tasks=1, wrap=True, time_limit="15s"))
    login.measuring()
    process.kill()
    login.end(process)
    code, said = login.resume()
    assert code == 0, said
    assert "taking up job" in said
    assert len(login.jobs("wanted")) == 1, "a second job was submitted"
    assert [line["status"] for line in login.trials] == ["ok"]


def test_a_submission_that_was_cut_off_is_found_by_its_key(login: Login) -> None:
    # The job waits until all is as it should be.
    login.cluster.ask("scontrol", "update", "partitionname=far", "maxtime=1")
    try:
        file = login.campaign(target="null:", op="write", tasks=1, wrap=True, time_limit="1s", partition="far")
        assert login.end(login.submit(file, "--detach", "--time-limit", "10m"))[0] == 0
        # As if it had been killed between the submission and its own note of it.
        ledger = login.run / "jobs.jsonl"
        ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
        resumed = login.start("--resume", login.run, "--no-report", "--on", "slurm")
        wait_until(lambda: login.jobs("submitted") or resumed.poll() is not None)
    finally:
        login.cluster.ask("scontrol", "update", "partitionname=far", "maxtime=UNLIMITED")
    code, said = login.end(resumed)
    assert code == 0, said
    assert len(login.jobs("wanted")) == 1 and len(login.jobs("submitted")) == 1


@pytest.mark.parametrize("end", ["cancelled", "node"])
def test_a_trial_whose_job_dies_is_recorded_as_failed_and_the_rest_is_measured(login: Login, end: str) -> None:
    file = login.campaign(target="null:", op="write", tasks=1, wrap=True, time_limit="4s", count=2, partition="far")
    process = login.submit(file)
    login.measuring()
    (job,) = Slurm(timeout_s=10.0).jobs()
    if end == "node":
        login.cluster.ask("scontrol", "update", f"nodename={job.hosts[0]}", "state=down", "reason=died")
    else:
        login.cluster.ask("scancel", "--signal=KILL", "--full", job.job)
    try:
        code, said = login.end(process)
    finally:
        if end == "node":
            # Where it has not come back by itself yet.
            with contextlib.suppress(subprocess.CalledProcessError):
                login.cluster.ask("scontrol", "update", f"nodename={job.hosts[0]}", "state=resume")
    assert code == 1, said
    measured = [line for line in login.trials if line["status"] != "interrupted"]
    assert [line["status"] for line in measured] == ["failed", "ok"]
    assert f"job {job.job} (far: 1 node)" in measured[0]["reason"] and f"on {job.hosts[0]} at" in measured[0]["reason"]
    if end == "node":
        assert "NODE_FAIL" in measured[0]["reason"], measured
    assert Run.open(login.run).manifest["state"] == "complete"
    assert len(login.jobs("ended")) == 2


def test_a_trial_that_outlives_the_time_of_its_job_is_recorded_as_failed_for_that(login: Login) -> None:
    process = login.submit(login.campaign(target="null:", op="write", tasks=1, wrap=True, time_limit="90s"))
    login.measuring()
    (job,) = Slurm(timeout_s=10.0).jobs()
    # Slurm looks at what time jobs have left twice a minute.
    login.cluster.ask("scontrol", "update", f"jobid={job.job}", "endtime=now+1")
    code, said = login.end(process)
    assert code == 1, said
    (trial,) = (line for line in login.trials if line["status"] != "interrupted")
    assert trial["status"] == "failed"
    assert "TIMEOUT" in trial["reason"] and f"on {job.hosts[0]} at" in trial["reason"], trial
    assert Run.open(login.run).manifest["state"] == "complete"


def test_why_a_job_waits_is_told_and_ctrl_c_ends_the_wait(login: Login) -> None:
    login.cluster.ask("scontrol", "update", "partitionname=far", "state=up", "maxtime=1")
    process = login.submit(login.campaign(partition="far", **SHORT), "--time-limit", "10m")
    assert process.stderr is not None
    for line in process.stderr:
        if "waits: PartitionTimeLimit" in line:
            break
    process.send_signal(signal.SIGINT)
    code, said = login.end(process)
    login.cluster.ask("scontrol", "update", "partitionname=far", "maxtime=UNLIMITED")
    assert code == 130, said
    assert login.trials == [] and not Slurm(timeout_s=10.0).jobs()


def test_a_second_submitter_of_the_same_run_is_refused(login: Login) -> None:
    process = login.submit(login.campaign(target="null:", **LONG))
    login.measuring()
    code, said = login.resume()
    assert code == 2 and "is followed by another tonnage already" in said
    process.send_signal(signal.SIGINT)
    assert login.end(process)[0] == 130


def test_processes_come_in_the_order_of_the_hosts_asked_for(login: Login) -> None:
    """What ``ensemble.hosts`` shows where the processes have MPI: here only that Slurm obeys."""
    order = login.work / "order"
    order.write_text("n3\nn3\nn1\nn1\nn2\nn2\n")
    spread = Spread(nodes=3, per_node=2, order=str(order), mpi="none")
    show = ("sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME")
    hosts = ("n3", "n1", "n2")
    scheduler = Slurm(timeout_s=10.0)
    scheduler.submit(
        JobRequest(
            argv=show, key="order", directory=str(login.work), queue="all", hosts=hosts, spread=spread, output="o"
        )
    )
    wait_until(lambda: not scheduler.jobs())
    # Without its affinity plug-in srun says that it binds nothing, which is what was asked for.
    said = sorted(line for line in (login.work / "o").read_text().splitlines() if not line.startswith("srun:"))
    assert said == ["0 n3", "1 n3", "2 n1", "3 n1", "4 n2", "5 n2"]
