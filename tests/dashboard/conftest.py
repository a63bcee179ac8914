"""Runs to look at, and the server as a user starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# With import-mode=importlib a test cannot import its neighbour by itself.
sys.path.insert(0, str(Path(__file__).parent))

import live_page

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'tonnage[serve]'")
pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'tonnage[serve]'")
pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two runs that have ended, ``base`` and ``other``."""
    place = tmp_path_factory.mktemp("runs")
    for name, knee in (("base", 4), ("other", 8)):
        live_page.probe(place / name, f"sim:knee={knee},plateau=2GB/s,noise=5%")
    return place


@pytest.fixture
def serving() -> Iterator[Callable[..., live_page.Served]]:
    """Starts servers; those that still run are ended, by their own process."""
    started: list[live_page.Served] = []

    def start(*words: str | Path) -> live_page.Served:
        started.append(live_page.Served(*words))
        return started[-1]

    yield start
    for served in started:
        served.close()
