"""Which device holds what: the sums that stand in a run."""

from __future__ import annotations

import random

import pytest
from tonnage.filesystems.file_holders import FileLayout, FileShare, Item, natural, striped, whole


def test_stripes_share_a_file_as_bytes_go_to_the_devices_in_turn() -> None:
    draw = random.Random(7)
    for _ in range(200):
        devices = [f"OST{number}" for number in range(draw.randint(1, 5))]
        size, unit, start = draw.randint(0, 60), draw.randint(1, 9), draw.randint(0, 40)
        counted = dict.fromkeys(devices, 0)
        for offset in range(start, start + size):
            counted[devices[offset // unit % len(devices)]] += 1
        assert {part.device: part.bytes for part in striped(devices, size, unit, start=start)} == counted


def test_a_byte_counts_once_in_first_bytes_and_with_every_copy_in_bytes() -> None:
    held = FileLayout(
        items=(
            Item("a", 100, whole(["osd.2", "osd.10"], 100).parts),
            Item("b", 50, (FileShare("osd.10", 30), FileShare("osd.2", 20))),
        ),
        total=7,
        devices=(("osd.2", "h1"), ("osd.10", "h2"), ("osd.3", None)),
    )
    told = held.summary("0001-write")
    assert [row["device"] for row in told["balance"]] == ["osd.2", "osd.3", "osd.10"]
    assert told["balance"][0] == {
        "device": "osd.2", "server": "h1", "first": 1, "holds": 2, "first_bytes": 120, "bytes": 120,
    }  # fmt: skip
    assert told["balance"][1]["holds"] == 0
    assert sum(row["first_bytes"] for row in told["balance"]) == 150
    assert sum(row["bytes"] for row in told["balance"]) == 250
    assert (told["examined"], told["total"], told["sampled"]) == (2, 7, True)
    assert held.lines()[1]["parts"] == [
        {"device": "osd.10", "bytes": 30, "copy": 0},
        {"device": "osd.2", "bytes": 20, "copy": 0},
    ]


def test_where_one_device_has_everything_no_file_needs_a_line() -> None:
    assert FileLayout(items=(Item("a", 1, whole(["sda"], 1).parts),), total=1).lines() == []


@pytest.mark.parametrize(("first", "second"), [("osd.2", "osd.10"), ("a-OST0002", "a-OST000a"), ("h1:/b9", "h1:/b10")])
def test_devices_come_in_the_order_of_their_numbers(first: str, second: str) -> None:
    assert natural(first) < natural(second)
