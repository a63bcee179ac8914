"""``tonnage stage`` as its user types it, between the two trees of a stage."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import warm_start
from stage_trees import PATIENCE_S, Stage

Said = subprocess.CompletedProcess[str]


class Commands:
    """``tonnage stage`` between the two trees of a stage, with a runtime directory of its own."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        runtime = stage.work / "runtime"
        runtime.mkdir(mode=0o700)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "NO_COLOR": "1"}
        self.trees = ("--from", stage.source, "--to", stage.to)

    def command_line(self, *words: str | Path) -> list[str | Path]:
        return [sys.executable, "-m", "tonnage.cli", "stage", *words]

    def __call__(self, *words: str | Path, code: int | None = 0) -> Said:
        said = warm_start.finished("stage", *words, environment=self.environment, timeout=PATIENCE_S)
        assert code is None or said.returncode == code, (said.returncode, said.stdout, said.stderr)
        assert "Traceback" not in said.stderr, said.stderr
        return said

    @contextlib.contextmanager
    def running(self, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
        """Runs the command beside the test and kills it at the end."""
        quiet = subprocess.DEVNULL
        with subprocess.Popen(self.command_line(*words), env=self.environment, stdout=quiet, stderr=quiet) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *words: str | Path, code: int | None = 0) -> Said:
        return self("run", *self.trees, *words, "--", "true", code=code)

    def resume(self, *words: str | Path, code: int | None = 0) -> Said:
        return self("resume", "--wait", "--state", self.stage.state, *words, code=code)

    def refused(self, *words: str | Path) -> str:
        """Asserts one line with a hint, exit code 2, and nothing written to the destination."""
        before = everything(self.stage.to)
        said = self.resume(*words, code=2)
        assert said.stderr.startswith("tonnage: error: ") and said.stderr.count("\n") == 1, said.stderr
        assert "; hint: " in said.stderr, said.stderr
        assert everything(self.stage.to) == before
        return said.stderr


def everything(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))
