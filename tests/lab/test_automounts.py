"""Paths that are mounted when somebody looks at them, by a real autofs in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASK = (
    "import json, sys; from dataclasses import asdict\n"
    "from tonnage.placement.site import Site; from tonnage.placement.where import locate\n"
    "for path in sys.argv[2:]: print(json.dumps(asdict(locate(path, Site(), timeout_s=float(sys.argv[1])))))\n"
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="an automounter needs root"),
    pytest.mark.skipif(
        "autofs" not in Path("/proc/filesystems").read_text().split(), reason="this kernel has no autofs"
    ),
]


def where(directory: Path, *names: str, timeout_s: float = 20.0) -> list[dict[str, Any]]:
    """What is said of each path below ``directory``, where an automounter serves ``home/NAME`` and ``data``."""
    paths = [str(directory / name) for name in names]
    argv = [sys.executable, str(ROOT / "lab/automounter.py"), str(directory), sys.executable, "-c", ASK, str(timeout_s)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    said = subprocess.run([*argv, *paths], capture_output=True, text=True, check=True, timeout=100, env=environment)
    return [json.loads(line) for line in said.stdout.splitlines()]


def test_looking_at_a_path_mounts_it(tmp_path: Path) -> None:
    for name, point in (("home/joe", "home/joe"), ("home/joe/run/out", "home/joe"), ("data", "data")):
        at = tmp_path / name.replace("/", "-")
        at.mkdir()
        (found,) = where(at, name)
        assert found["mount"]["mount_point"] == str(at / point), name
        assert found["mount"]["file_system"] == "tmpfs"
        assert found["local"]


def test_what_the_map_does_not_have_is_said_to_be_not_mounted(tmp_path: Path) -> None:
    missing, whole = where(tmp_path, "home/nobody", "home")
    for found in (missing, whole):
        assert found["mount"]["file_system"] == "autofs"
        assert found["servers"] == []
        assert "nothing is mounted at" in found["problem"]
    assert missing["how"] == [f"nobody does not exist yet: {tmp_path}/home says where it will be"]


def test_an_automounter_that_never_answers_is_given_up(tmp_path: Path) -> None:
    (found,) = where(tmp_path, "home/later", timeout_s=0.5)
    assert found["how"][0].startswith(f"{tmp_path}/home/later did not answer within 0.5 s: the mount table alone")
    assert found["mount"]["file_system"] == "autofs"
    assert "nothing is mounted at" in found["problem"]
