"""Which server of the site file is meant by what a tool printed."""

from __future__ import annotations

import pytest
from tonnage.filesystems import Device
from tonnage.machine.mounts import Mount
from tonnage.placement.site import Server, Site
from tonnage.placement.where import Located, servers_of


def located(path: str = "/data/x", *servers: str, device: str = "10.0.0.9:/export", **facts: object) -> Located:
    return Located(
        path=path,
        real_path=path,
        mount=Mount("/data", "nfs4", device, ""),
        target="t",
        servers=servers,
        **facts,  # type: ignore[arg-type]
    )


def names(found: Located, *servers: Server) -> list[str]:
    return [server.name for server in servers_of(found, Site(server=servers))]


def test_a_name_an_alias_an_address_and_a_short_name_are_one_server() -> None:
    server = Server(name="rcss1", aliases=("10.0.0.9", "rcss1-ib"), hosts=("rcss1",))
    for said in ("rcss1", "10.0.0.9", "rcss1-ib", "rcss1-ib.cluster.local"):
        assert names(located("/data/x", said), server) == ["rcss1"]
    assert names(located("/data/x", "10.0.0.8"), server) == ["10.0.0.8"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/data/x", ["wide"]), ("/data", ["wide"]), ("/data/proj/y", ["deep"]), ("/database", ["stranger"])],
)
def test_where_no_name_is_known_the_longest_pattern_holds(path: str, expected: list[str]) -> None:
    wide, deep = Server(name="wide", holds=("/data",)), Server(name="deep", holds=("/data/proj",))
    assert names(located(path, "stranger"), wide, deep) == expected


def test_a_mount_source_may_be_a_pattern() -> None:
    assert names(located("/elsewhere", device="10.0.0.9:/export"), Server(name="s", holds=("10.0.0.9:*",))) == ["s"]


def test_a_name_that_a_tool_gave_counts_before_a_pattern() -> None:
    by_name, by_path = Server(name="nas"), Server(name="other", holds=("/data",))
    assert names(located("/data/x", "nas"), by_name, by_path) == ["nas"]


def test_devices_are_held_by_name_and_repeat_only_within_their_file_system() -> None:
    devices = (Device("scratch-OST0003", "10.0.0.3@tcp"), Device("work-OST0003", None))
    found = located("/scratch/x", devices=devices, striped=True)
    sets = (Server(name="oss3", holds=("scratch-OST*",)), Server(name="oss9", holds=("work-OST0003",)))
    assert names(found, *sets) == ["oss3", "oss9"]
    assert names(found, sets[1]) == ["oss9", "10.0.0.3@tcp"]


def test_nobody_is_nobody() -> None:
    assert servers_of(located(), Site()) == ()
