"""No test sees or changes the site files, load lines and submissions of whoever runs it."""

from __future__ import annotations

import os
import platform
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
import warm_start
from hypothesis import HealthCheck, settings

# How fast examples are made, and run, says how busy this machine is; it is no fault of theirs.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Tests use the engine that is built: none starts the release build because one of another profile is there."""
    with suppress(OSError, ValueError):
        _, profile = (warm_start.ROOT / ".venv/.tonnage-built").read_text().splitlines()
        os.environ.setdefault("TONNAGE_BUILD_PROFILE", profile)


@pytest.fixture(scope="session", autouse=True)
def _signals_as_a_user_has_them() -> None:
    """A shell starts what is in its background with Ctrl-C ignored, and every child inherits that."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def _warm_start() -> Iterator[None]:
    yield
    warm_start.end()


@pytest.fixture(scope="session", autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A test sees no state of the user and no mover that a test beside it has started."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TONNAGE_SYSTEM_CONFIG"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield
        _end_spooler()


def _end_spooler() -> None:
    """It stays a while for the next job; there is none."""
    from tonnage.cluster.schedulers.local import spooler_contact
    from tonnage.cluster.schedulers.local.spool import Spool
    from tonnage.machine.user_state import user_state

    pid = spooler_contact.spooler(Spool(user_state("local", platform.node())))
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One block of all that was skipped, a line a reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminalreporter.section("not tried here, and why")
        for reason, many in reasons.most_common():
            terminalreporter.write_line(f"{many:>5}  {reason}")
