"""Lustre, from recorded words of lfs and lctl: which OSTs, and whose."""

from __future__ import annotations

from tonnage.placement.site import Server, Site

from .recorded_tools import Tools, answer, recorded

MOUNT = "40 21 0:50 / /mnt/lustre rw - lustre 192.168.0.201@tcp:192.168.0.202@tcp:/tfs1 rw,flock"
OTHER = MOUNT.replace(":/tfs1", ":/tfs2/part")


def lctl(tools: Tools, *, name: str = "tfs1") -> None:
    tools.add("lctl", {f"get_param osc.{name}-*.ost_conn_uuid": recorded("lustre_conn_uuid.txt")})


def test_a_file_is_on_the_servers_of_its_stripes_in_their_order(tools: Tools) -> None:
    text = recorded("lustre_getstripe_table.txt").replace("\t    12\t", "\t     4\t")
    tools.add("lfs", {"getstripe /mnt/lustre/f": text})
    lctl(tools)
    found = answer(MOUNT, "/mnt/lustre/f", is_directory=False)
    assert [device.name for device in found.devices] == ["tfs1-OST0004", "tfs1-OST0005"]
    assert found.servers == ("192.168.0.206@tcp", "192.168.0.208@tcp")
    assert found.striped
    assert found.how == (
        "lfs getstripe: on OST 4, 5",
        "lctl get_param osc.*.ost_conn_uuid: their servers",
    )


def test_the_components_of_a_file_are_its_stripes_too(tools: Tools) -> None:
    tools.add("lfs", {"getstripe /mnt/lustre/f": recorded("lustre_getstripe_pfl.txt").replace("idx: 1,", "idx: 3,")})
    lctl(tools)
    found = answer(MOUNT, "/mnt/lustre/f", is_directory=False)
    assert [(device.name, device.server) for device in found.devices] == [
        ("tfs1-OST0003", "192.168.0.205@tcp"),
        ("tfs1-OST0000", None),
    ]


def test_numbers_repeat_and_the_file_systems_name_tells_them_apart(tools: Tools) -> None:
    text = recorded("lustre_getstripe_pfl.txt").replace("idx: 1,", "idx: 4,").replace("idx: 0,", "idx: 4,")
    tools.add("lfs", {"getstripe /mnt/lustre/f": text})
    lctl(tools, name="tfs2")
    site = Site(
        server=(Server(name="oss2", aliases=("192.168.0.207",)), Server(name="oss1", aliases=("192.168.0.206",)))
    )
    found = answer(OTHER, "/mnt/lustre/f", is_directory=False, site=site)
    assert [(device.name, device.server) for device in found.devices] == [("tfs2-OST0004", "192.168.0.207")]
    assert not found.striped


def test_new_files_of_a_directory_may_be_on_any_ost(tools: Tools) -> None:
    tools.add("lfs", {"getstripe -d /mnt/lustre": recorded("lustre_getstripe_directory.txt")})
    lctl(tools)
    found = answer(MOUNT, "/mnt/lustre")
    assert [device.name for device in found.devices] == ["tfs1-OST0003", "tfs1-OST0004", "tfs1-OST0005"]
    assert found.striped
    assert found.how[0] == "lfs getstripe: new files are on any OST"


def test_a_directory_pinned_to_one_ost_is_on_its_server(tools: Tools) -> None:
    pinned = "stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: 5\n"
    tools.add("lfs", {"getstripe -d /mnt/lustre": pinned})
    lctl(tools)
    found = answer(MOUNT, "/mnt/lustre")
    assert (found.servers, found.striped) == (("192.168.0.208@tcp",), False)


def test_a_pool_bounds_what_new_files_may_be_on(tools: Tools) -> None:
    pool = "stripe_count:  1 stripe_size: 1048576 pattern: raid0 stripe_offset: -1 pool: flash\n"
    listed = "Pool: tfs1.flash\ntfs1-OST0004_UUID\ntfs1-OST0005_UUID\n"
    tools.add("lfs", {"getstripe -d": pool, "pool_list tfs1.flash": listed})
    lctl(tools)
    assert [device.name for device in answer(MOUNT, "/mnt/lustre").devices] == ["tfs1-OST0004", "tfs1-OST0005"]


def test_a_small_file_on_a_metadata_target_is_on_its_server(tools: Tools) -> None:
    tools.add("lfs", {"getstripe /mnt/lustre/domfile": recorded("lustre_getstripe_dom.txt")})
    line = "mdc.tfs1-MDT0000-mdc-ffff93af0c638800.mds_conn_uuid=192.168.0.203@tcp\n"
    tools.add("lctl", {"get_param mdc.tfs1-*.mds_conn_uuid": line})
    found = answer(MOUNT, "/mnt/lustre/domfile", is_directory=False)
    assert [(device.name, device.server) for device in found.devices] == [("tfs1-MDT0000", "192.168.0.203@tcp")]


def test_without_lctl_the_osts_are_told_and_how_to_name_their_servers(tools: Tools) -> None:
    tools.add("lfs", {"getstripe /mnt/lustre/f": recorded("lustre_getstripe_pfl.txt")})
    found = answer(MOUNT, "/mnt/lustre/f", is_directory=False)
    assert [device.name for device in found.devices] == ["tfs1-OST0001", "tfs1-OST0000"]
    assert found.problem == (
        "no tool says which hosts serve tfs1; hint: give each server what it holds in tonnage.toml, like "
        'holds = ["tfs1-OST0001"]'
    )
    assert "lctl is not installed here" in found.how


def test_a_mount_that_hangs_is_not_touched(tools: Tools) -> None:
    tools.add("lfs", {"": "never asked"})
    lctl(tools)
    found = answer(MOUNT, "/mnt/lustre/f", answers=False)
    assert len(found.devices) == 3
    assert [line.split()[0] for line in tools.asked()] == ["lctl"]
