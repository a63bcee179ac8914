"""``tonnage ior`` with a run directory for each call, and a directory for its files."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path

import pytest
from tonnage.compat.ior.command import run
from tonnage.compat.output import Voice

from .ior_front import Ior, Said


@pytest.fixture
def ior(tmp_path: Path) -> Ior:
    numbers = count()

    def call(*words: str) -> Said:
        out, err = io.StringIO(), io.StringIO()
        voice = Voice(out, err)
        code = run([*words, "-O", f"tonnageOut={tmp_path / f'run-{next(numbers)}'}"], voice)
        return Said(code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    return directory
