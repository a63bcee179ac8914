"""Recorded programs in the place of this machine's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from .recorded_tools import Tools, tools_in


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Nothing is installed but what the test adds."""
    return tools_in(tmp_path / "bin", monkeypatch)
