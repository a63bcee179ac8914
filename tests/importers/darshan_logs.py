"""Logs of programs whose I/O is known (``lab/darshan``), read once for all tests of a process."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from tonnage.demand.job_use import JobUse
from tonnage.importers.darshan_log import read_log
from tonnage.importers.darshan_use import use_of

LOGS = Path(__file__).parent / "recorded" / "darshan"
needs_darshan = pytest.mark.skipif(find_spec("darshan") is None, reason="PyDarshan is not installed")


def log(name: str) -> Path:
    return LOGS / f"{name}.darshan"


@cache
def use(name: str) -> JobUse:
    """What the log says of the job."""
    return use_of(read_log(log(name).read_bytes()))
