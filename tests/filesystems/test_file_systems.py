"""What each file system's words become: recorded outputs of its own tools (``tests/placement/recorded`` says whose)."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.filesystems import facts_of, file_layout, nfs
from tonnage.filesystems.beegfs import holding as beegfs_holding
from tonnage.filesystems.beegfs import of_client
from tonnage.filesystems.cephfs import objects, placement_group, rjenkins, stable_mod
from tonnage.filesystems.ext4 import of_options
from tonnage.filesystems.file_holders import FileShare
from tonnage.filesystems.glusterfs import limits
from tonnage.filesystems.known_filesystems import sample
from tonnage.filesystems.lustre import by_file, holding, of_parameters
from tonnage.filesystems.moosefs import chunks, storage_class
from tonnage.filesystems.moosefs import holding as moosefs_holding
from tonnage.filesystems.moosefs import of_parameters as moosefs_parameters
from tonnage.filesystems.xfs import read_geometry
from tonnage.machine.mounts import Mount

RECORDED = Path(__file__).parents[1] / "placement" / "recorded"
MIB = 1 << 20
# mfsfileinfo of MooseFS 3.0.117, three chunk servers; the last path is a directory's.
MFS_FILES = """\
/mfs/d/f1:
\tchunk 0: 0000000000000004_00000001 / (id:4 ver:1)
\t\tcopy 1: 10.77.0.3:9422 (status:VALID)
\tchunk 1: 0000000000000005_00000001 / (id:5 ver:1)
\t\tcopy 1: 10.77.0.3:9422 (status:VALID)
/mfs/e/g:
\tchunk 0: 0000000000000007_00000001 / (id:7 ver:1)
\t\tcopy 1: 10.77.0.2:9422 (status:INVALID)
\t\tcopy 2: 10.77.0.4:9422 (status:VALID)
/mfs/empty:
\tno chunks - empty file
"""
# .params of the same mount, parts of it.
MFS_PARAMETERS = "mfsmaster: master\nmfswritecachesize: 256\nmfsreadaheadleng: 1048576\nmfscachemode: (not defined)\n"
# Of `lctl get_param`, from the Lustre operations manual.
LUSTRE_LIMITS = """\
llite.testfs-ffff8803c9b05000.max_cached_mb=
users: 5
max_cached_mb: 2451
used_mb: 0
unused_mb: 2451
reclaim_count: 0
llite.testfs-ffff8803c9b05000.max_read_ahead_mb=64
osc.testfs-OST0000-osc-ffff8803c9b05000.max_dirty_mb=2000
osc.testfs-OST0001-osc-ffff8803c9b05000.max_dirty_mb=32
osc.testfs-OST0000-osc-ffff8803c9b05000.max_rpcs_in_flight=8
"""


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8").partition("\n")[2]


def test_a_lustre_file_has_its_bytes_where_its_stripes_are() -> None:
    text = by_file(recorded("lustre_getstripe_table.txt"), ["/nobackup/file"])["/nobackup/file"]
    assert holding(text, 3 * MIB + 5, "s").parts == (FileShare("s-OST000c", 2 * MIB), FileShare("s-OST0005", MIB + 5))
    composite = recorded("lustre_getstripe_pfl.txt")
    assert holding(composite, 10 * MIB, "s").parts == (FileShare("s-OST0001", 4 * MIB), FileShare("s-OST0000", 6 * MIB))
    assert holding(composite, MIB, "s").parts == (FileShare("s-OST0001", MIB),)
    assert holding(recorded("lustre_getstripe_dom.txt"), 4096, "s").parts == (FileShare("s-MDT0000", 4096),)


def test_several_lustre_files_are_told_apart_by_their_lines() -> None:
    one = recorded("lustre_getstripe_table.txt")
    text = one + "\n" + one.replace("/nobackup/file", "/nobackup/other")
    assert set(by_file(text, ["/nobackup/file", "/nobackup/other", "/nobackup/none"])) == {
        "/nobackup/file", "/nobackup/other",
    }  # fmt: skip


def test_lustre_limits_are_bytes_and_the_smallest_of_all_osts() -> None:
    assert of_parameters(LUSTRE_LIMITS) == {
        "cache_bytes": 2451 * MIB,
        "read_ahead_bytes": 64 * MIB,
        "dirty_bytes_per_ost": 32 * MIB,
        "rpcs_in_flight_per_ost": 8,
    }


@pytest.mark.parametrize(("name", "first"), [("beegfs7_entry_file.txt", "1"), ("beegfs8_entry_file.txt", "101")])
def test_a_beegfs_file_has_its_chunks_in_turn(name: str, first: str) -> None:
    found = beegfs_holding(recorded(name), 3 * (MIB // 2) + 7)
    assert found is not None
    assert found.parts[0] == FileShare(first, MIB)
    assert sum(part.bytes for part in found.parts) == 3 * (MIB // 2) + 7
    assert beegfs_holding(recorded("beegfs7_entry_mirrored.txt"), MIB) is None


def test_a_beegfs_client_shows_its_cache() -> None:
    text = "cfgFile = /etc/beegfs/beegfs-client.conf\ntuneFileCacheType = buffered\ntuneFileCacheBufSize = 524288\n"
    assert of_client(text) == {"cache_type": "buffered", "cache_bytes_per_file": 524288}


def test_moosefs_chunks_are_64_mib_and_a_bad_copy_holds_nothing() -> None:
    found = chunks(MFS_FILES, ["/mfs/d/f1", "/mfs/e/g", "/mfs/empty"])
    assert moosefs_holding(found["/mfs/d/f1"], 70 * MIB).parts == (
        FileShare("10.77.0.3:9422", 64 * MIB),
        FileShare("10.77.0.3:9422", 6 * MIB),
    )
    assert moosefs_holding(found["/mfs/e/g"], 3).parts == (FileShare("10.77.0.4:9422", 3),)
    assert found["/mfs/empty"] == []


def test_moosefs_tells_class_and_limits() -> None:
    assert storage_class("/run/moosefs/d: 'only-b'\n") == "only-b"
    assert storage_class("/tmp: not MFS object\n") is None
    assert moosefs_parameters(MFS_PARAMETERS) == {"write_cache_bytes": 256 * MIB, "read_ahead_bytes": MIB}


def test_a_glusterfs_layer_shows_its_limits() -> None:
    shown = "[xlator.performance.write-behind.priv]\naggregate_size = 131072\nwindow_size = 1048576\nflush_behind = 1\n"
    assert limits("performance/write-behind", shown) == {"write_behind_bytes": 1048576, "flush_behind": 1}
    assert limits("performance/io-cache", shown) == {}


def test_the_options_that_ext4_shows_become_facts() -> None:
    text = "rw,delalloc,barrier,data=ordered,commit=5,stripe=16"
    assert of_options(text, 4096) == {
        "delayed_allocation": True, "barrier": True, "commit_s": 5, "stripe_bytes": 65536,
    }  # fmt: skip
    assert "stripe_bytes" not in of_options("rw,stripe=0", 4096)


def test_xfs_stripes_are_given_in_blocks() -> None:
    data = struct.pack(
        "=8I4Q16s7I4x", 4096, 1, 65536, 4, 2560, 512, 512, 25, 1, 2, 3, 9, b"u" * 16, 16, 64, 0, 1 << 20, 512, 1, 1
    )
    found = read_geometry(data)
    assert (found["stripe_unit_bytes"], found["stripe_width_bytes"], found["log_bytes"]) == (65536, 262144, 10485760)
    assert found["reflink"]
    assert not found["rmap"]
    with pytest.raises(ValueError, match="of 111 bytes"):
        read_geometry(data[:-1])


def test_nfs_options_become_facts() -> None:
    text = "rw,vers=4.2,rsize=1048576,wsize=524288,hard,noac,proto=tcp,timeo=600,retrans=2,sec=sys,nconnect=4"
    assert nfs.of_options(text) == {
        "version": "4.2", "transport": "tcp", "security": "sys", "read_bytes": 1048576, "write_bytes": 524288,
        "connections": 4, "timeout_tenths_s": 600, "retransmissions": 2,
        "hard": True, "synchronous": False, "attributes_cached": False,
    }  # fmt: skip


def test_an_object_is_in_the_group_that_ceph_says() -> None:
    told = json.loads(recorded("ceph_osd_map.json"))
    number = int(told["raw_pgid"].partition(".")[2], 16)
    assert rjenkins(told["objname"].encode()) == number
    assert stable_mod(number, 1) == int(told["pgid"].partition(".")[2], 16)
    assert [stable_mod(value, 12) for value in (11, 12, 15, 16)] == [11, 4, 7, 0]
    assert placement_group("a", 64, namespace="n") != placement_group("a", 64)


def test_the_objects_of_a_file_have_all_its_bytes_each_once() -> None:
    draw = random.Random(3)
    for _ in range(200):
        unit, count = draw.randint(1, 4), draw.randint(1, 4)
        layout = {"stripe_unit": unit, "stripe_count": count, "object_size": unit * draw.randint(1, 3)}
        size = draw.randint(0, 90)
        counted: dict[int, int] = {}
        for offset in range(size):
            stripe = offset // unit
            rows = layout["object_size"] // unit
            number = stripe // count // rows * count + stripe % count
            counted[number] = counted.get(number, 0) + 1
        assert dict(objects(size, layout)) == counted


def test_a_sample_is_even_and_has_no_more_than_asked() -> None:
    assert sample(range(10), 4) == [0, 2, 5, 7]
    assert sample(range(3), 4) == [0, 1, 2]


def mount(kind: str, device: str = "d", point: str = "/") -> Mount:
    return Mount(point, kind, device, "rw", device_number="0:99")


@pytest.mark.parametrize("kind", ["lustre", "beegfs", "fuse.mfs"])
def test_what_no_tool_says_is_unknown_and_never_guessed(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tonnage.filesystems.mounted_path._SIDE_ROOMS", ())
    found = facts_of(str(tmp_path), mount(kind, "10.0.0.1@tcp:/scratch", str(tmp_path)))
    assert found is not None
    assert any("is not installed here" in why for why in found["unknown"].values())
    assert "layout" not in found
    assert "storage_class" not in found


def test_a_file_system_that_nobody_knows_has_no_facts() -> None:
    assert facts_of("/proc", mount("proc")) is None


def test_files_on_a_disk_of_this_host_are_on_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    held = file_layout([(str(tmp_path / "a"), 0, 0), (str(tmp_path / "gone"), 1, 1)])
    if held is None or held.problem:
        pytest.skip(f"{tmp_path} is on no block device")
    assert [(item.name, item.bytes, len(item.parts)) for item in held.items] == [("a", 2, 1)]
    assert held.sampled


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), TimeoutError()])
def test_a_file_system_that_fails_to_answer_is_told_of_in_one_sentence(
    error: OSError, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_call: Callable[[], Any], _paths: object, **_limit: float) -> Any:
        raise error

    monkeypatch.setattr("tonnage.filesystems.known_filesystems.carefully", fail)
    monkeypatch.setattr("tonnage.filesystems.known_filesystems.find_mount", lambda *_: mount("ext4"))
    held = file_layout([(os.fspath(tmp_path / "a"), 0, 0)])
    assert held is not None
    assert held.problem in ("Input/output error", "it did not answer in time")
