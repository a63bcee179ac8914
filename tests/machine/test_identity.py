"""One storage has one name, and two have two."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from pathlib import Path

import pytest
from tonnage.machine.mounts import identity, mount_of, parse_mountinfo

MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:25 / /dev/shm rw - tmpfs tmpfs rw,size=1g
31 21 0:25 /part /mnt/part rw - tmpfs tmpfs rw,size=1g
40 21 0:50 / /scratch rw - lustre 10.0.0.1@tcp:10.0.0.2@tcp:/scratch rw,flock
41 21 0:51 / /proj rw - lustre 10.0.0.1@tcp:/proj/dir/deep rw,flock
42 21 0:52 / /homes rw - nfs4 NAS1:/export/homes rw,vers=4.2,addr=10.0.0.9
43 21 0:52 / /homes/me/data rw - nfs4 NAS1:/export/homes/me/data rw,vers=4.2,addr=10.0.0.9
44 21 0:53 / /gpfs/fs1 rw - gpfs fs1 rw,dev=fs1
45 21 0:54 / /mnt/s rw - fuse.sshfs me@far:/data rw
46 21 0:55 / /mnt/g rw - fuse.glusterfs gfs1:/vol rw
47 21 0:56 / /ceph rw - ceph 10.0.0.5:6789,10.0.0.6:6789:/home rw,name=me
48 21 0:57 / /box rw - overlay overlay rw,lowerdir=/l,upperdir=/scratch/box/upper,workdir=/scratch/box/work
49 21 0:58 / /far rw - overlay overlay rw,lowerdir=/l
50 21 0:59 / /b rw - beegfs beegfs_nodev rw,cfgFile=/no/such/file
"""


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tonnage.machine.mounts"), "read_mounts", lambda: parse_mountinfo(MOUNTS))


HOST = platform.node()


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("/dev/shm", f"local:{HOST}:tmpfs:/dev/shm"),
        ("/mnt/part", f"local:{HOST}:tmpfs:/dev/shm"),
        ("/scratch", "lustre:scratch"),
        ("/proj", "lustre:proj"),
        ("/homes", "nfs:nas1:/export/homes"),
        ("/homes/me/data", "nfs:nas1:/export/homes"),
        ("/gpfs/fs1", "gpfs:fs1"),
        ("/mnt/s", "sshfs:far:/data"),
        ("/mnt/g", "glusterfs:gfs1:/vol"),
        ("/ceph", "ceph:10.0.0.5:6789,10.0.0.6:6789"),
        ("/box", "lustre:scratch"),
        ("/far", f"local:{HOST}:overlay:/far"),
        ("/b", "beegfs:beegfs_nodev"),
    ],
)
def test_each_kind_of_storage_has_a_name_of_its_own(point: str, expected: str) -> None:
    mount = next(mount for mount in parse_mountinfo(MOUNTS) if mount.mount_point == point)
    assert identity(mount, point) == expected


def test_the_name_of_a_local_one_holds_its_host_and_is_the_same_for_two_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    (tmp_path / "a").mkdir()
    mount = mount_of(tmp_path)
    assert mount is not None
    name = identity(mount, str(tmp_path))
    assert name.startswith(f"local:{HOST}:")
    assert identity(mount, str(tmp_path / "a")) == name
    if os.stat("/dev/shm").st_dev != tmp_path.stat().st_dev:  # noqa: PTH116
        other = mount_of("/dev/shm")
        assert other is not None
        assert identity(other, "/dev/shm") != name


def test_beegfs_is_named_by_its_management_host(tmp_path: Path) -> None:
    (tmp_path / "client.conf").write_text("# sysMgmtdHost = no\nlogLevel = 3\nsysMgmtdHost   = mgmt01\n")
    line = f"50 21 0:59 / /b rw - beegfs beegfs_nodev rw,cfgFile={tmp_path}/client.conf"
    assert identity(parse_mountinfo(line)[0], "/b") == "beegfs:mgmt01"
