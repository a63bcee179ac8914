"""``tonnage stage`` as a user types it: two trees, and what is equal in them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

from waiting import wait_until

from .shell import DEADLINE_S, LAUNCHER, Said, Shell

WRITER = (
    "for i in $(seq 20); do mkdir -p d$i; head -c $((i * 5000)) /dev/urandom > d$i/file$i; done; "
    ": > empty; ln -s empty link"
)
"""A program of the user's: this project starts no shell, they may."""


class Stage:
    """A local tree, a destination, and a runtime directory of their own."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.local, self.remote = shell.home / "local", shell.home / "remote"
        self.local.mkdir()
        runtime = shell.home / "runtime"
        runtime.mkdir(mode=0o700)
        self._runtime = {"XDG_RUNTIME_DIR": str(runtime)}
        self._started: list[subprocess.Popen[str]] = []

    @property
    def trees(self) -> tuple[str, ...]:
        return ("--from", str(self.local), "--to", str(self.remote))

    @property
    def state(self) -> Path:
        return self.local / ".tonnage-stage"

    def __call__(self, *words: str | Path, check: int | None = 0, **environment: str) -> Said:
        return self.shell("stage", *words, check=check, **self._runtime, **environment)

    def environment(self) -> dict[str, str]:
        """Of a command that is not called through this."""
        return self.shell.environment(**self._runtime)

    def run(self, *words: str, program: str = WRITER, check: int | None = 0) -> Said:
        """``stage run`` of a shell script in the local tree."""
        script = f"cd {self.local} && {program}"
        return self("run", *self.trees, *words, "--", "sh", "-c", script, check=check)

    def begin(self, *words: str | Path, **more: Any) -> subprocess.Popen[str]:
        """A command that goes on beside the test."""
        process = subprocess.Popen(
            [LAUNCHER, "stage", *words],
            cwd=self.shell.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
            **more,
        )
        self._started.append(process)
        return process

    def said_by(self, process: subprocess.Popen[str]) -> Said:
        out, err = process.communicate(timeout=DEADLINE_S)
        assert "Traceback" not in err, err
        return Said(process.returncode, out, err)

    def status(self) -> dict[str, Any]:
        """Whatever the exit code."""
        return self("status", "--from", str(self.local), "--json", check=None).json

    def is_running(self) -> bool:
        return bool(self.status()["running"])

    def wait_for_copying(self) -> None:
        """Until the mover of a process that was begun has something in its hands."""
        wait_until(lambda: (self.state / "control.sock").exists(), "the mover answers")
        wait_until(lambda: self.status()["queued"]["files"] > 0, "the mover has found files")

    def kill(self) -> None:
        """SIGKILL to the mover, by the number that it gives itself."""
        pid = self.status()["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.is_running(), "the killed mover is gone")

    def assert_equal(self) -> None:
        """Both trees are the same, bit by bit, and no temporary is left."""
        assert contents(self.local) == contents(self.remote)

    def clean_up(self) -> None:
        """Ends what the test started and left."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        if (self.state / "control.sock").exists():
            self("stop", "--state", self.state, "--deadline", "0", check=None)


def contents(tree: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below ``tree`` but what staging keeps for itself: kind, mode, bytes or target, time of change."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if name.split("/")[0] in (".tonnage-stage", "spectral.log"):
            continue
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            found[name] = ("link", path.readlink())
        elif stat.S_ISREG(info.st_mode):
            found[name] = ("file", stat.S_IMODE(info.st_mode), info.st_mtime_ns, path.read_bytes())
        else:
            found[name] = (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode))
    return found
