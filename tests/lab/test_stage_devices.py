"""The mover on file systems of its own: full ones, and one whose power is cut."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from loop_device import device
from stage_trees import DONE, MIB, Stage, differences, digest, tree
from tonnage.errors import MeasurementError
from tonnage.staging.mover_plan import make_plan

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


def to(stage: Stage, path: Path) -> None:
    stage.to.rmdir()
    stage.to = path
    path.mkdir()


def test_a_full_destination_takes_the_rest_once_it_has_space(tmp_path: Path) -> None:
    with device(tmp_path, "ext4", 16 * MIB) as small:
        ballast = small.path / "ballast"
        ballast.write_bytes(bytes(4 * MIB))
        stage = Stage(tmp_path, {"attempts": 2, "order": "smallest"})
        to(stage, small.path / "to")
        for number in range(12):
            (stage.source / f"{number:02}").write_bytes(os.urandom(1000 + number * 200_000))
        status = stage.drained()
        assert status["code"] == 1 and status["done"]["files"] > 3
        assert all("No space left" in found["reason"] for found in status["failures"])
        assert_done_is_whole(stage)
        ballast.unlink()
        for number in (9, 10, 11):
            (stage.source / f"{number:02}").unlink()
        assert stage.drained()["code"] == 0
        assert_done_is_whole(stage)
        assert stage.temporaries() == []


def test_a_plan_that_finds_no_space_is_told_with_its_file_and_leaves_nothing(tmp_path: Path) -> None:
    with device(tmp_path, "ext4", 16 * MIB) as small:
        state = small.path / "state"
        state.mkdir()
        with (small.path / "ballast").open("wb", buffering=0) as ballast:
            for size_bytes in (MIB, 4096, 512):
                # Synced, so that no block is only promised.
                with contextlib.suppress(OSError):
                    while ballast.write(bytes(size_bytes)):
                        os.fsync(ballast.fileno())
        plan = make_plan(tmp_path / "from", tmp_path / "to", state=state, name="full")
        with pytest.raises(MeasurementError, match=r"cannot write .*/state/plan.json: No space left on device; hint: "):
            plan.save()
        assert os.listdir(state) == []  # noqa: PTH208


def test_a_source_that_is_full_to_the_last_byte_is_staged_all_the_same(tmp_path: Path) -> None:
    with device(tmp_path, "ext4", 24 * MIB) as small:
        stage = Stage(tmp_path, {"clear": "done"})
        stage.source.rmdir()
        stage.source = small.path / "from"
        stage.source.mkdir()
        stage.state = stage.source / ".tonnage-stage"
        (stage.source / "first").write_bytes(os.urandom(MIB))
        with stage.mover(drain=False) as mover:
            until = time.monotonic() + 60
            while not (stage.to / "first").exists():
                assert not mover.ended() and time.monotonic() < until
            # It stands still meanwhile: who fills the last byte takes what the journal gives up of its reserve as well.
            mover.process.send_signal(signal.SIGSTOP)
            sizes = fill(stage.source)
            mover.process.send_signal(signal.SIGCONT)
            status = mover.end()
        assert status["code"] == 0, status
        assert {name: (stage.to / name).stat().st_size for name in sizes} == sizes
        assert not [name for name in sizes if (stage.source / name).exists()]


def fill(directory: Path) -> dict[str, int]:
    """Files until nothing more fits; their sizes."""
    sizes = {}
    for number in range(1000):
        file = directory / f"fill-{number}"
        with file.open("wb", buffering=0) as out, contextlib.suppress(OSError):
            while out.tell() < MIB:
                out.write(bytes(100_000))
        sizes[file.name] = file.stat().st_size
        if sizes[file.name] < MIB:
            return sizes
    raise AssertionError("it is larger than it should be")


@pytest.mark.parametrize("seed", range(4))
def test_a_power_cut_at_the_destination_takes_nothing_that_was_done(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    if not shutil.which("xfs_io"):
        pytest.skip("xfs_io is not installed")
    with device(tmp_path, "xfs", 320 * MIB) as disk:
        stage = Stage(tmp_path, {"attempts": 1, "workers": 2})
        to(stage, disk.path / "to")
        for number in range(200):
            directory = stage.source / f"{number % 7}"
            directory.mkdir(exist_ok=True)
            (directory / f"{number}").write_bytes(rng.randbytes(rng.choice((10, 5000, 100_000))))
        (stage.source / "large").write_bytes(rng.randbytes(12 * MIB))
        with stage.mover() as mover:
            wanted, until = rng.randrange(1, 190), time.monotonic() + 60
            while sum(1 for _ in stage.to.glob("*/*")) < wanted and not mover.ended():
                assert time.monotonic() < until
            # Without the log flushed: what was not made durable is lost, as when the power goes.
            subprocess.run(["xfs_io", "-x", "-c", "shutdown", disk.path], check=True, capture_output=True)
            mover.end()
        disk.unmount()
        disk.mount()
        assert_done_is_whole(stage)
        assert stage.drained()["code"] == 0
        assert differences(tree(stage.source), tree(stage.to)) == []
        assert stage.temporaries() == []


def assert_done_is_whole(stage: Stage) -> None:
    for path, state, size, _ in stage.journal():
        name = os.fsdecode(path)
        if state == DONE and (stage.source / name).exists():
            assert (stage.to / name).exists(), f"{name} is done and missing"
            assert (stage.to / name).stat().st_size == size, f"{name} is done and has lost bytes"
            assert digest(stage.to / name) == digest(stage.source / name), f"{name} is done and has other bytes"
