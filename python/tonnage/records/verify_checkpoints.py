"""What a line of a ``checkpoint`` phase says of its rounds and snapshots, recomputed from what it was derived from."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.records.latency import summarise
from tonnage.records.line_types import Json, TrialLine
from tonnage.records.reader import Run

EVENTS = {"checkpoint": "snapshot", "drop": "snapshot-removed"}
"""By phase: the kind of event that each of its snapshots leaves."""


def rounds_ns(windows: list[list[int]]) -> int:
    """Time of all rounds together: of each, from the first begin to the last end. ``windows`` as in the record."""
    return sum(last_end - first_begin for first_begin, _, _, last_end, _ in windows)


def checkpoint_contradictions(run: Run, line: TrialLine) -> Iterator[str]:
    """Yields a sentence for each contradiction."""
    told, record, phase = line["checkpoint"], line["record"], line["phase"]
    if told is None or line["status"] != "ok":
        return  # a phase that was stopped in a round has said less than it did
    if phase == "checkpoint":
        if told["rounds"] != len(told["windows"]):
            yield f"checkpoint.rounds is {told['rounds']}, and there are {len(told['windows'])} windows"
        found = rounds_ns(told["windows"])
        if told["coordination"] == "together" and told["checkpoint_ns"] != found:
            yield f"checkpoint.checkpoint_ns is {told['checkpoint_ns']}, and {found} from its windows"
    kind = EVENTS.get(phase)
    if kind is None:
        return
    events = [event for event in run.events() if event.get("record") == record and event["kind"] == kind]
    if len(events) != told["snapshot"]["count"]:
        yield f"checkpoint.snapshot.count is {told['snapshot']['count']}, and events.jsonl has {len(events)} of {kind}"
    spent = sum(event["duration_ns"] or 0 for event in events)
    if told["snapshot_ns"] != spent:
        yield f"checkpoint.snapshot_ns is {told['snapshot_ns']}, and {spent} from events.jsonl"
    if phase == "checkpoint":
        taken = run.snapshots(record)
        summary: Json = told["snapshot"]
        for key, value in summarise(taken or []).items():
            if abs(summary[key] - value) > (1 if key == "mean_ns" else 0):
                yield f"checkpoint.snapshot.{key} is {summary[key]}, and {value} from the histogram"
