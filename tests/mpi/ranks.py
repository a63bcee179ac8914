"""Starts the command line under a real mpiexec, and looks at its processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

MPIEXEC = shutil.which("mpiexec")
LIMIT_S = 240.0
"""Some times ten seconds, and a busy machine."""


def needs_mpi() -> pytest.MarkDecorator:
    """Skips, and says why, where no process could be started or none could find the others."""
    missing = [] if MPIEXEC else ["mpiexec is not installed"]
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        missing.append("mpi4py is not installed")
    return pytest.mark.skipif(bool(missing), reason=", ".join(missing))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """More processes than processors, by whoever runs the tests."""
    ours = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return {**os.environ, **ours, **(extra or {})}


def command(ranks: int, *words: str) -> list[str]:
    """``tonnage`` with these words, in so many processes."""
    return [MPIEXEC or "mpiexec", *oversubscribing(), "-n", str(ranks), sys.executable, "-m", "tonnage.cli", *words]


@cache
def oversubscribing() -> tuple[str, ...]:
    """What allows more processes than processors, where the launcher wants to be told."""
    said = subprocess.run([MPIEXEC or "mpiexec", "--version"], capture_output=True, text=True).stdout
    return ("--oversubscribe",) if "Open MPI" in said or "OpenRTE" in said else ()


def tonnage(
    ranks: int, *words: str, cwd: Path, extra: Mapping[str, str] | None = None, limit_s: float = LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(
        command(ranks, *words), cwd=cwd, env=environment(extra), capture_output=True, text=True, timeout=limit_s
    )


def processes_of(launcher: subprocess.Popen[str]) -> dict[int, int]:
    """Rank → process, of the interpreters below a running launcher."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = entry.joinpath("cmdline").read_bytes().split(b"\0")
            variables = dict(
                word.split(b"=", 1) for word in entry.joinpath("environ").read_bytes().split(b"\0") if b"=" in word
            )
        except OSError:
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK") or variables.get(b"PMI_RANK")
        if rank is not None and b"tonnage.cli" in words and _descends(int(entry.name), launcher.pid):
            found[int(rank)] = int(entry.name)
    return found


def _descends(pid: int, from_pid: int) -> bool:
    while pid > 1:
        if pid == from_pid:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def lines(run: Path, name: str = "trials.jsonl") -> list[dict[str, Any]]:
    """The lines of a record; empty where there is none yet."""
    path = run / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def manifest(run: Path) -> dict[str, Any]:
    """Of a run."""
    found: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    return found


def scratches(directory: Path) -> list[str]:
    """Marked directories that are still there."""
    return [path.name for path in directory.glob(".tonnage-*")]


class Started:
    """A launcher that is running; ended at the end, with all below it."""

    def __init__(self, ranks: int, *words: str, cwd: Path, extra: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command(ranks, *words), cwd=cwd, env=environment(extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.ranks: dict[int, int] = {}
        self._count = ranks

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in [*self.ranks.values(), self.process.pid] if self.process.poll() is None else self.ranks.values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.communicate()

    def await_ranks(self) -> None:
        """Until all of them are there."""
        self.ranks = wait_until(lambda: found if len(found := processes_of(self.process)) == self._count else None)

    def ended(self, limit_s: float = LIMIT_S) -> tuple[int, str, str]:
        """Waits for its end: exit code, stdout, stderr."""
        out, err = self.process.communicate(timeout=limit_s)
        return self.process.returncode, out, err
