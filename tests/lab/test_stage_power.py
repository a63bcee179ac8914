"""Power cuts at the flushes of the devices below a mover: what the journal or a manifest calls done is whole, nothing
is lost, and a mover on what is left brings everything to its end.

``TONNAGE_POWER_POINTS`` says how many crash points are examined for each, ``all`` of them or a number; where it does
not, 8, each day others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from attack_share import count, day
from stage_power_cuts import apart

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
pytest.importorskip("mfusepy", reason="mfusepy is not installed", exc_type=ImportError)

POINTS = os.environ.get("TONNAGE_POWER_POINTS")
NUMBER = () if POINTS == "all" else ("--points", POINTS) if POINTS else ("--points", "8", "--seed", str(day()))


def needs(kind: str) -> None:
    devices = Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()
    if os.geteuid() or not devices or not shutil.which("fusermount3") or not shutil.which(f"mkfs.{kind}"):
        pytest.skip(f"power cuts of {kind} need root, /dev/fuse, loop devices and mkfs.{kind}")


@pytest.mark.timeout(0 if POINTS == "all" else 600)
@pytest.mark.parametrize("clear", ["never", "done"])
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_what_is_called_done_is_whole_wherever_the_power_goes(kind: str, clear: str) -> None:
    needs(kind)
    found = apart(kind, "--clear", clear, *NUMBER)
    count("crash points", found["examined"])
    count("losses", len(found["wrong"]))
    assert found["examined"] and found["points"] > 100
    assert not found["wrong"], "\n".join(f"{where}: {'; '.join(wrong)}" for where, wrong in found["wrong"].items())


def test_a_device_that_loses_what_it_was_to_flush_is_seen() -> None:
    needs("ext4")
    found = apart("ext4", "--points", "20", "--liar")
    assert any("LIE" in text or "LOST" in text for wrong in found["wrong"].values() for text in wrong), found
