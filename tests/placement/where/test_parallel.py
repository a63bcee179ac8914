"""BeeGFS, GPFS, CephFS and GlusterFS, from recorded words of their tools."""

from __future__ import annotations

import errno

import pytest
from tonnage.filesystems.beegfs import entry_targets
from tonnage.filesystems.glusterfs import bricks
from tonnage.filesystems.servers import ObservedPath
from tonnage.placement.site import Server, Site

from .recorded_tools import Tools, answer, recorded

BEEGFS = "50 21 0:59 / /mnt/beegfs rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf"
GPFS = "44 21 0:53 / /gpfs/fs1 rw - gpfs FS1 rw,relatime"
CEPH = "47 21 0:56 / /ceph rw - ceph 172.25.250.10:6789,172.25.250.11:6789:/home rw,name=me,secret=<hidden>"
CEPH_NEW = "47 21 0:56 / /ceph rw - ceph me@b3acfc0d.cephfs=/ rw,mon_addr=172.25.250.10:3300/172.25.250.11:3300"
CEPH_FUSE = "47 21 0:56 / /ceph rw - fuse.ceph-fuse ceph-fuse rw,user_id=0"
GLUSTER = "46 21 0:55 / /mnt/g rw - fuse.glusterfs gfs1:/vol rw"


def test_a_file_on_beegfs_7_is_on_the_nodes_of_its_targets(tools: Tools) -> None:
    tools.add("beegfs-ctl", {"--mount=/mnt/beegfs --getentryinfo /mnt/beegfs/f": recorded("beegfs7_entry_file.txt")})
    found = answer(BEEGFS, "/mnt/beegfs/f", is_directory=False)
    assert found.servers == ("node1.beeg.local", "node2.beeg.local")
    assert found.striped
    assert found.how == ("beegfs-ctl --getentryinfo: on target 1, 2",)


def test_what_beegfs_7_mirrors_may_be_on_any_target(tools: Tools) -> None:
    listed = "--mount=/mnt/beegfs --listtargets --nodetype=storage --longnodes"
    answers = {"--mount=/mnt/beegfs --getentryinfo": recorded("beegfs7_entry_mirrored.txt")}
    tools.add("beegfs-ctl", {**answers, listed: recorded("beegfs7_targets.txt")})
    found = answer(BEEGFS, "/mnt/beegfs/f", is_directory=False)
    assert [(device.name, device.server) for device in found.devices] == [
        ("61", "ubuntu-PowerEdge-R750xa"),
        ("62", "storage02"),
    ]


def test_beegfs_8_is_asked_by_its_own_tool(tools: Tools) -> None:
    tools.add("beegfs-ctl", {})
    tools.add("beegfs", {"entry info --retro /mnt/beegfs/f": recorded("beegfs8_entry_file.txt")})
    site = Site(server=(Server(name="stor2", aliases=("node_storage_2",)),))
    found = answer(BEEGFS, "/mnt/beegfs/f", is_directory=False, site=site)
    assert found.servers == ("node_storage_1", "node_storage_2")


def test_a_directory_on_beegfs_8_is_on_the_targets_of_its_pool(tools: Tools) -> None:
    tools.add(
        "beegfs",
        {
            "entry info --retro": recorded("beegfs8_entry_directory.txt"),
            "target list": recorded("beegfs8_targets.txt"),
            "node list": recorded("beegfs8_nodes.txt"),
        },
    )
    found = answer(BEEGFS, "/mnt/beegfs/d")
    assert [(device.name, device.server) for device in found.devices] == [("102", "node_storage_3")]


def test_beegfs_without_its_tools_says_what_to_do(tools: Tools) -> None:
    problem = answer(BEEGFS, "/mnt/beegfs").problem
    assert problem == (
        'beegfs-ctl is not installed here; hint: give its server holds = ["/mnt/beegfs"] in tonnage.toml'
    )
    assert tools.asked() == []
    assert entry_targets("+ Type: RAID0\n") == []


def test_a_file_on_gpfs_is_on_the_disks_of_its_storage_pool(tools: Tools) -> None:
    tools.add("mmlsattr", {"-L /gpfs/fs1/f": recorded("gpfs_mmlsattr.txt")})
    tools.add("mmlsnsd", {"-f FS1 -Y": recorded("gpfs_mmlsnsd.txt")})
    tools.add("mmlsdisk", {"FS1 -Y": recorded("gpfs_mmlsdisk.txt")})
    found = answer(GPFS, "/gpfs/fs1/f", is_directory=False)
    assert [(device.name, device.server) for device in found.devices] == [
        ("RG003VS004", "server-3.domain.com"),
        ("RG004VS004", "server-5.domain.com"),
    ]
    assert found.striped
    whole = answer(GPFS, "/gpfs/fs1")
    assert [device.name for device in whole.devices] == ["RG001VS003", "RG003VS004", "RG004VS004"]


