"""A program that has the terminal: its status, its input, the signals sent to us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from tonnage.cluster.schedulers.tool_output import run_in_foreground
from tonnage.machine.site_tools import ToolMissing


def own(program: str) -> list[str]:
    """A process that runs a Python program in its foreground and exits with its status."""
    call = f"sys.exit(run_in_foreground([sys.executable, '-c', {program!r}]))"
    module = "tonnage.cluster.schedulers.tool_output"
    return [
        sys.executable,
        "-c",
        f"import sys; from {module} import run_in_foreground; {call}",
    ]


def outside(program: str, *, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(own(program), input=text, capture_output=True, text=True, timeout=60, check=False)


def test_the_status_is_the_programs_own() -> None:
    assert run_in_foreground([sys.executable, "-c", "raise SystemExit(7)"]) == 7


def test_a_signal_that_ends_it_is_told_as_a_shell_does() -> None:
    assert run_in_foreground([sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]) == 128 + 15


def test_input_and_output_are_ours() -> None:
    done = outside("print(input().upper())", text="hello\n")
    assert done.stdout == "HELLO\n"


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(ToolMissing, match="no-such-program is not installed"):
        run_in_foreground(["no-such-program"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_sent_to_us_reaches_it_and_its_status_is_kept(number: int) -> None:
    program = textwrap.dedent(f"""
        import os, signal, sys, time
        signal.signal({number}, lambda *_: sys.exit(42))
        print(os.getppid(), flush=True)
        time.sleep(60)
    """)
    with subprocess.Popen(own(program), stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        os.kill(process.pid, number)
        assert process.wait(30) == 42


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    run_in_foreground([sys.executable, "-c", ""])
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_with_a_way_of_its_own_does_not_reach_the_one_that_stands_for_it() -> None:
    program = textwrap.dedent("""
        import signal, sys
        from tonnage.cluster.schedulers.tool_output import run_in_foreground
        taken = []
        def deliver(number):
            taken.append(number)
            return number == signal.SIGTERM
        child = "import os, time; os.kill(os.getppid(), 15); time.sleep(0.2); os.kill(os.getppid(), 10); time.sleep(60)"
        print(run_in_foreground([sys.executable, "-c", child], deliver=deliver), taken)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, start_new_session=True
    )
    assert done.stdout == f"{128 + signal.SIGUSR1} [{int(signal.SIGTERM)}, {int(signal.SIGUSR1)}]\n", done.stderr
