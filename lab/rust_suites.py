"""The Rust suites that a lab runs on a storage of its own: the ignored tests of ``crates/*/tests``."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from impossible import Impossible

ROOT = Path(__file__).resolve().parents[1]
BUILD_LIMIT_S = 580
RUN_LIMIT_S = 300


@functools.cache
def program(crate: str) -> Path:
    """The test program of a crate, built if need be. Impossible where there is no cargo."""
    if shutil.which("cargo") is None:
        raise Impossible("no cargo here to build the suite with")
    # Of the whole workspace, as `make rust` builds it: for one package alone cargo chooses other features of what
    # it stands on, and compiles all of that again. And in its profile.
    words = ["--workspace", "--profile=tested", "--quiet", f"--test={crate}", "--no-run", "--message-format=json"]
    argv = ["cargo", "test", *words]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (found,) = [line["executable"] for line in lines if line.get("executable") and line["target"]["name"] == crate]
    return Path(found)


def passes(crate: str, names: str, tests: int, environment: Mapping[str, str]) -> None:
    """The ignored tests of those names, so many, pass."""
    argv = [str(program(crate)), "--ignored", names]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests} passed" in done.stdout, done.stdout
