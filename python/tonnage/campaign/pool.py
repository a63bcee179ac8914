"""What the manifest keeps of a Ceph pool: how many copies it makes, of what, and which OSDs may get them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tonnage import _native

_REPLICATED = 1
_QUESTIONS: tuple[dict[str, str], ...] = (
    {"prefix": "osd pool ls", "detail": "detail"},
    {"prefix": "osd tree"},
    {"prefix": "osd crush rule dump"},
)


def pool_facts(pool: Mapping[str, Any]) -> dict[str, Any] | None:
    """``target.pool`` of the manifest (``docs/record-format.md``); None where a monitor does not say."""
    questions = [json.dumps({**question, "format": "json"}) for question in _QUESTIONS]
    try:
        said = _native.ask_monitor(json.dumps({**pool, "namespace": "-"}), questions)
        pools, tree, rules = (json.loads(answer) for answer in said)
        return facts_of(pool["pool"], pools, tree, rules)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def facts_of(
    name: str, pools: Sequence[Mapping[str, Any]], tree: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The same from a monitor's three answers; KeyError or StopIteration where they are not what they should be."""
    pool = next(pool for pool in pools if pool["pool_name"] == name)
    rule = next(rule for rule in rules if rule["rule_id"] == pool["crush_rule"])
    return {
        "name": name,
        "kind": "replicated" if pool["type"] == _REPLICATED else "erasure",
        "copies": pool["size"],
        "copies_least": pool["min_size"],
        "groups": pool["pg_num"],
        "osds": sorted(_osds(tree["nodes"], rule["steps"]), key=lambda osd: osd["osd"]),
    }


def _osds(nodes: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Those below what a rule takes (``default``, or ``default~ssd`` for those of one class)."""
    by_id = {node["id"]: node for node in nodes}
    seen: set[int] = set()
    for taken in (step["item_name"] for step in steps if step["op"] == "take"):
        root, _, only = taken.partition("~")
        for top in (node for node in nodes if node["name"] == root):
            for host, node in _below(top, by_id, ""):
                if node["id"] not in seen and only in ("", node.get("device_class")):
                    seen.add(node["id"])
                    yield {
                        "osd": node["id"],
                        "host": host,
                        "device_class": node.get("device_class"),
                        "weight": node["crush_weight"] * node.get("reweight", 1),
                        "up": node.get("status") == "up",
                    }


def _below(
    node: Mapping[str, Any], by_id: Mapping[int, Mapping[str, Any]], host: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if node["type"] == "osd":
        yield host, node
    host = node["name"] if node["type"] == "host" else host
    for child in node.get("children", ()):
        if child in by_id:
            yield from _below(by_id[child], by_id, host)
