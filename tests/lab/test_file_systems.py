"""File systems that run out of space during a trial, and ones that know no O_DIRECT."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20


def test_a_disk_that_fills_up_during_a_trial_fails_it_with_the_reason(tonnage: Any, device: Callable[..., Any]) -> None:
    # Slow, so that the trial is still writing when somebody else takes the rest of the space.
    lab = device(bytes_per_s=20_000_000, size=256 * MIB, file_system="ext4")
    file = tonnage.campaign(
        lab.path, op=["write"], tasks=[1], transfer_size="1MiB", block_size="96MiB", direct=["auto"]
    )
    process, run = tonnage.start("run", file)
    wait_for(lambda: any(size(found) >= MIB for found in lab.path.glob(".tonnage-*/data.*")), process)
    with (lab.path / "ballast").open("xb") as ballast:
        take_the_rest(ballast.fileno())
        said = tonnage.end(process, run)
    assert said.code == 1, said.err
    (trial,) = said.measured("write")
    assert trial["status"] == "failed"
    assert trial["first_error"]["errno"] == 28
    assert "space" in trial["reason"].lower()
    assert sorted(found.name for found in lab.path.iterdir()) == ["ballast", "lost+found"]


def size(file: Path) -> int:
    """Of a file that may be gone by now: before the run Tonnage tries out what the file system takes."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def take_the_rest(descriptor: int) -> None:
    """Allocates in ever smaller steps until nothing is left."""
    offset, step = 0, 16 * MIB
    while step >= 4096:
        try:
            os.posix_fallocate(descriptor, offset, step)
            offset += step
        except OSError:
            step //= 2


@pytest.fixture
def ramfs(tmp_path: Path) -> Iterator[Path]:
    """A file system that refuses O_DIRECT. It is memory without a size limit: keep files small."""
    path = tmp_path / "ramfs"
    path.mkdir()
    if os.geteuid():
        pytest.skip("mounting a ramfs needs root")
    done = subprocess.run(["mount", "-t", "ramfs", "ramfs", path], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no ramfs can be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_file_system_without_o_direct_is_written_through_the_cache_with_a_note(ramfs: Path) -> None:
    native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    with pytest.raises(OSError, match="Invalid argument"):
        os.open(ramfs / "asked", os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
    scratch = native.Scratch.create(str(ramfs), "lab")
    target = native.Target(json.dumps({"kind": "posix", "direct": "auto", "directories": [scratch.path]}))
    geometry = {"transfer_size": MIB, "block_size": 8 * MIB, "layout": "file-per-task", "access": "sequential"}
    phase = target.start(
        json.dumps(
            {
                "record": "0000-write",
                "tasks": {"here": 1, "total": 1},
                "seed": 1,
                "work": {"kind": "stream", "op": "write", "geometry": geometry, "durability": "fsync", "cache": "keep"},
            }
        )
    )
    phase.go()
    assert phase.wait(30.0)
    result = phase.result()
    target.clear()
    del phase, target
    scratch.remove()
    assert result["first_error"] is None
    assert result["direct"] is False
    assert "no-direct" in [note["code"] for note in result["notes"]]
