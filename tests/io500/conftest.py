"""A directory with configurations, and the command in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main

from .small_benchmark import FEW, SMALL, Io500


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.ini").write_text(SMALL)
    (tmp_path / "few.ini").write_text(FEW)
    return tmp_path


@pytest.fixture
def io500(here: Path, capsys: pytest.CaptureFixture[str]) -> Io500:
    assert (here / "small.ini").exists()

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["io500", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
