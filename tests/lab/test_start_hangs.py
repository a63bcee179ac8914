"""A command that is started in a working directory whose server has died says so, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultfs import Mounted, mounted, needs_fuse

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "tonnage"
LIMIT_S = 40.0
"""Some times 2 s, and a busy machine: without an answer it would be for ever."""
WAITS = (
    "import os, sys; os.chdir(sys.argv[1]); print('there', flush=True); sys.stdin.readline(); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
"""Entering a directory asks its server too: it is done before that stops."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Mounted]:
    needs_fuse()
    if not (ROOT / ".venv/.tonnage-built").exists():
        pytest.skip("the engine is not built: run ./tonnage once")
    with mounted(tmp_path) as mount:
        yield mount


def started(mount: Mounted, home: Path, *words: str) -> tuple[int, str]:
    """Exit code, and all that the launcher printed where its working directory does not answer."""
    environment = {**os.environ, "PWD": str(mount.path), "PYTHONPATH": ":/nowhere"}
    # Python itself: the stand-in that pyenv puts in its place is a shell script, which hangs before any of ours runs.
    environment["PATH"] = f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        environment[name] = str(home / name)
    with subprocess.Popen(
        [sys.executable, "-I", "-c", WAITS, mount.path, LAUNCHER, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None and process.stdout.readline() == "there\n"
            with mount.stopped():
                said, _ = process.communicate("\n", timeout=LIMIT_S)
            return process.returncode, said
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("--version",), 0, "tonnage "),
        (("where",), 1, "did not answer within 2 s"),
        (("submit", "--scheduler", "local", "--anywhere", "--dry-run", "true"), 0, "did not answer within 2 s"),
        (("lsload",), None, "no file server is known"),
        (("doctor",), 1, "`submit` takes no job from"),
        (("doctor",), 1, "does not answer"),
    ],
)
def test_it_is_said_that_the_working_directory_does_not_answer(
    place: Mounted, tmp_path: Path, words: tuple[str, ...], code: int | None, what: str
) -> None:
    found, said = started(place, tmp_path, *words)
    assert code in (None, found), said
    assert what in said and "Traceback" not in said
