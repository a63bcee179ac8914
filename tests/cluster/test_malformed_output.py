"""What a scheduler's tool answers is read as what it is: nonsense, silence and floods are errors, never an empty list.

By the command, with stand-ins for the tools.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import warm_start
from command_stand_ins import StandIns
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.flux import parse_hosts as flux_hosts
from tonnage.cluster.schedulers.flux import parse_jobs as flux_jobs
from tonnage.cluster.schedulers.flux import parse_queues as flux_queues
from tonnage.cluster.schedulers.lsf import parse_columns, parse_json
from tonnage.cluster.schedulers.lsf import parse_hosts as lsf_hosts
from tonnage.cluster.schedulers.lsf import parse_queues as lsf_queues
from tonnage.cluster.schedulers.pbs import parse_hosts as pbs_hosts
from tonnage.cluster.schedulers.pbs import parse_jobs as pbs_jobs
from tonnage.cluster.schedulers.pbs import parse_queues as pbs_queues
from tonnage.machine.site_tools import MOST_TEXT, ToolError, ask

NOISE = random.Random(20).randbytes(3000)
TOOLS = {
    "slurm": ("sbatch", "squeue", "sinfo", "sacct", "scontrol"),
    "lsf": ("bsub", "bjobs", "bqueues", "bhosts"),
    "pbs": ("qsub", "qstat", "pbsnodes"),
    "flux": ("flux",),
}


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SLURM_CONF", "anywhere")
    monkeypatch.setenv("FLUX_URI", "local://anywhere")
    return StandIns(tmp_path, monkeypatch)


def tonnage(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    done = warm_start.finished(*words, cwd=tmp_path)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.encode(), done.stderr.encode())


@pytest.mark.parametrize("words", [("jobs",), ("jobs", "--json"), ("queues",)])
@pytest.mark.parametrize("name", TOOLS)
def test_random_bytes_are_no_empty_list(tmp_path: Path, commands: StandIns, name: str, words: tuple[str, ...]) -> None:
    for tool in TOOLS[name]:
        commands.add(tool, f"sys.stdout.buffer.write({NOISE!r})")
    done = tonnage(tmp_path, *words, "--scheduler", name)
    assert done.returncode == 1
    assert b"printed what is no" in done.stderr and not done.stdout
    assert all(32 <= byte < 127 or byte == 10 for byte in done.stderr), "it reached the terminal raw"


def test_random_bytes_of_the_accounting_are_told(tmp_path: Path, commands: StandIns) -> None:
    commands.prints("sbatch", "")
    commands.prints("squeue", "")
    commands.add("sacct", f"sys.stdout.buffer.write({NOISE!r})")
    done = tonnage(tmp_path, "jobs", "--done", "--scheduler", "slurm")
    assert done.returncode == 1 and b"sacct printed what is no" in done.stderr


def test_doctor_tells_of_random_bytes(tmp_path: Path, commands: StandIns) -> None:
    for tool in TOOLS["slurm"]:
        commands.add(tool, f"sys.stdout.buffer.write({NOISE!r})")
    done = tonnage(tmp_path, "doctor")
    assert done.returncode == 1 and b"the scheduler tells nothing: sinfo printed what is no" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("jobs",), b"sinfo did not answer within 0.5 s"),
        (("jobs", "--scheduler", "slurm"), b"sinfo did not answer within 0.5 s"),
        (("submit", "--anywhere", "true"), b"sinfo did not answer within 0.5 s"),
        (("doctor",), b"the scheduler tells nothing: whether this host belongs to a Slurm is not known: sinfo did not"),
    ],
)
def test_a_slurm_that_hangs_is_no_host_without_one(
    tmp_path: Path, commands: StandIns, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: bytes
) -> None:
    """Else a job would run on the login node instead."""
    if any(Path(place).exists() for place in ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf")):
        pytest.skip("this host has a Slurm of its own")
    monkeypatch.delenv("SLURM_CONF")
    (tmp_path / "tonnage.toml").write_text('[policy]\nscheduler_timeout = "0.5s"\n')
    commands.prints("sbatch", "")
    commands.add("sinfo", "import time; time.sleep(600)")
    done = tonnage(tmp_path, *words)
    assert done.returncode == 1
    assert told in done.stdout + done.stderr and b"not set up" not in done.stdout + done.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_control_characters_of_a_scheduler_never_reach_the_terminal(
    tmp_path: Path, commands: StandIns, as_json: bool
) -> None:
    evil = "a\x1b]0;owned\x07\x1b[2J\r\x9b2Jb"
    record = {
        "JOBID": "1", "JOBINDEX": "0", "USER": evil, "STAT": "PEND", "QUEUE": evil, "FROM_HOST": evil,
        "EXEC_HOST": evil, "JOB_NAME": evil, "PEND_REASON": evil,
    }  # fmt: skip
    commands.prints("bsub", "")
    commands.prints("bjobs", json.dumps({"RECORDS": [record]}, ensure_ascii=False))
    done = tonnage(tmp_path, "jobs", "--scheduler", "lsf", *(["--json"] if as_json else []))
    assert done.returncode == 0 and b"owned" in done.stdout
    assert not set(done.stdout + done.stderr) & (set(range(32)) - {10} | {127})
    assert b"\xc2\x9b" not in done.stdout, "C1 controls are obeyed as well"
    if as_json:
        assert json.loads(done.stdout)["jobs"][0]["name"] == evil


def test_a_receipt_with_control_characters_is_printed_as_text(tmp_path: Path, commands: StandIns) -> None:
    commands.add("bsub", "print('Job <7> is submitted to default queue <\\x1b[2Jn>.') if words != ['-V'] else None")
    commands.prints("bjobs", "")
    commands.prints("bhosts", "")
    done = tonnage(tmp_path, "submit", "--anywhere", "--scheduler", "lsf", "true")
    assert done.returncode == 0 and b"Job <7> is submitted to default queue <\\x1b[2Jn>." in done.stdout


@pytest.mark.parametrize(
    "parse",
    [
        *(flux_hosts, flux_jobs, flux_queues),
        *(parse_columns, parse_json, lsf_hosts, lsf_queues),
        *(pbs_hosts, pbs_jobs, pbs_queues),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[" * 100_000,
        "[1]",
        '{"jobs": 3, "Jobs": 3, "Queue": 3, "nodes": 3, "RECORDS": 3}',
        '{"jobs": [3], "Jobs": {"1": 3}, "Queue": {"q": 3}, "nodes": {"n": 3}, "RECORDS": [3]}',
        '{"jobs": [{"state": "RUN", "jobid": 1, "ncores": 1e999}], "Jobs": [1], "Queue": [1], "nodes": [1]}',
    ],
)
def test_every_other_answer_is_an_error_that_says_so(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(SchedulerError, match="printed"):
        parse(text)


def test_more_hosts_than_memory_holds_are_no_hosts() -> None:
    with pytest.raises(SchedulerError, match="printed what is no list of hosts"):
        flux_hosts("free|4|n[1-99999999999]")


def test_a_tool_that_prints_without_end_is_ended() -> None:
    with pytest.raises(ToolError, match=f"printed more than {MOST_TEXT >> 20} MiB"):
        ask(["cat", "/dev/zero"], timeout_s=240)


def test_what_a_tool_is_told_and_says_arrives_whole() -> None:
    text = "é" * 1_000_000
    said = ask(["sh", "-c", "tee /dev/stderr"], timeout_s=240, text=text, environment=os.environ)
    assert said.out == said.err == text
    assert ask(["true"], timeout_s=240, text=text).out == "", "one that reads nothing is no failure"
