"""What nobody could check beforehand takes no file system below its floor; what was checked may take all of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_file_system import MIB, Watched, file_system


def floor_of(path: Path) -> int:
    """What stays free of a file system that is smaller than 80 GiB."""
    facts = os.statvfs(path)
    return facts.f_blocks * facts.f_frsize // 20


def command(work: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """As a user types it."""
    environment = {**os.environ, "TONNAGE_OUT": str(work / "run")}
    line = [sys.executable, "-m", "tonnage.cli", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)


def written(work: Path) -> int:
    """Bytes by the phase that failed."""
    lines = [json.loads(line) for line in (work / "run/trials.jsonl").read_text().splitlines()]
    return max(line["bytes"] or 0 for line in lines if line["status"] == "failed")


@pytest.mark.parametrize(
    ("kind", "mib", "words"),
    [
        ("tmpfs", 100, ("-w", "8m")),
        ("tmpfs", 1000, ("-w", "64m", "--tasks", "3")),
        ("ext4", 400, ("-w", "64m", "--tasks", "2")),
        ("ext4", 400, ("-w", "3901", "--tasks", "2")),
        ("xfs", 600, ("-w", "8m", "-y")),
        ("btrfs", 900, ("-w", "64m", "--tasks", "2")),
    ],
)
def test_a_creation_that_time_would_end_ends_before_the_floor(
    tmp_path: Path, kind: str, mib: int, words: Sequence[str]
) -> None:
    with file_system(tmp_path, kind, mib) as path, Watched(path) as watched:
        before, floor = sorted(path.iterdir()), floor_of(path)
        said = command(tmp_path, "mdtest", "-F", "-C", "-n", "50000", "-W", "300", "-d", path, *words)
        assert sorted(path.iterdir()) == before, "what it made is gone"
    assert said.returncode == 1, said.stderr
    (line,) = [line for line in said.stderr.splitlines() if line.startswith("mdtest: failed")]
    assert " is nearly full: " in line and "; use a shorter time limit" in line, said.stderr
    assert floor <= watched.least and written(tmp_path) > watched.before // 4


def test_a_named_file_that_time_would_end_ends_before_the_floor(tmp_path: Path) -> None:
    with file_system(tmp_path, "ext4", 400) as path, Watched(path) as watched:
        floor = floor_of(path)
        said = command(tmp_path, "ior", "-w", "-t", "1m", "-b", "1t", "-D", "300", "-o", path / "data")
        assert not (path / "data").exists()
    assert said.returncode == 1 and " is nearly full: " in said.stderr, said.stderr
    assert floor <= watched.least and written(tmp_path) > watched.before // 4


def test_what_was_checked_may_leave_less_than_the_floor(tmp_path: Path, tonnage: Any) -> None:
    with file_system(tmp_path, "tmpfs", 100) as path:
        said = tonnage("run", tonnage.campaign(path, tasks=1, op="write", block_size="98MiB", transfer_size="1MiB"))
        assert said.code == 0, said.err
    assert [line["bytes"] for line in said.measured("write")] == [98 * MIB]


def test_a_creation_that_fits_or_that_time_ends_first_is_left_alone(tmp_path: Path) -> None:
    with file_system(tmp_path, "tmpfs", 100) as path:
        fits = command(tmp_path, "mdtest", "-F", "-C", "-r", "-n", "11", "-w", "8m", "-W", "300", "-d", path)
        assert fits.returncode == 0, fits.stderr
    with file_system(tmp_path, "ext4", 900) as path:
        words = ("-n", "57000", "-w", "16k", "-W", "1", "-y", "-d", path)
        slow = command(tmp_path, "mdtest", "-F", "-C", "-r", *words)
        assert slow.returncode == 0, slow.stderr
