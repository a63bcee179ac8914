"""The counters of the kernel's NFS client, from what real kernels printed. This one may have no client."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.machine.mountstats import between, parse_mountstats, read_mountstats

# A v3 mount of localhost, kernel with RPC iostats 1.1, as an engineer's notes on nfsiostat show it; shortened.
V3 = """\
device proc mounted on /proc with fstype proc
device localhost:/tmp/s_test mounted on /mnt with fstype nfs statvers=1.1
    opts:    rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,acregmax=60,hard,proto=tcp,timeo=600,sec=sys
    age:    159
    caps:    caps=0xf,wtmult=4096,dtsize=1048576,bsize=0,namlen=255
    sec:    flavor=1,pseudoflavor=1
    events:    0 0 0 0 2 1 7 1 0 1 0 1 0 0 3 0 0 2 0 0 1 0 0 0 0 0 0\x20
    bytes:    15 15 0 0 15 15 1 1\x20
    RPC iostats version: 1.1  p/v: 100003/3 (nfs)
    xprt:    tcp 795 1 2 0 2 15 15 0 15 0 2 0 0
    per-op statistics
            NULL: 1 1 0 44 24 0 0 0 0
            READ: 1 1 0 124 144 0 0 0 0
           WRITE: 1 1 0 148 136 0 14 14 0
          CREATE: 1 1 0 152 232 0 23 23 0
device /dev/sda1 mounted on /data with fstype ext4
    bytes:    9 9 9 9 999999 999999 9 9
"""
LATER = (
    V3.replace("age:    159", "age:    169")
    .replace("bytes:    15 15 0 0 15 15 1 1", "bytes:    15 1048591 0 4096 15 1052687 1 257")
    .replace("xprt:    tcp 795 1 2 0 2 15 15 0 15 0 2 0 0", "xprt:    tcp 795 1 2 0 2 40 39 0 90 4 2 0 0")
    .replace("WRITE: 1 1 0 148 136 0 14 14 0", "WRITE: 11 13 1 1050000 1500 3 114 120 2")
)


def test_a_mount_has_its_options_bytes_and_operations() -> None:
    (mount,) = parse_mountstats(V3).values()
    assert (mount.device, mount.mount_point, mount.file_system, mount.age_s) == (
        "localhost:/tmp/s_test",
        "/mnt",
        "nfs",
        159,
    )
    assert "acregmin=3" in mount.options.split(",")
    assert mount.bytes["server_write_bytes"] == 15
    assert mount.transport == {"connections": 1, "sends": 15, "backlog": 0}
    assert mount.operations["WRITE"] == {
        "operations": 1, "timeouts": 0, "sent_bytes": 148, "received_bytes": 136, "queue_ns": 0, "rtt_ns": 14_000_000,
        "execute_ns": 14_000_000, "retransmissions": 0, "errors": 0,
    }  # fmt: skip


def test_two_readings_make_what_happened_between() -> None:
    before, after = parse_mountstats(V3)["/mnt"], parse_mountstats(LATER)["/mnt"]
    told = between(before, after)
    assert told is not None
    assert told["operations"] == {
        "WRITE": {
            "operations": 10, "timeouts": 1, "sent_bytes": 1049852, "received_bytes": 1364, "queue_ns": 3_000_000,
            "rtt_ns": 100_000_000, "execute_ns": 106_000_000, "retransmissions": 2, "errors": 2,
        }
    }  # fmt: skip
    assert told["bytes"]["server_write_bytes"] == 1052672
    assert told["transport"] == {"connections": 1, "sends": 25, "backlog": 4}


def test_a_mount_that_came_anew_tells_nothing() -> None:
    before, after = parse_mountstats(LATER)["/mnt"], parse_mountstats(V3)["/mnt"]
    assert between(before, after) is None
    assert between(None, after) is None


def test_several_connections_are_added_up_and_old_kernels_count_no_errors() -> None:
    line = "    xprt:    tcp 795 1 2 0 2 15 15 0 15 0 2 0 0\n"
    (mount,) = parse_mountstats(V3.replace(line, line * 4).replace("14 14 0\n", "14 14\n")).values()
    assert mount.transport == {"connections": 4, "sends": 60, "backlog": 0}
    assert "errors" not in mount.operations["WRITE"]


def test_a_blank_in_a_mount_point_is_read_back() -> None:
    assert set(parse_mountstats(V3.replace("on /mnt ", r"on /my\040share "))) == {"/my share"}


@given(st.text(alphabet=string.printable, max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_mountstats(text)


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_a_mangled_file_never_gives_a_number_below_0(seed: int, times: int) -> None:
    draw = random.Random(seed)
    text = list(V3)
    for _ in range(times):
        text[draw.randrange(len(text))] = draw.choice("0123456789 -:\n\tX²")
    for mount in parse_mountstats("".join(text)).values():
        rows = [mount.bytes, mount.transport, *mount.operations.values()]
        assert all(value >= 0 for row in rows for value in row.values())


def test_this_host_is_read_whatever_it_mounts() -> None:
    assert all(mount.file_system.startswith("nfs") for mount in read_mountstats().values())


@pytest.mark.parametrize("words", ["NaN 1 0 44 24 0 0 0", "1 1 0", "-1 1 0 44 24 0 0 0", "²1 1 0 44 24 0 0 0"])
def test_a_line_whose_numbers_are_none_is_passed_over(words: str) -> None:
    text = V3.replace("1 1 0 148 136 0 14 14 0", words)
    assert "WRITE" not in parse_mountstats(text)["/mnt"].operations
