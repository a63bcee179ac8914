"""A bench that is ended ends what it started and leaves no directory behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
SCRIPT = """
import sys, tempfile
import child_processes
from child_processes import cleaned_up_on_signals, said_by
child_processes.PATIENCE_S = 1.0
with cleaned_up_on_signals(), tempfile.TemporaryDirectory(dir=sys.argv[1]) as place:
    said_by(["sh", "-c", sys.argv[2], "sh", place, sys.argv[1]])
"""
MAKES_FILES = 'i=0; while :; do mkdir "$1/$i"; i=$((i+1)); sleep 0.001; done'
LAUNCHES = f"""{{ {MAKES_FILES}; }} & echo $! > "$2/pid.part"; mv "$2/pid.part" "$2/pid"; """
"""As mpirun does: the program that makes the files is a child of the one that was started."""


def runs(pid: str) -> bool:
    """Whether it does; who has ended may stand in the table until its parent looks."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("ending", ["wait", "trap '' TERM; wait", "trap 'exit 3' TERM; wait"])
def test_a_signal_ends_every_program_and_removes_the_directory(tmp_path: Path, number: int, ending: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(BENCH)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), LAUNCHES + ending]
    maker = tmp_path / "pid"
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as bench:
        try:
            deadline = time.monotonic() + 30
            while not (tmp_path / "pid").exists():
                assert time.monotonic() < deadline and bench.poll() is None
                time.sleep(0.01)
            bench.send_signal(number)
            _, err = bench.communicate(timeout=30)
        finally:
            bench.kill()
    went_on = runs(maker.read_text().strip())
    if went_on:
        os.kill(int(maker.read_text()), signal.SIGKILL)
    assert (bench.returncode, err, went_on) == (128 + number, "", False)
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]
