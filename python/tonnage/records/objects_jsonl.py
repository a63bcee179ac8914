"""Lines of ``objects.jsonl``: where a storage that spreads objects over servers put those of a phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tonnage.records.line_types import ObjectLine, ObjectsLine, OfRecord, TrialLine
from tonnage.records.phase_results import PhaseResult


def object_lines(line: TrialLine, result: PhaseResult | None) -> list[ObjectLine]:
    """Returns the lines of ``objects.jsonl`` that belong to a trial line: one for each placement group that it worked
    on."""
    head: OfRecord = {"trial": line["trial"], "record": line["record"]}
    placement = result.get("placement") if result else None
    return [{**head, **held} for held in placement["held"]] if placement else []


def objects_of(result: PhaseResult | None) -> ObjectsLine | None:
    """``objects`` of a trial line; None where the storage does not spread any."""
    placement = result.get("placement") if result else None
    if placement is None:
        return None
    placed = sum(held["objects"] for held in placement["held"])
    return {
        "epoch": placement["epoch"],
        "groups": placement["groups"],
        "unplaced_objects": placement["unplaced_objects"],
        "placed_objects": placed,
    }


def object_contradictions(line: TrialLine, groups: Sequence[ObjectLine]) -> Iterator[str]:
    """Sentences on what a trial line and its lines of ``objects.jsonl`` do not agree on."""
    objects = line.get("objects")
    said = objects.get("placed_objects", 0) if objects else 0
    placed = sum(group["objects"] for group in groups)
    if said != placed:
        yield f"objects.placed_objects is {said} in trials.jsonl, and {placed} from objects.jsonl"
    if len({group["group"] for group in groups}) < len(groups):
        yield "objects.jsonl has a group twice"
    for group in groups:
        if len(group["names"]) > group["objects"]:
            yield f"objects.jsonl has more names than objects in group {group['group']}"
