"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_spool import own_local

from .placement_user import DIRECTORIES, PlacementUser
from .shell import DEADLINE_S, LAUNCHER, Said, Shell, group_members
from .stage import Stage


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def stage(shell: Shell) -> Iterator[Stage]:
    made = Stage(shell)
    yield made
    made.clean_up()


@pytest.fixture
def user(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlacementUser]:
    """With a local scheduler of their own; nothing that it started outlives the test."""
    for name in DIRECTORIES:
        monkeypatch.setenv(name, str(tmp_path / name))
    with own_local():
        yield PlacementUser(shell)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    """The first start sets the checkout up; no test should time that."""
    subprocess.run([LAUNCHER, "--version"], check=True, capture_output=True, timeout=1500)


@pytest.fixture
def interrupt() -> Iterator[Callable[[subprocess.Popen[str], signal.Signals], Said]]:
    """Sends a signal to a started command and waits for its end; what is still there after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def send(process: subprocess.Popen[str], number: signal.Signals) -> Said:
        started.append(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
        assert group_members(process.pid) == []
        return Said(process.returncode, out, err)

    yield send
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
