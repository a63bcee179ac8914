"""A read of what is in the page cache is called that, with its share; the same read after dropping it is cold."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultfs import mounted

pytestmark = pytest.mark.alone("what this machine's page cache holds")


@pytest.mark.parametrize(("policy", "state", "share"), [("keep", "warm", 0.0), ("drop", "cold", 1.0)])
@pytest.mark.parametrize(("file_system", "storage"), [("xfs", "posix"), ("ext4", "mmap"), ("btrfs", "uring")])
def test_a_read_says_whether_it_came_from_the_cache_or_the_device(
    file_system: str, storage: str, policy: str, state: str, share: float, tonnage: Any, device: Callable[..., Any]
) -> None:
    lab = device(size=1 << 30, file_system=file_system)
    workload = {"op": ["read"], "tasks": [2], "transfer_size": "1MiB", "block_size": "32MiB", "direct": ["no"]}
    workload["storage"] = storage
    said = tonnage("run", tonnage.campaign(lab.path, cache=[policy], **workload))
    assert said.code == 0, said.err
    (read,) = said.measured("read")
    assert read["cache"]["state"] == state
    assert read["cache"]["examined_bytes"] == 64 << 20
    # The kernel may take some of the cache back: then the device gives just that, and says so.
    missing = 1 - read["cache"]["cached_before_bytes"] / (64 << 20)
    assert missing == pytest.approx(share, abs=0.2)
    assert read["cache"]["device_share"] == pytest.approx(missing, abs=0.01)


def test_mapped_reads_that_bring_in_more_than_they_ask_for_say_how_much_more(
    tonnage: Any, device: Callable[..., Any]
) -> None:
    lab = device(size=1 << 30, file_system="ext4", bytes_per_s=100_000_000)
    workload = {"op": ["read"], "tasks": [1], "transfer_size": "4KiB", "block_size": "512MiB", "direct": ["no"]}
    reads = {**workload, "storage": "mmap", "access": "random", "time_limit": "300ms"}
    said = tonnage("run", tonnage.campaign(lab.path, cache=["drop"], **reads))
    assert said.code == 0, said.err
    (read,), (point,) = said.measured("read"), said.summary["points"]
    ratio = read["cache"]["device_bytes"] / read["bytes"]
    assert ratio > 2, "a fault brings in what is around it"
    assert (read["cache"]["device_ratio"], point["cache_ratio"]) == (ratio, ratio)
    assert (point["cache_state"], point["cache_share"]) == ("cold", 1.0)
    (found,) = (found for found in said.summary["findings"] if found["code"] == "read-ahead")
    assert f"a device gave {ratio:.3g} bytes for each byte read" in found["evidence"]


def test_compressed_files_do_not_pass_for_cached_ones(tonnage: Any, device: Callable[..., Any], tmp_path: Path) -> None:
    lab = device(size=1 << 30, file_system="btrfs")
    subprocess.run(["mount", "-o", "remount,compress-force=zlib", lab.path], check=True)
    file, campaign = lab.path / "text", tmp_path / "compressed.toml"
    file.write_bytes(b"tonnage " * (2 << 20))
    top = f"target = {json.dumps(str(lab.path))}\nfile_names = [{json.dumps(str(file))}]\n[repeat]\ncount = 1\n"
    workload = 'op = ["read"]\ntasks = 1\ntransfer_size = "1MiB"\nblock_size = "16MiB"\ndirect = ["no"]\n'
    campaign.write_text(f"{top}[workload]\n{workload}")
    said = tonnage("run", campaign)
    assert said.code == 0, said.err
    (read,) = said.measured("read")
    assert (read["cache"]["state"], read["cache"]["device_bytes"]) == ("unknown", None)


def test_what_is_below_an_overlay_is_not_known(tonnage: Any, device: Callable[..., Any], tmp_path: Path) -> None:
    lab = device(size=1 << 30, file_system="ext4")
    upper, below, inside, whole = (lab.path / "upper", lab.path / "below", lab.path / "inside", tmp_path / "whole")
    for path in (upper, below, inside, whole):
        path.mkdir()
    options = f"lowerdir={below},upperdir={upper},workdir={inside}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, whole], check=True)
    try:
        workload = {"op": ["read"], "tasks": [1], "transfer_size": "64KiB", "block_size": "1MiB", "direct": ["no"]}
        said = tonnage("run", tonnage.campaign(whole, cache=["drop"], **workload))
    finally:
        subprocess.run(["umount", whole], check=True)
    assert said.code == 0, said.err
    (read,) = said.measured("read")
    assert (read["cache"]["state"], read["cache"]["device_bytes"]) == ("unknown", None)


def test_where_a_program_does_the_reading_nobody_claims_to_know_where_it_read(tonnage: Any, tmp_path: Path) -> None:
    pytest.importorskip("mfusepy", reason="mfusepy is not installed")
    if not Path("/dev/fuse").exists():
        pytest.skip("there is no /dev/fuse")
    workload = {"op": ["read"], "tasks": [1], "transfer_size": "64KiB", "block_size": "1MiB", "direct": ["no"]}
    with mounted(tmp_path) as mount:
        said = tonnage("run", tonnage.campaign(mount.path, cache=["drop"], **workload))
        assert said.code == 0, said.err
        (read,) = said.measured("read")
    assert (read["cache"]["state"], read["cache"]["device_bytes"]) == ("unknown", None)
    assert "cache-read" not in said.out
