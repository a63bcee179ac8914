"""``tonnage cancel``, as a user types it: his own jobs end with all that they started, and nothing else does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from local_spool import ended, request, spool_of
from tonnage.cli.entry import run_command
from tonnage.cluster.scheduler import Job, SchedulerError
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.machine.user_state import user_name
from waiting import wait_until


def cancel(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tonnage.cli", "cancel", "--scheduler", "local", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_running_job_ends_and_a_stranger_does_not(local: Local, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as stranger:
        try:
            job = local.submit(request("sh", "-c", "echo on >on; sleep 600", key="k", directory=tmp_path)).job
            wait_until(lambda: (tmp_path / "on").exists())
            said = cancel(job, "999")
            assert (said.returncode, said.stdout) == (1, f"Job <{job}> is being terminated\n")
            assert said.stderr.startswith("tonnage: error: job 999: it is no job of yours")
            assert ended(local, job).state == "cancelled"
            assert stranger.poll() is None
            again = cancel(job, "--json")
            assert again.returncode == 1
            (answer,) = json.loads(again.stdout)["jobs"]
            assert answer["job"] == job and not answer["cancelled"] and "no job of yours" in answer["problem"]
        finally:
            stranger.send_signal(signal.SIGKILL)


class _Site:
    """A site's scheduler with three jobs."""

    name = "slurm"

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        assert user == user_name() and not ended
        return [Job(job="1", key="k"), Job(job="2"), Job(job="3", key="l")]

    def cancel(self, job: str, copy: int | None = None) -> None:
        assert copy is None
        if job == "3":
            raise SchedulerError("it is over")
        self.cancelled.append(job)


@pytest.mark.parametrize(
    ("words", "cancelled"), [(["1", "2", "3", "4"], ["1"]), (["--any", "1", "2", "1"], ["1", "2"])]
)
def test_what_tonnage_did_not_submit_is_left_unless_any(
    words: Sequence[str], cancelled: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = _Site()
    monkeypatch.setattr("tonnage.placement.jobs.asked_scheduler", lambda *_: site)
    assert run_command(["cancel", *words]) == (0 if "--any" in words else 1)
    assert site.cancelled == cancelled
    told = capsys.readouterr().err
    assert ("cancel --any" in told) == ("--any" not in words)


def test_a_number_that_another_process_has_now_is_not_signalled(local: Local, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as stranger:
        try:
            job = local.submit(request("sh", "-c", "echo $$ >on; sleep 600", key="k", directory=tmp_path)).job
            spool = spool_of(local)
            wait_until(lambda: (tmp_path / "on").exists() and any(copy.program for copy in spool.running()))
            (copy,) = spool.running()
            known = copy.program
            assert known is not None
            # The process that waits for the program knows better: without it, this number is all that is known.
            waiter, spooler = copy.waiter, spooler_contact.spooler(spool)
            assert waiter is not None and spooler is not None
            spool.note_program(int(job), copy.copy, replace(known, pid=stranger.pid), waiter)
            os.kill(spooler, signal.SIGSTOP)
            os.kill(waiter.pid, signal.SIGKILL)
            wait_until(lambda: not waiter.alive)
            assert cancel(job).returncode == 0
            os.kill(spooler, signal.SIGCONT)
            ended(local, job)
            os.killpg(known.pid, signal.SIGKILL)
            assert stranger.poll() is None
        finally:
            stranger.kill()
