"""``tonnage ior`` and ``mdtest`` with a run directory for each call, and a directory for their files."""

from __future__ import annotations

import io
import platform
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from local_spool import own_local
from tonnage.cli.entry import run_command
from tonnage.compat.front_end import Voice
from tonnage.compat.ior.command import run

from . import mdtest_calls
from .ior_calls import Ior, Said


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


@pytest.fixture
def mdtest(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> mdtest_calls.Mdtest:
    """Runs a command line in ``data``, each time with a run directory of its own."""
    monkeypatch.chdir(tmp_path)
    numbers = count()

    def call(*words: str, code: int = 0) -> mdtest_calls.Said:
        monkeypatch.setenv("TONNAGE_OUT", str(tmp_path / f"run-{next(numbers)}"))
        assert run_command(["mdtest", "-d", str(data), *words]) == code, capsys.readouterr()
        return mdtest_calls.Said(*capsys.readouterr())

    return call


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory at a site whose scheduler is the local one; nothing that it started outlives the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    server = f'[[server]]\nname = "{platform.node()}"\nholds = ["{work}"]\nhosts = ["{platform.node()}"]\n'
    (work / "tonnage.toml").write_text(f'scheduler = "local"\n{server}')
    with own_local():
        yield work
