"""Facts about a host, from recorded and from real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.machine.host_facts import host_facts, load, parse_pressure
from tonnage.machine.mounts import find_mount, mount_of, parse_mountinfo

MOUNTINFO = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 21 0:25 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,size=1g
40 21 0:50 / /mnt/a\\040b rw - lustre mgs@tcp:/scratch rw,flock
41 21 0:51 / /mnt rw master:3 - xfs /dev/sdb rw
42 41 0:52 / /mnt rw - nfs4 server:/export rw,vers=4.2
"""


@pytest.mark.parametrize(
    ("path", "file_system", "device"),
    [
        ("/srv/x", "ext4", "/dev/sda1"),
        ("/dev/shm", "tmpfs", "tmpfs"),
        ("/dev/shmx", "ext4", "/dev/sda1"),
        ("/mnt/a b/c", "lustre", "mgs@tcp:/scratch"),
        ("/mnt/c", "nfs4", "server:/export"),
        ("/", "ext4", "/dev/sda1"),
    ],
)
def test_the_deepest_and_newest_mount_holds_a_path(path: str, file_system: str, device: str) -> None:
    mount = find_mount(parse_mountinfo(MOUNTINFO), path)
    assert mount is not None
    assert (mount.file_system, mount.device) == (file_system, device)


def test_only_file_systems_in_memory_are_memory_backed() -> None:
    backed = {mount.mount_point: mount.memory_backed for mount in parse_mountinfo(MOUNTINFO)}
    assert backed == {"/": False, "/dev/shm": True, "/mnt/a b": False, "/mnt": False}


def test_options_of_mount_and_file_system_are_joined_once() -> None:
    assert parse_mountinfo(MOUNTINFO)[0].options == "rw,relatime,errors=remount-ro"


@given(st.text(alphabet=st.sampled_from("ab/ -\\0\n4"), max_size=60))
def test_any_mountinfo_is_read_without_an_error(text: str) -> None:
    parse_mountinfo(text)


def test_this_host_says_who_it_is(tmp_path: Path) -> None:
    facts = host_facts()
    assert facts["cpu_count"] >= 1
    assert facts["memory_bytes"] > 1 << 20
    assert facts["kernel"] == os.uname().release
    mount = mount_of(tmp_path)
    assert mount is not None
    assert str(tmp_path).startswith(mount.mount_point)
    assert load()["load_1min"] >= 0


def test_pressure_is_read_by_kind_and_window() -> None:
    text = "some avg10=0.12 avg60=1.00 avg300=0.05 total=12345\nfull avg10=0.00 avg60=0.50 avg300=0.01 total=99\n"
    assert parse_pressure(text) == {
        "some_avg10": 0.12,
        "some_avg60": 1.0,
        "some_avg300": 0.05,
        "full_avg10": 0.0,
        "full_avg60": 0.5,
        "full_avg300": 0.01,
    }
