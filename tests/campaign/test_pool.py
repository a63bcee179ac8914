"""What a monitor says of a pool (answers recorded from Ceph 16.2), as the manifest keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.campaign.target_facts import facts_of_pool


def osd(number: int, device_class: str, weight: float, status: str, reweight: float) -> dict[str, Any]:
    known = {"id": number, "name": f"osd.{number}", "type": "osd", "type_id": 0, "depth": 2, "exists": 1}
    more = {"device_class": device_class, "crush_weight": weight, "status": status, "reweight": reweight}
    return {**known, **more, "pool_weights": {}, "primary_affinity": 1}


NODES: list[dict[str, Any]] = [
    {"id": -1, "name": "default", "type": "root", "type_id": 11, "children": [-3, -5]},
    {"id": -3, "name": "one", "type": "host", "type_id": 1, "pool_weights": {}, "children": [1, 0]},
    osd(0, "hdd", 2.0, "up", 1),
    osd(1, "ssd", 1.0, "down", 0),
    {"id": -5, "name": "two", "type": "host", "type_id": 1, "pool_weights": {}, "children": [2]},
    osd(2, "ssd", 1.0, "up", 0.5),
]


def answers(taken: str, kind: int = 1) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    pool = {"pool_name": "bench", "type": kind, "size": 3, "min_size": 2, "crush_rule": 4, "pg_num": 32}
    steps = [{"op": "take", "item": -1, "item_name": taken}, {"op": "choose_firstn"}, {"op": "emit"}]
    return [{"pool_name": "other"}, pool], {"nodes": NODES, "stray": []}, [{"rule_id": 4, "steps": steps}]


def test_only_osds_that_the_pools_rule_may_take_are_told_with_their_weight() -> None:
    every = facts_of_pool("bench", *answers("default"))
    assert (every["kind"], every["copies"], every["copies_least"], every["groups"]) == ("replicated", 3, 2, 32)
    assert [(osd["osd"], osd["host"], osd["weight"], osd["up"]) for osd in every["osds"]] == [
        (0, "one", 2.0, True), (1, "one", 0.0, False), (2, "two", 0.5, True),
    ]  # fmt: skip
    fast = facts_of_pool("bench", *answers("default~ssd", 3))
    assert fast["kind"] == "erasure" and [osd["osd"] for osd in fast["osds"]] == [1, 2]
    assert [osd["osd"] for osd in facts_of_pool("bench", *answers("two"))["osds"]] == [2]


def test_an_answer_of_another_pool_or_shape_is_not_taken_for_facts() -> None:
    with pytest.raises(StopIteration):
        facts_of_pool("nosuch", *answers("default"))
    with pytest.raises(KeyError):
        facts_of_pool("bench", [{}], {}, [])
