"""A signal while the command's modules are imported ends it in one line, not in an error of the import."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# A process of its own: a test runner has threads, and a signal that one of them takes does not wait for the main one.
INTERRUPTED = """
import os, signal, sys, types
from tonnage.cli import entry

def interrupted(name):
    os.kill(os.getpid(), {number})
    print(name, flush=True)
    return types.ModuleType(name)

entry.import_module = interrupted
sys.exit(entry.run_command(["doctor"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_modules_are_there(number: signal.Signals) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(number=int(number))], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "tonnage.placement.doctor.site_checks\n"
    if number is signal.SIGINT:
        assert (ran.returncode, ran.stderr) == (130, "tonnage: error: interrupted\n")
    else:
        assert ran.returncode in (143, -signal.SIGTERM), ran.stderr
        assert "Traceback" not in ran.stderr


LATE = """
import atexit, os, runpy, sys
number = int(sys.argv[1])
atexit.register(lambda: os.kill(os.getpid(), number))
sys.argv[1:] = ["completions", "bash"]
runpy.run_module("tonnage.cli", run_name="__main__")
"""
"""The signal comes when the command has ended and Python has not."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_of_a_command_leaves_its_exit_code(number: signal.Signals) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LATE, str(int(number))], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
