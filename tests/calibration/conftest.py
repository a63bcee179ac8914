"""Prints the calibration tables after the tests, whatever pytest was asked to capture, and by however many workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.memory_paths import memory_path, memory_path_factory  # noqa: F401 - fixtures

_LINES = pytest.StashKey[list[str]]()
_KEY = "calibration"


@pytest.fixture(scope="session")
def calibration_report(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Adds a line to the tables."""
    return pytestconfig.stash.setdefault(_LINES, []).append


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its lines to whoever started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_KEY] = session.config.stash.get(_LINES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """The lines of a worker that has ended; one that was killed gives none."""
    node.config.stash.setdefault(_LINES, []).extend(getattr(node, "workeroutput", {}).get(_KEY, []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("calibration against the simulator")
        for line in lines:
            terminalreporter.write_line(line)
