"""Phases over several hosts and devices: what each did, which was last, and how the processes met."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tonnage.analysis.results import DevicePart, Devices, HostPart, Hosts, Point, Slowest
from tonnage.records import Trials
from tonnage.records.line_types import DeviceLine, TaskLine, TrialLine
from tonnage.records.line_types import Devices as DeviceLines
from tonnage.records.trial_columns import by_record
from tonnage.units import BANDWIDTH

Count = Literal["bytes", "operations"]
"""What a task did, as its line counts it."""


def hosts_of(
    points: Sequence[Point], trials: Sequence[TrialLine], tasks: Mapping[str, Sequence[TaskLine]]
) -> tuple[Hosts, ...]:
    """Returns, for each point whose tasks ran on several hosts, its repetition nearest the median."""
    if not tasks:
        return ()
    lines = by_record(trials)
    found = []
    for point in points:
        if point.kind == "network":
            continue  # its tasks are flows between hosts, which have a matrix of their own
        record = nearest(point)
        working = work_of(tasks.get(record, ()))
        if len({task.get("host") for task in working}) > 1:
            found.append(_hosts(point, lines[record], working))
    return tuple(found)


def nearest(point: Point) -> str:
    """Returns the record of the repetition nearest the median."""
    import numpy as np

    return point.records[int(abs(np.array(point.values) - point.median).argmin())]


def work_of(tasks: Sequence[TaskLine]) -> list[TaskLine]:
    """The tasks that the trial measures."""
    return [task for task in tasks if task.get("role", "work") == "work"]


def by_host(tasks: Sequence[TaskLine]) -> dict[str, list[TaskLine]]:
    """Groups task lines by host, in the order of their numbers."""
    found: dict[str, list[TaskLine]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task["task"]):
        found[str(task.get("host") or "")].append(task)
    return dict(found)


def tasks_on(tasks: Sequence[TaskLine]) -> int:
    """How many tasks the lines stand for: a line of a model may be that of a whole node."""
    return sum(task.get("tasks", 1) for task in tasks)


def host_rates(tasks: Sequence[TaskLine], count: Count = "bytes") -> dict[str, float]:
    """Returns the bytes (or operations) per second and task of each host, from its own first start to its own last
    end."""
    rates = {}
    for host, mine in by_host(work_of(tasks)).items():
        elapsed_ns = max(task["end_ns"] for task in mine) - min(task["start_ns"] for task in mine)
        if elapsed_ns > 0:
            rates[host] = sum(task[count] for task in mine) * 1e9 / elapsed_ns / tasks_on(mine)
    return rates


def _hosts(point: Point, line: TrialLine, tasks: Sequence[TaskLine]) -> Hosts:
    begin = min(task["start_ns"] for task in tasks)
    moved = sum(task["bytes"] for task in tasks)
    return Hosts(
        op=point.op,
        group=point.group,
        tasks=point.tasks,
        record=line["record"],
        metric=point.metric,
        parts=tuple(_parts(tasks, begin, moved)),
        slowest=_slowest(point, line, tasks, begin),
        ensemble=line.get("ensemble"),
    )


def _parts(tasks: Sequence[TaskLine], begin: int, moved: int) -> Iterator[HostPart]:
    for host, mine in by_host(tasks).items():
        ends = [task["end_ns"] - begin for task in mine]
        done = sum(task["bytes"] for task in mine)
        yield HostPart(
            host=host,
            tasks=tasks_on(mine),
            first_task=mine[0]["task"],
            bytes=done,
            operations=sum(task["operations"] for task in mine),
            first_done_ns=min(ends),
            last_done_ns=max(ends),
            share=done / moved if moved else 0.0,
        )


def _slowest(point: Point, line: TrialLine, tasks: Sequence[TaskLine], begin: int) -> Slowest:
    """The task that ended last where all did the same; the one that did least where time ended the phase."""
    by_time = line.get("stop_reason") == "time"
    count: Count = "bytes" if point.metric == BANDWIDTH else "operations"
    if by_time:
        values = [task[count] / task.get("tasks", 1) for task in tasks]
        at = min(range(len(tasks)), key=values.__getitem__)
    else:
        values = [float(task["end_ns"] - begin) for task in tasks]
        at = max(range(len(tasks)), key=values.__getitem__)
    task = tasks[at]
    return Slowest(
        task=task["task"],
        tasks=task.get("tasks", 1),
        host=str(task.get("host") or ""),
        by=count if by_time else "end_ns",
        value=values[at],
        median=statistics.median(values),
    )


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
        devices = lines[nearest(point)].get("devices")
        if devices and len(devices["balance"]) > 1:
            every = [rates_of(lines[record], tasks.get(record, ()), placed) for record in point.records]
            found.append(_devices(point, devices, every))
    return tuple(found)


def rates_of(
    line: TrialLine, tasks: Sequence[TaskLine], placed: Mapping[str, Sequence[DeviceLine]]
) -> dict[str, tuple[int, float]]:
    """Of each device the tasks whose files were all on it, and their rate together in bytes per second: from the first
    one's start to the last one's end. Tasks that worked on files of others, or on several devices, are in none."""
    devices = line.get("devices")
    if not devices or line["setting"].get("source", "own") != "own":
        return {}
    alone = dict(_alone(placed.get(devices["record"], ())))
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


def _devices(point: Point, held: DeviceLines, every: Sequence[Mapping[str, tuple[int, float]]]) -> Devices:
    total = sum(row["first_bytes"] for row in held["balance"])
    parts = []
    for row in held["balance"]:
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
        record=held["record"],
        of=held["of"],
        examined=held["examined"],
        total=held["total"],
        parts=tuple(parts),
    )
