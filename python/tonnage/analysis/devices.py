"""Which devices held the files of a point, how much of them, and how fast each was where tasks worked on one alone."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tonnage.analysis.hosts import nearest, work_of
from tonnage.analysis.results import DevicePart, Devices, Point
from tonnage.records import Trials
from tonnage.records.line_types import DeviceLine, TaskLine, TrialLine
from tonnage.records.line_types import Devices as Told
from tonnage.records.trial_columns import by_record


def devices_of(
    points: Sequence[Point],
    trials: Sequence[TrialLine],
    tasks: Mapping[str, Sequence[TaskLine]],
    files: Sequence[DeviceLine],
) -> tuple[Devices, ...]:
    """Returns, for each point whose files several devices hold, the balance of its repetition nearest the median and
    the rates of all repetitions. ``files``: lines of ``devices.jsonl``."""
    if not Trials.of(trials).where_set("devices"):
        return ()
    lines = by_record(trials)
    placed: dict[str, list[DeviceLine]] = defaultdict(list)
    for row in files:
        placed[row["record"]].append(row)
    found = []
    for point in points:
        told = lines[nearest(point)].get("devices")
        if told and len(told["balance"]) > 1:
            every = [rates_of(lines[record], tasks.get(record, ()), placed) for record in point.records]
            found.append(_devices(point, told, every))
    return tuple(found)


def rates_of(
    line: TrialLine, tasks: Sequence[TaskLine], placed: Mapping[str, Sequence[DeviceLine]]
) -> dict[str, tuple[int, float]]:
    """Of each device the tasks whose files were all on it, and their rate together in bytes per second: from the first
    one's start to the last one's end. Tasks that worked on files of others, or on several devices, are in none."""
    told = line.get("devices")
    if not told or line["setting"].get("source", "own") != "own":
        return {}
    alone = dict(_alone(placed.get(told["record"], ())))
    at: dict[str, list[TaskLine]] = defaultdict(list)
    for task in work_of(tasks):
        if task["task"] in alone:
            at[alone[task["task"]]].append(task)
    found = {}
    for device, some in at.items():
        elapsed_ns = max(task["end_ns"] for task in some) - min(task["start_ns"] for task in some)
        if elapsed_ns > 0:
            found[device] = (len(some), sum(task["bytes"] for task in some) * 1e9 / elapsed_ns)
    return found


def _alone(rows: Sequence[DeviceLine]) -> Iterator[tuple[int, str]]:
    """(task, device) of each task whose files are all on one device, copies elsewhere left aside."""
    devices: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        if row["task"] is not None:
            devices[row["task"]] |= {part["device"] for part in row["parts"] if part["copy"] == 0}
    for task, names in devices.items():
        if len(names) == 1:
            yield task, names.pop()


def _devices(point: Point, told: Told, every: Sequence[Mapping[str, tuple[int, float]]]) -> Devices:
    total = sum(row["first_bytes"] for row in told["balance"])
    parts = []
    for row in told["balance"]:
        rates = tuple(rates[row["device"]][1] for rates in every if row["device"] in rates)
        tasks = [rates[row["device"]][0] for rates in every if row["device"] in rates]
        parts.append(
            DevicePart(
                device=row["device"],
                server=row.get("server"),
                files=row["first"],
                bytes=row["first_bytes"],
                all_bytes=row["bytes"],
                share=row["first_bytes"] / total if total else 0.0,
                tasks=round(statistics.median(tasks)) if tasks else None,
                rates=rates,
                median_bytes_per_s=statistics.median(rates) if rates else None,
            )
        )
    return Devices(
        op=point.op,
        group=point.group,
        tasks=point.tasks,
        record=told["record"],
        of=told["of"],
        examined=told["examined"],
        total=told["total"],
        parts=tuple(parts),
    )
