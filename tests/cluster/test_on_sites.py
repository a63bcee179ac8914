"""``tonnage run --on`` for schedulers that cannot be installed here: stand-ins for their commands run the jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from stand_in_site import SITES, install
from tonnage.machine.user_state import user_name
from tonnage.records import Run
from tonnage.records.jobs_jsonl import job_lines
from waiting import wait_until

LIMIT_S = 60.0
CAMPAIGN = """target = "null:"
[repeat]
count = 2
[job]
on = "{name}"
partition = "normal"
[workload]
op = "write"
tasks = 2
wrap = true
time_limit = "{limit}"
"""


@pytest.fixture(params=list(SITES))
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    commands = StandIns(tmp_path, monkeypatch)
    install(commands, request.param, tmp_path / "site", user_name())
    monkeypatch.setenv("FLUX_URI", "local:///nowhere")
    return str(request.param)


def start(work: Path, name: str, limit: str) -> subprocess.Popen[str]:
    file = work / "campaign.toml"
    file.write_text(CAMPAIGN.format(name=name, limit=limit))
    argv = [sys.executable, "-m", "tonnage.cli", "run", str(file), "--out", str(work / "run"), "--no-report"]
    return subprocess.Popen(argv, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def measuring(run: Path) -> None:
    progress = run / "progress.json"
    wait_until(lambda: progress.exists() and (json.loads(progress.read_text())["live"] or {}).get("elapsed_ns"))


def test_a_run_is_submitted_followed_and_complete(tmp_path: Path, name: str) -> None:
    process = start(tmp_path, name, "200ms")
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    run = Run.open(tmp_path / "run")
    assert [line["status"] for line in run.trials()] == ["ok", "ok"]
    assert run.manifest["state"] == "complete" and run.manifest["on"]["scheduler"] == name
    ended = job_lines(run.path)[-1]
    assert (ended["state"], ended["hosts"]) == ("done", ["here"])


def test_ctrl_c_cancels_the_job_there(tmp_path: Path, name: str) -> None:
    process = start(tmp_path, name, "60s")
    measuring(tmp_path / "run")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, said
    assert [line["status"] for line in Run.open(tmp_path / "run").trials()] == ["interrupted"]


@pytest.mark.parametrize("name", ["lsf"], indirect=True)
def test_a_job_that_dies_leaves_a_failed_trial(tmp_path: Path, name: str) -> None:
    process = start(tmp_path, name, "3s")
    measuring(tmp_path / "run")
    (job,) = [json.loads(file.read_text()) for file in (tmp_path / "site").glob("*.json")]
    os.killpg(job["pid"], signal.SIGKILL)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1, said
    lines = Run.open(tmp_path / "run").trials()
    assert [line["status"] for line in lines] == ["failed", "ok"]
    assert "(normal: 1 node) failed on here at" in lines[0]["reason"]
