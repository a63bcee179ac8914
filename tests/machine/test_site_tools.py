"""A site's tools end with whoever waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ASKS = """
import signal, sys, threading
from tonnage.machine.site_tools import ask
# A child of its own, as a scheduler's wrapper has.
words = ["sh", "-c", f"sleep {sys.argv[1]} & wait"]
threading.Thread(target=ask, args=[words], kwargs={"timeout_s": 600}, daemon=True).start()
signal.pause()
"""
STARTS_SLOWLY = """
import subprocess, time
# A busy machine: the caller goes on a good while after the tool has begun.
class Slow(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        time.sleep(0.5)
subprocess.Popen = Slow
"""


def running(mark: str) -> int:
    """Processes with this word."""
    found = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += file.read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]
        except OSError:
            continue
    return found


def until(number: int, mark: str) -> None:
    end_s = time.monotonic() + 120
    while running(mark) != number:
        assert time.monotonic() < end_s, f"{running(mark)} run, not {number}"
        time.sleep(0.02)


@pytest.mark.parametrize("before", ["", STARTS_SLOWLY], ids=["running", "starting"])
def test_a_tool_that_hangs_in_a_thread_ends_with_its_children_on_an_interrupt(before: str) -> None:
    mark = f"7{os.getpid()}.{len(before) + 1}"
    with subprocess.Popen([sys.executable, "-c", before + ASKS, mark], stderr=subprocess.PIPE) as process:
        until(1, mark)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    until(0, mark)
