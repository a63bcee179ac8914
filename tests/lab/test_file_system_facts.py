"""What real file systems tell of themselves, and where they have files: compared with how they were made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from cephfs import Cephfs, cephfs
from glusterfs import device_of
from hosts import Host, Hosts, hosts, wait_for
from impossible import entered

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ("s1", "s2", "s3")
MIB = 1 << 20
ASK = """
import json, sys
from dataclasses import asdict
from tonnage.machine.mounts import mount_of
from tonnage.filesystems import facts_of, file_layout
at, files = sys.argv[1], sys.argv[2:]
held = file_layout([(path, number, number) for number, path in enumerate(files)]) if files else None
print(json.dumps({"facts": facts_of(at, mount_of(at)), "held": held and asdict(held)}))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield entered(stack, hosts([*SERVERS, "node1"]))


def asked(host: Host, at: str | Path, *files: str | Path) -> dict[str, Any]:
    environment = {"PYTHONPATH": str(ROOT / "python"), "HOME": "/run"}
    found: dict[str, Any] = json.loads(host.run(sys.executable, "-c", ASK, at, *files, environment=environment).stdout)
    return found


@pytest.mark.parametrize(
    ("file_system", "wanted"),
    [
        ("ext4", {"block_bytes": 1024, "journal": "ordered", "commit_s": 5}),
        ("xfs", {"block_bytes": 4096, "reflink": True, "stripe_unit_bytes": 0, "log_internal": True}),
        ("btrfs", {"data_profile": "single", "sector_bytes": 4096, "compression": "none", "subvolume_id": 5}),
    ],
)
def test_a_file_system_on_a_disk_tells_how_it_was_made(site: Hosts, file_system: str, wanted: dict[str, Any]) -> None:
    node = site["node1"]
    with ExitStack() as stack:
        made = entered(stack, device_of(node, f"own-{file_system}", 320 * MIB, file_system))
        (made.path / "file").write_bytes(b"1" * MIB)
        at = f"/run/own-{file_system}"
        told = asked(node, at, f"{at}/file")
    facts = told["facts"]
    assert {key: facts.get(key) for key in wanted} == wanted
    assert facts["unknown"] == {}
    (item,) = told["held"]["items"]
    assert item["parts"] == [{"device": Path(made.device).name, "bytes": MIB, "copy": 0}]


@pytest.fixture(scope="module")
def ceph(site: Hosts) -> Iterator[Cephfs]:
    with ExitStack() as stack:
        yield entered(stack, cephfs(site, SERVERS, "node1"))


def test_cephfs_has_each_object_where_the_cluster_says(site: Hosts, ceph: Cephfs) -> None:
    node = site["node1"]
    mount = node.path(ceph.path)
    names = [f"file{number}" for number in range(6)]
    for name in names:
        (mount / name).write_bytes(b"1" * (5 * MIB))
    told: dict[str, Any] = {}

    def placed() -> bool:
        told.update(asked(node, ceph.path, *(ceph.path / name for name in names)))
        # The manager hears of the groups of a new pool a few seconds after their OSDs serve them.
        return "is on no OSD now" not in str(told["held"]["problem"])

    wait_for(placed, "the cluster's manager knows where the groups of the pool are")
    assert told["held"]["problem"] is None, told["held"]["problem"]
    for name, item in zip(names, told["held"]["items"], strict=True):
        inode = (mount / name).stat().st_ino
        firsts = [part["device"] for part in item["parts"] if part["copy"] == 0]
        for number, device in enumerate(firsts):
            said = json.loads(ceph.ceph("osd", "map", "data", f"{inode:x}.{number:08x}", "--format=json"))
            assert device == f"osd.{said['acting_primary']}"
        assert [part["bytes"] for part in item["parts"] if part["copy"] == 0] == [4 * MIB, MIB]
    assert {device for device, _ in told["held"]["devices"]} == {f"osd.{number}" for number in range(len(SERVERS))}
    assert told["facts"]["layout"]["object_size"] == 4 * MIB
    assert told["facts"]["client"] == "fuse"
