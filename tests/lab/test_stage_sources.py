"""Stores through a mapping on file systems that move times for them, and on one of which that is not known (overlay):
what the source held in the end is what its copy holds, before anything is deleted."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loop_device import device
from stage_commands import Commands
from stage_trees import MIB, Stage

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")

SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}


@contextlib.contextmanager
def overlay(work: Path) -> Iterator[Path]:
    """One whose layers are in memory; a file of its lower layer moves up with the first store."""
    merged = work / "merged"
    merged.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", work], check=True)
    try:
        for layer in ("lower", "upper", "work", "merged"):
            (work / layer).mkdir()
        options = f"lowerdir={work}/lower,upperdir={work}/upper,workdir={work}/work"
        subprocess.run(["mount", "-t", "overlay", "-o", options, "none", merged], check=True)
        try:
            yield merged
        finally:
            subprocess.run(["umount", merged], check=True)
    finally:
        subprocess.run(["umount", work], check=True)


@pytest.fixture(params=[*SIZES, "overlay"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    kind: str = request.param
    if os.geteuid():
        pytest.skip("a file system of its own needs root")
    with contextlib.ExitStack() as opened:
        if kind == "overlay":
            (tmp_path / "layers").mkdir()
            made = opened.enter_context(overlay(tmp_path / "layers"))
        else:
            made = opened.enter_context(device(tmp_path, kind, SIZES[kind])).path
        yield made


@pytest.mark.parametrize("delete", [(), ("--delete", "done")], ids=["kept", "deleted"])
@pytest.mark.parametrize("times", ["as they come", "set back"])
def test_a_store_through_a_mapping_while_no_mover_lives_reaches_the_copy(
    tmp_path: Path, source: Path, delete: tuple[str, ...], times: str
) -> None:
    stage = Stage(tmp_path)
    stage.source = source / "tree"
    stage.source.mkdir()
    commands = Commands(stage)
    size = 3 * mmap.PAGESIZE
    for name in ("stored", "left"):
        (stage.source / name).write_bytes(bytes(size))
    commands.run("--state", stage.state)
    before = (stage.source / "stored").stat()
    with (stage.source / "stored").open("r+b") as file, mmap.mmap(file.fileno(), size) as mapping:
        assert mapping[mmap.PAGESIZE] == 0
        mapping[mmap.PAGESIZE] = 7
    if times == "set back":
        os.utime(stage.source / "stored", ns=(before.st_atime_ns, before.st_mtime_ns))
    now = (stage.source / "stored").read_bytes()
    assert now.count(7) == 1
    commands.run("--state", stage.state, *delete)
    assert (stage.to / "stored").read_bytes() == now
    assert (stage.source / "stored").exists() == (stage.source / "left").exists() == (not delete)


def test_a_source_seen_through_an_overlay_is_not_its_own_copy(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("a file system of its own needs root")
    (tmp_path / "layers").mkdir()
    with overlay(tmp_path / "layers") as merged:
        stage = Stage(tmp_path)
        stage.source, stage.to = tmp_path / "layers" / "lower", merged
        (stage.source / "file").write_bytes(b"precious")
        Commands(stage).run("--delete", "done", code=None)
        assert (stage.source / "file").read_bytes() == b"precious"


def test_a_change_within_the_second_is_seen_where_times_are_whole_seconds(tmp_path: Path) -> None:
    with device(tmp_path, "ext4", SIZES["ext4"], "-I", "128") as disk:
        stage = Stage(tmp_path)
        stage.source = disk.path / "tree"
        stage.source.mkdir()
        commands = Commands(stage)
        commands("start", "--from", stage.source, "--to", stage.to, "--state", stage.state)
        wrong = []
        for number in range(6):
            name, copy = stage.source / f"file{number}", stage.to / f"file{number}"
            name.write_bytes(b"AAAA")
            written = name.stat().st_ctime_ns
            while not copy.exists() and time.time_ns() < written + 999_000_000:
                time.sleep(0.001)
            with name.open("r+b") as file:
                file.write(b"BBBB")
            commands("wait", "--state", stage.state)
            if copy.read_bytes() != b"BBBB":
                wrong.append(number)
        commands("stop", "--state", stage.state)
        assert not wrong
