"""Two hosts on one machine: processes of one mpiexec in namespaces with names, and mounts, of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .ranks import LIMIT_S, MPIEXEC, environment, needs_mpi, oversubscribing

_ENTER = 'hostname "$1"; shift; while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"'
"""Runs in the namespaces: a name, pairs of directories to be mounted, ``--``, the program."""


@dataclass(frozen=True)
class Host:
    """A name, how many processes it has, what it sees elsewhere than the machine does, what its environment adds."""

    name: str
    processes: int = 1
    mounts: Sequence[tuple[Path, Path]] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def needs_hosts() -> list[pytest.MarkDecorator]:
    """Skips where namespaces are not allowed."""
    allowed = shutil.which("unshare") is not None and not subprocess.run(
        ["unshare", "--uts", "--mount", "true"], capture_output=True
    ).returncode  # fmt: skip
    return [needs_mpi(), pytest.mark.skipif(not allowed, reason="namespaces are not allowed to this user")]


def command(hosts: Sequence[Host], *words: str) -> list[str]:
    """``tonnage`` with these words in the processes of all these hosts."""
    parts: list[str] = []
    for host in hosts:
        more = [f"{key}={value}" for key, value in host.environment.items()]
        mounts = [str(path) for pair in host.mounts for path in pair]
        parts += [":"] if parts else []
        parts += ["-n", str(host.processes), "env", *more, "unshare", "--uts", "--mount", "sh", "-euc", _ENTER, "sh"]
        parts += [host.name, *mounts, "--", sys.executable, "-m", "tonnage.cli", *words]
    return [MPIEXEC or "mpiexec", *oversubscribing(), *parts]


def tonnage(
    hosts: Sequence[Host], *words: str, cwd: Path, limit_s: float = LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(
        command(hosts, *words), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=limit_s
    )


def only_line(said: str) -> str:
    """The one line of ours among the launcher's own; there must be no second."""
    found = [line for line in said.splitlines() if line.startswith("tonnage:")]
    assert len(found) == 1, said
    return found[0]
