"""Lines of ``objects.jsonl``: where a storage that spreads objects over servers put those of a phase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def object_lines(line: Mapping[str, Any], result: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The lines of ``objects.jsonl`` that belong to a trial line: one for each placement group that it worked on."""
    head = {"trial": line["trial"], "record": line["record"]}
    placement = (result or {}).get("placement")
    return [{**head, **held} for held in placement["held"]] if placement else []


def objects_of(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """``objects`` of a trial line; None where the storage does not spread any."""
    placement = (result or {}).get("placement")
    if placement is None:
        return None
    placed = sum(held["objects"] for held in placement["held"])
    known = {key: placement[key] for key in ("epoch", "groups", "unplaced_objects")}
    return {**known, "placed_objects": placed}


def object_contradictions(line: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Sentences on what a trial line and its lines of ``objects.jsonl`` do not agree on."""
    said = (line.get("objects") or {}).get("placed_objects", 0)
    placed = sum(group["objects"] for group in groups)
    if said != placed:
        yield f"objects.placed_objects is {said} in trials.jsonl, and {placed} from objects.jsonl"
    if len({group["group"] for group in groups}) < len(groups):
        yield "objects.jsonl has a group twice"
    for group in groups:
        if len(group["names"]) > group["objects"]:
            yield f"objects.jsonl has more names than objects in group {group['group']}"
