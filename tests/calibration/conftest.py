"""Prints the calibration tables after the tests, whatever pytest was asked to capture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_LINES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def calibration_report(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Adds a line to the tables."""
    return pytestconfig.stash.setdefault(_LINES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("calibration against the simulator")
        for line in lines:
            terminalreporter.write_line(line)
