"""The program beside a mover: it begins when told, gets its signals, and its end is known."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.staging.run_mover import Application


def ended(application: Application, limit_s: float = 20) -> int:
    end = time.monotonic() + limit_s
    while not application.has_ended():
        assert time.monotonic() < end
        time.sleep(0.005)
    assert application.status is not None
    return application.status


def test_it_begins_only_when_told_with_the_words_and_the_environment_it_was_given(tmp_path: Path) -> None:
    code = "import os, sys; open(os.environ['WHERE'], 'w').write(repr(sys.argv[1:])); sys.exit(7)"
    words = [sys.executable, "-c", code, "a b", "$HOME", ""]
    application = Application(words, {**os.environ, "WHERE": str(tmp_path / "said")})
    assert not application.has_ended() and not (tmp_path / "said").exists()
    application.go()
    assert ended(application) == 7
    assert (tmp_path / "said").read_text() == "['a b', '$HOME', '']"


def test_one_that_is_given_up_never_began(tmp_path: Path) -> None:
    application = Application(["touch", str(tmp_path / "began")], os.environ)
    application.give_up()
    assert application.has_ended() and not list(tmp_path.iterdir())


def test_a_program_that_is_not_there_is_refused_before_a_process_is_made(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot find the program 'no-such-program'"):
        Application(["no-such-program"], os.environ)
    with pytest.raises(RequestError, match="cannot find the program"):
        Application([str(tmp_path)], os.environ)


def test_a_program_that_the_system_cannot_execute_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "damaged"
    file.write_bytes(b"\x7fELF but no more")
    file.chmod(0o755)
    application = Application([str(file)], os.environ)
    with pytest.raises(RequestError, match=r"cannot execute .*: Exec format error"):
        application.go()
    assert application.has_ended()


def test_a_program_that_a_signal_ended_has_the_status_of_a_shell() -> None:
    application = Application(["sleep", "60"], os.environ)
    application.go()
    application.send(signal.SIGTERM)
    assert ended(application) == 128 + signal.SIGTERM
    application.send(signal.SIGTERM)  # nobody is there any more


def alone(code: str) -> None:
    """In a process that has no other thread, as whoever takes signals one by one must have: a test runner may have
    some, of libraries that tests before loaded, and any of them may be given a signal that it has not blocked."""
    head = "import os, signal, time; from tonnage.staging.run_mover import Application; "
    lines = [head + "from tonnage.staging.run_mover import Signals", inspect.getsource(ended), textwrap.dedent(code)]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, timeout=100)


def test_signals_wait_for_us_and_reach_the_program_as_usual() -> None:
    alone("""
        with Signals() as signals:
            application = Application(["sleep", "60"], os.environ)
            application.go()
            os.kill(os.getpid(), signal.SIGINT)
            asked = signals.wait(5)
            assert asked and asked.number == signal.SIGINT and not asked.by_terminal
            application.send(asked.number)
            assert ended(application) == 128 + signal.SIGINT
            os.kill(os.getpid(), signal.SIGTERM)  # nobody asks any more: it must not strike later
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    """)


def test_the_end_of_the_program_wakes_the_wait() -> None:
    alone("""
        with Signals() as signals:
            application = Application(["true"], os.environ)
            began = time.monotonic()
            application.go()
            assert signals.wait(60) is None
            assert time.monotonic() - began < 30 and ended(application) == 0
    """)
