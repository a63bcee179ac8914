"""Results of phases made by hand, as the engine returns them, for tests that write records without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]


def equal_latencies(count: int, each_ns: int = 10**6) -> dict[str, int]:
    """Returns the latencies of ``count`` operations that all took the same time."""
    names = ("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    return {"count": count, **dict.fromkeys(names, each_ns)}


def task_result(number: int, start_ns: int, end_ns: int, latency: dict[str, int] | None, **more: Any) -> Json:
    """Returns the result of a task that transferred all of its time; ``more`` adds keys or replaces them."""
    times = {"start_ns": start_ns, "end_ns": end_ns, "open_ns": 0, "transfer_ns": end_ns - start_ns, "sync_ns": 0}
    done = {"close_ns": 0, "bytes": 0, "operations": 0, "errors": 0, "damaged_operations": 0, "wrapped": False}
    return {"task": number, **times, **done, "latency": latency, **more}


def phase_result(tasks: Iterable[Json], latency: dict[str, int] | None, **more: Any) -> Json:
    """Returns the result of a phase in which nothing went wrong; ``more`` adds keys or replaces them."""
    used = {"cpu_user_ns": 0, "cpu_system_ns": 0, "direct": True, "cache": None, "verify": None, "first_error": None}
    told: Json = {"facts": {}, "notes": [], "events": []}
    return {"stop_reason": "time", "tasks": list(tasks), "latency": latency, **used, **told, **more}
