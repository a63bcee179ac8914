"""Names that are no UTF-8 are names: nothing that a user typed ends in a traceback."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

ODD = os.fsdecode(b"odd\xff")


def test_a_campaign_and_a_run_directory_of_any_name(tmp_path: Path) -> None:
    directory = tmp_path / ODD
    directory.mkdir()
    file = directory / "campaign.toml"
    file.write_text('target = "null:"\n[repeat]\ncount = 1\n[workload]\nop = "write"\nblock_size = "1MiB"\n')
    argv = [sys.executable, "-m", "tonnage.cli", "run", str(file), "--out", str(directory / "run"), "--json"]
    # As most users have it: what is printed must be UTF-8, and nothing is let through as it is.
    given = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False, env=given)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"] == str(directory / "run")
    assert str(file) in Run.open(directory / "run").manifest["command_line"]
    assert (directory / "run" / "report.html").stat().st_size > 100_000


def test_the_command_of_a_hint_can_be_typed_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, run = tmp_path / "campaign.toml", tmp_path / "one user's run"
    file.write_text('target = "sim:"\n[repeat]\ncount = 1\n[workload]\nop = "write"\nblock_size = "1MiB"\n')
    assert main(["run", str(file), "--out", str(run), "--no-report"]) == 0
    capsys.readouterr()
    assert main(["run", "--resume", str(run)]) == 2
    words = shlex.split(capsys.readouterr().err.split("`")[1])
    assert words == ["tonnage", "report", str(run)] and main([*words[1:], "--json"]) == 0
