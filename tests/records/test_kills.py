"""A process that is killed at any of its calls on a run directory leaves one that verifies, reports and resumes."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli.entry import run_command
from tonnage.records import Run

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

CAMPAIGN = """\
target = "sim:knee=2,noise=0.05"
seed = 9
[workload]
op = "write"
tasks = [1, 2]
block_size = "4MiB"
[repeat]
count = 2
"""
CALLS = ("open", "write", "fsync", "replace", "rename", "truncate", "ftruncate", "unlink", "mkdir", "rmdir")
"""What of ``os`` changes a directory; ``Path`` calls the same."""
STEP = int(os.environ.get("TONNAGE_KILL_STEP", "9"))
"""Every so many of the calls is tried; 1 tries them all."""


def ended(words: list[str], at: int, number: signal.Signals = signal.SIGKILL) -> int | None:
    """Runs the command in a child that gets a signal before call ``at`` from 0 on; its exit code, None where it was
    killed."""
    pid = os.fork()
    if pid == 0:
        left = at

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **more: Any) -> Any:
                nonlocal left
                if left == 0:
                    os.kill(os.getpid(), number)
                left -= 1
                return real(*arguments, **more)

            return call

        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        code = 70
        try:
            code = run_command(words)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


class Sweep:
    """One run after the other, killed a few calls later each time."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def said(self, *words: str) -> tuple[int, str]:
        code = run_command(list(words))
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out + said.err

    def examine(self, run: Path, where: str) -> None:
        """What a user does after the kill."""
        if not (run / "manifest.json").exists():
            return
        code, said = self.said("verify", str(run))
        assert code == 0, f"{where}: verify: {said}"
        code, said = self.said("report", str(run))
        assert code == 0 or "has no trials yet" in said, f"{where}: report: {said}"
        code, said = self.said("run", "--resume", str(run), "--no-report")
        assert code == 0 or "is complete: there is nothing to resume" in said, f"{where}: resume: {said}"
        code, said = self.said("verify", str(run))
        assert code == 0 and "sealed: the SHA-256" in said, f"{where}: verify at the end: {said}"
        code, said = self.said("report", str(run))
        assert code == 0, f"{where}: report at the end: {said}"
        found = Run.open(run)
        made = [(json.dumps(line["setting"]), line["repetition"]) for line in found.trials() if line["status"] == "ok"]
        assert len(made) == len(set(made)) == 4, where
        left = [path.name for path in run.iterdir() if path.name.endswith(".tmp")]
        assert code or not left or found.manifest["state"] == "complete", f"{where}: {left}"


@pytest.fixture
def sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Sweep:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    return Sweep(tmp_path, capsys)


def test_a_run_killed_at_any_call_verifies_reports_and_resumes(sweep: Sweep) -> None:
    at = 0
    while True:
        run = sweep.home / f"run-{at}"
        code = ended(["run", str(sweep.home / "c.toml"), "--out", str(run)], at)
        if code is not None:
            assert code == 0 and at > 100, f"the sweep ended early, at call {at}: exit {code}"
            break
        sweep.examine(run, f"killed at call {at}")
        at += STEP


def test_a_resume_killed_at_any_call_verifies_reports_and_resumes(sweep: Sweep) -> None:
    at, begun = 0, 0
    while True:
        run = sweep.home / f"run-{at}"
        # In the middle of the run, which differs from one to the next: killed, or interrupted, and then summarised.
        number = (signal.SIGKILL, signal.SIGINT)[begun % 2]
        code = ended(["run", str(sweep.home / "c.toml"), "--out", str(run), "--no-report"], 60 + begun % 30, number)
        assert code == (None if number == signal.SIGKILL else 130)
        begun += 1
        code = ended(["run", "--resume", str(run)], at)
        if code is not None:
            assert code == 0 and at > 40, f"the sweep ended early, at call {at}: exit {code}"
            break
        sweep.examine(run, f"resume killed at call {at}")
        at += STEP
