"""The local scheduler on a disk that is full for a while, for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OWN = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Mounts and processes of its own: all that it started ends with it."""
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, time
from pathlib import Path
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.scheduler import JobRequest, SchedulerError

state, work = map(Path, sys.argv[1:])
local = scheduler("local", timeout_s=20)


def job(key, script):
    return JobRequest(argv=("sh", "-c", script), key=key, directory=str(work), output="/dev/null")


def until(done):
    end_s = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end_s
        time.sleep(0.05)


local.submit(job("a", "echo > started; while [ ! -e go ]; do sleep 0.02; done; echo > ended; exit 5"))
until((work / "started").exists)
waiting = local.submit(job("b", "while [ ! -e go ]; do sleep 0.02; done; echo once >> ran")).job
with (state / "fill").open("wb", buffering=0) as fill:
    try:
        while True:
            fill.write(bytes(4096))
    except OSError:
        pass
try:
    local.submit(job("c", "true"))
    print("taken")
except SchedulerError as error:
    print("refused:", error)
(work / "go").touch()
until((work / "ended").exists)


def reasons():
    return {(one.job, one.state): one.reason for one in local.jobs()}


def known():
    found = reasons()
    return len(found) == 2 and found if all(found.values()) else None


until(known)
print("told:", known())
(state / "fill").unlink()
until(lambda: not local.jobs())
print("found:", local.find("c"))
print({one.job: (one.state, one.exit_status) for one in local.jobs(ended=True)})
print((work / "ran").read_text().split())
"""


def refusal() -> str | None:
    """Why this machine cannot mount a small disk of its own; None where it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    tried = subprocess.run(
        [*OWN, "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return None if tried.returncode == 0 else f"a tmpfs cannot be mounted: {tried.stderr.strip()}"


def test_a_full_disk_refuses_new_jobs_and_loses_no_end_of_those_that_run(tmp_path: Path) -> None:
    reason = refusal()
    if reason is not None:
        pytest.skip(reason)
    state, work = tmp_path / "state", tmp_path / "work"
    state.mkdir()
    work.mkdir()
    mount = 'mount -t tmpfs -o size=256k tmpfs "$1" && exec "$2" -c "$3" "$1" "$4"'
    done = subprocess.run(
        [*OWN, "sh", "-c", mount, "sh", state, sys.executable, PROGRAM, work],
        env={**os.environ, "XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    refused, told, found, ends, ran = done.stdout.splitlines()
    assert refused == "refused: the local scheduler's spool: No space left on device"
    # What ended, and what could run, but neither can be written down.
    assert told.count("may be out of date: the local scheduler's spool: No space left on device") == 2
    assert "('1', 'running')" in told
    assert found == "found: None"
    assert ends == "{'1': ('failed', 5), '2': ('done', 0)}"
    assert ran == "['once']"