def test_gpfs_that_refuses_a_user_says_so_in_its_own_words(tools: Tools) -> None:
    tools.add("mmlsnsd", {})
    found = answer(GPFS, "/gpfs/fs1")
    assert found.problem == (
        'mmlsnsd failed with status 1: You must be root; hint: give its servers holds = ["FS1"] in tonnage.toml'
    )


def with_attribute(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    def attribute(_observed: ObservedPath, *names: str) -> str:
        if text is None:
            raise OSError(errno.ENODATA, "No data available", names[0])
        return text

    monkeypatch.setattr(ObservedPath, "attribute", attribute)


def test_a_file_of_one_object_is_on_its_first_osd(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data")
    begin = "--id me --connect-timeout 10 "
    tools.add(
        "ceph",
        {
            f"{begin}osd map data 10000000000.00000000 --format json": recorded("ceph_osd_map.json"),
            f"{begin}osd find 1 --format json": recorded("ceph_osd_find.json"),
        },
    )
    found = answer(CEPH, "/ceph/f", is_directory=False, size_bytes=1 << 20, inode=0x10000000000)
    assert [(device.name, device.server) for device in found.devices] == [("osd.1", "serverc.lab.example.com")]
    assert not found.striped
    site = Site(server=(Server(name="c", aliases=("172.25.250.12",)),))
    found = answer(CEPH, "/ceph/f", is_directory=False, size_bytes=1 << 20, inode=0x10000000000, site=site)
    assert found.servers == ("172.25.250.12",)


def test_a_large_file_on_ceph_is_on_all_osds_that_are_up(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data")
    tools.add("ceph", {"--connect-timeout 10 osd tree --format json": recorded("ceph_osd_tree.json")})
    found = answer(CEPH_FUSE, "/ceph/f", is_directory=False, size_bytes=1 << 30, inode=1)
    assert [(device.name, device.server) for device in found.devices] == [("osd.0", "rcss1"), ("osd.1", "rcss2")]
    assert found.striped


@pytest.mark.parametrize("line", [CEPH, CEPH_NEW])
def test_without_a_key_the_monitors_are_all_that_is_known(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    with_attribute(monkeypatch, None)
    tools.add("ceph", {})
    found = answer(line, "/ceph")
    assert found.servers == ("172.25.250.10", "172.25.250.11")
    assert found.striped
    assert found.how[-1] == "mountinfo: the monitors, in the place of the OSDs"


def test_ceph_by_fuse_without_a_key_is_told_to_be_unknown(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, None)
    assert "ceph is not installed here" in (answer(CEPH_FUSE, "/ceph").problem or "")
    tools.add("ceph", {"": "no JSON"})
    assert "gave an answer that is none" in (answer(CEPH_FUSE, "/ceph").problem or "")


def test_each_replica_of_a_file_holds_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, recorded("gluster_file.txt"))
    found = answer(GLUSTER, "/mnt/g/f", is_directory=False)
    assert found.servers == ("node.hello.lan", "test-node")
    assert found.devices[0].name == "node.hello.lan:/speech_v6/data2/brick"
    assert not found.striped


def test_a_directory_is_on_all_bricks_that_share_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, recorded("gluster_directory.txt"))
    found = answer(GLUSTER, "/mnt/g/d")
    assert found.servers == ("rcss1", "rcss2")
    assert found.striped


def test_a_dispersed_file_is_spread_and_no_brick_is_named_twice() -> None:
    text = "(<EC:v-disperse-0> <POSIX(/b1):h1:/b1/f> <POSIX(/b2):h2:/b2/f> <POSIX(/b1):h1:/b1/f>)"
    assert bricks(text) == [("h1", "/b1"), ("h2", "/b2")]


def test_gluster_that_does_not_answer_is_known_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    with_attribute(monkeypatch, None)
    found = answer(GLUSTER, "/mnt/g/f", is_directory=False)
    assert found.servers == ("gfs1",)
    assert found.how[0] == "glusterfs.pathinfo: No data available"
    by_file = GLUSTER.replace("gfs1:/vol", "/etc/vol.vol")
    assert "nothing says where the bricks" in (answer(by_file, "/mnt/g/f", answers=False).problem or "")
