"""Runs the command line as a user types it, and checks its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import warm_start

LIMIT_S = 120.0


def argv_of(*words: str | Path) -> list[str]:
    """Returns the command line of these words."""
    return [sys.executable, "-m", "tonnage.cli", *map(str, words)]


def tonnage(*words: str | Path, expect: int = 0, limit_s: float = LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Runs it to its end, which must be the exit code ``expect``, without a traceback."""
    done = warm_start.finished(*words, timeout=limit_s)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done
