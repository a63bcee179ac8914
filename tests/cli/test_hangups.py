"""A terminal that is closed ends a command as Ctrl-C does, at any of its moments."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

AT_ITS_END = """\
import os, signal, sys
import tonnage.cli as cli
cli._run = lambda _: os.kill(os.getpid(), {number}) or 0
sys.exit(cli.main(["report", "x"]))
"""


def ended(number: int, *before: str) -> subprocess.CompletedProcess[str]:
    code = "\n".join([*before, AT_ITS_END.format(number=number)])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_outside_the_run_loop_is_an_interrupt_and_kills_nothing(number: signal.Signals) -> None:
    # Whoever started the tests may have had them ignore a hangup.
    said = ended(number, "import signal", "signal.signal(signal.SIGHUP, signal.SIG_DFL)")
    assert (said.returncode, said.stderr) == (130, "tonnage: error: interrupted\n")


def test_nohup_stays_nohup() -> None:
    said = ended(signal.SIGHUP, "import signal", "signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    assert (said.returncode, said.stderr) == (0, "")
