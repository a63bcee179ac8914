"""Every means of snapshots on the system that has it: the suite of ``crates/engine/tests/engine/snapshots.rs``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import ceph as lab
import pytest
import rust_suites
from cephfs import cephfs
from hosts import hosts
from impossible import skipped_where_impossible
from throttled import throttled


def suite(names: str, tests: int, **given: str) -> None:
    """The tests of those names, of which there are so many, pass."""
    rust_suites.passes("engine", f"snapshots::{names}", tests, {**os.environ, **given})


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("file_system", "passed"), [("xfs", 1), ("btrfs", 2)])
def test_reflinks_and_subvolumes_give_old_bytes_and_leave_nothing(file_system: str, passed: int) -> None:
    with skipped_where_impossible(), throttled(file_system=file_system, size=1 << 30) as device:
        suite(file_system, passed, **{f"TONNAGE_TEST_{file_system.upper()}": str(device.path)})
        left = {path.name for path in device.path.iterdir()} - {"lost+found"}
        assert not left


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["rados_self_managed", "rados_pool"])
def test_pools_give_old_objects_and_leave_nothing(tmp_path: Path, name: str) -> None:
    with skipped_where_impossible(), lab.ceph(tmp_path) as cluster:
        pool = cluster.pool("snapshots")
        suite(name, 1, CEPH_CONF=str(cluster.conf), TONNAGE_TEST_POOL=pool)
        listed = ["rados", "--conf", str(cluster.conf), "--pool", pool, "ls", "--all"]
        assert subprocess.run(listed, check=True, capture_output=True, timeout=60).stdout == b""
        pools = json.loads(cluster.ask("osd", "dump", "--format=json"))["pools"]
        (found,) = [one for one in pools if one["pool_name"] == pool]
        assert found["pool_snaps"] == []


@pytest.mark.timeout(600)
def test_cephfs_gives_old_files_and_leaves_nothing() -> None:
    with skipped_where_impossible(), hosts(["server", "client"]) as site, cephfs(site, ("server",), "client") as found:
        found.ceph("fs", "set", "cephfs", "allow_new_snaps", "true")
        place = found.client.path(found.path)
        suite("cephfs", 1, TONNAGE_TEST_CEPHFS=str(place))
        assert not list(place.iterdir())
