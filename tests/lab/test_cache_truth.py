"""A read of what is in the page cache is called that, with its share; the same read after dropping it is cold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultfs import mounted


@pytest.mark.parametrize(("policy", "state", "share"), [("keep", "warm", 0.0), ("drop", "cold", 1.0)])
def test_a_read_says_whether_it_came_from_the_cache_or_the_device(
    policy: str, state: str, share: float, tonnage: Any, device: Callable[..., Any]
) -> None:
    lab = device(size=1 << 30)
    workload = {"op": ["read"], "tasks": [2], "transfer_size": "1MiB", "block_size": "32MiB", "direct": ["no"]}
    said = tonnage("run", tonnage.campaign(lab.path, cache=[policy], **workload))
    assert said.code == 0, said.err
    (read,) = said.measured("read")
    assert read["cache"]["state"] == state
    assert read["cache"]["examined_bytes"] == 64 << 20
    # The kernel may take some of the cache back: then the device gives just that, and says so.
    missing = 1 - read["cache"]["cached_before_bytes"] / (64 << 20)
    assert missing == pytest.approx(share, abs=0.2)
    assert read["cache"]["device_share"] == pytest.approx(missing, abs=0.01)


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
