"""Recomputes every derived figure of ``trials.jsonl`` from the files it was derived from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tonnage.records.checkpoint import checkpoint_contradictions
from tonnage.records.latency import summarise
from tonnage.records.lines import cache_state, device_share, rate, totals_of
from tonnage.records.objects import object_contradictions
from tonnage.records.reader import Run
from tonnage.records.workflow import workflow_contradictions

_MEAN_SLACK_NS = 1
"""The mean of a histogram is a float in one place and a whole number in the other."""


def verify_files(run: Run) -> list[str]:
    """Sentences, one for each contradiction between the files of ``run``; empty where all agree."""
    trials = run.trials()
    tasks: dict[str, list[dict[str, Any]]] = {line["record"]: [] for line in trials}
    found = []
    if len(tasks) < len(trials):
        found.append(f"trials.jsonl: {len(trials) - len(tasks)} records have more than one line")
    for task in run.tasks():
        if task["record"] in tasks:
            tasks[task["record"]].append(task)
        else:
            found.append(f"tasks.jsonl: a task of {task['record']}, which trials.jsonl does not have")
    copies: dict[str, list[dict[str, Any]]] = {line["record"]: [] for line in trials}
    for copy in run.copies():
        if copy["record"] in copies:
            copies[copy["record"]].append(copy)
        else:
            found.append(f"copies.jsonl: a copy of {copy['record']}, which trials.jsonl does not have")
    workflows: dict[str, list[dict[str, Any]]] = {line["record"]: [] for line in trials}
    for task in run.workflow():
        if task["record"] in workflows:
            workflows[task["record"]].append(task)
        else:
            found.append(f"workflow.jsonl: a task of {task['record']}, which trials.jsonl does not have")
    objects: dict[str, list[dict[str, Any]]] = {line["record"]: [] for line in trials}
    for group in run.objects():
        if group["record"] in objects:
            objects[group["record"]].append(group)
        else:
            found.append(f"objects.jsonl: a group of {group['record']}, which trials.jsonl does not have")
    for line in trials:
        found.extend(f"{line['record']}: {what}" for what in object_contradictions(line, objects[line["record"]]))
    for record, several in workflows.items():
        found.extend(f"{record}: {what}" for what in workflow_contradictions(several))
    for line in trials:
        record = line["record"]
        found.extend(f"{record}: {what}" for what in _contradictions(run, line, tasks[record]))
        if line["phase"] == "command" and tasks[record] and not run.manifest.get("imported"):
            found.extend(f"{record}: {what}" for what in _copies(line, copies[record]))
    return found


def _contradictions(run: Run, line: dict[str, Any], tasks: list[dict[str, Any]]) -> Iterator[str]:
    for key, value in totals_of(tasks).items():
        if line.get(key) != value:
            yield f"{key} is {line.get(key)} in trials.jsonl, and {value} from tasks.jsonl"
    yield from _cache(line)
    if not tasks or line["phase"] == "stage" or run.manifest.get("imported"):
        return  # what the engine did not run has no intervals and no operations of its own
    yield from _series(run, line, tasks)
    if line["phase"] == "network":
        yield from _network(line, tasks)
        return  # iperf3 times no operations
    yield from _latency(run, line, tasks)
    if line.get("checkpoint"):
        yield from checkpoint_contradictions(run, line)


def _copies(line: dict[str, Any], copies: list[dict[str, Any]]) -> Iterator[str]:
    good = [copy for copy in copies if copy["exit_code"] == 0]
    computed = {
        "operations": len(good),
        "bytes": sum((copy["read_call_bytes"] or 0) + (copy["write_call_bytes"] or 0) for copy in good),
        **{key: sum(copy[key] for copy in copies) for key in ("cpu_user_ns", "cpu_system_ns")},
    }
    for key, value in computed.items():
        if line[key] != value:
            yield f"{key} is {line[key]} in trials.jsonl, and {value} from copies.jsonl"
    if len({copy["copy"] for copy in copies}) < len(copies):
        yield "copies.jsonl has a copy twice"


def _network(line: dict[str, Any], tasks: list[dict[str, Any]]) -> Iterator[str]:
    network = line.get("network") or {"flows": []}
    flows = network["flows"]
    window = (network.get("window_start_ns"), network.get("window_end_ns"))
    if window != (line["first_start_ns"], line["last_done_ns"]):
        yield f"network.window is {window}, and {line['first_start_ns'], line['last_done_ns']} in trials.jsonl"
    for flow in flows:
        own = rate(flow["received_bytes"], flow["elapsed_ns"])
        if flow["bandwidth_bytes_per_s"] != own:
            yield f"bandwidth of flow {flow['task']} is {flow['bandwidth_bytes_per_s']}, and {own} from its bytes"
    if {flow["task"]: flow["window_bytes"] for flow in flows} != {task["task"]: task["bytes"] for task in tasks}:
        yield "network.flows and tasks.jsonl do not have the same bytes"
    own = sum(flow["bandwidth_bytes_per_s"] for flow in flows)
    if network.get("sum_of_own_bytes_per_s") != own:
        yield f"network.sum_of_own_bytes_per_s is {network.get('sum_of_own_bytes_per_s')}, and {own} from its flows"


def _cache(line: dict[str, Any]) -> Iterator[str]:
    cache = line.get("cache")
    if not cache:
        return
    share = device_share(cache.get("device_bytes"), cache.get("read_bytes", line["bytes"]))
    if cache.get("device_share") != share:
        yield f"cache.device_share is {cache.get('device_share')}, and {share} from device_bytes and bytes"
    elif cache.get("state") != cache_state(share):
        yield f"cache.state is {cache.get('state')!r}, and {cache_state(share)!r} from its device_share"


def _series(run: Run, line: dict[str, Any], tasks: list[dict[str, Any]]) -> Iterator[str]:
    series = run.series(line["record"])
    if series is None:
        yield "series file is missing"
        return
    for key in ("bytes", "operations"):
        by_task = {task["task"]: 0 for task in tasks}
        for number, value in zip(series["task"], series[key], strict=True):
            by_task[number] = by_task.get(number, 0) + value
        for task in tasks:
            got = by_task.pop(task["task"])
            if got != task[key]:
                yield f"{key} of task {task['task']} are {task[key]} in tasks.jsonl, and {got} in its series"
        if by_task:
            yield f"series has tasks that tasks.jsonl does not: {sorted(by_task)}"


def _latency(run: Run, line: dict[str, Any], tasks: list[dict[str, Any]]) -> Iterator[str]:
    histograms = run.histograms(line["record"])
    merged = run.histogram(line["record"])
    if histograms is None or merged is None:
        yield "latency file is missing"
        return
    yield from _differences("latency", line["latency"], summarise(merged))
    if follow := line.get("follow"):
        yield from _differences("follow.lag", follow["lag"], summarise(run.lag(line["record"]) or []))
    for task in tasks:
        tag = "follow" if task.get("role") == "follow" else "task"
        pairs = histograms.get(f"{tag}-{task['task']}", [])
        yield from _differences(f"latency of task {task['task']}", task["latency"], summarise(pairs))


def _differences(what: str, said: dict[str, int] | None, computed: dict[str, int]) -> Iterator[str]:
    for key, value in computed.items():
        other = (said or {}).get(key)
        if other is None or abs(other - value) > (_MEAN_SLACK_NS if key == "mean_ns" else 0):
            yield f"{what}: {key} is {other} in the line, and {value} from the histogram"
