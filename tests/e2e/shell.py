"""The command line as a user types it: a process, its words, its exit code, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warm_start

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "tonnage"
DEADLINE_S = 240
"""For what takes half a minute on an idle machine; others may compute beside it."""


@dataclass(frozen=True)
class Said:
    """What a finished command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Shell:
    """A user in a directory of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.data.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "NO_COLOR": "1", **more}

    def __call__(
        self, *arguments: str | Path, check: int | None = 0, launcher: Path = LAUNCHER, **environment: str
    ) -> Said:
        variables = self.environment(**environment)
        if launcher == LAUNCHER:
            done = warm_start.finished(*arguments, cwd=self.home, environment=variables, timeout=DEADLINE_S)
        else:
            done = subprocess.run(
                [launcher, *arguments], cwd=self.home, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                env=variables, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        if check is not None:
            assert done.returncode == check, done.stderr
        assert "Traceback" not in done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path, **more: Any) -> subprocess.Popen[str]:
        """In a process group of its own, so that the test can see whether anything of it is left."""
        return subprocess.Popen(
            [LAUNCHER, *arguments],
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
            start_new_session=True,
            **more,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.write_text(text)
        return path

    @property
    def runs(self) -> list[Path]:
        return sorted(self.home.glob("tonnage-runs/*"))

    @property
    def left_behind(self) -> list[Path]:
        """Everything that is still in the measured directory."""
        return sorted(self.data.iterdir())


def group_members(group: int) -> list[int]:
    """Processes of a process group that are not zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
