"""What an analysis says: plain values, with intervals. Report, terminal, ``--json`` and compat only print these.

Rates are bytes per second, latencies nanoseconds, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Point:
    """All repetitions of one setting (one op, one number of tasks, everything else equal)."""

    op: str
    tasks: int
    transfer_size: int
    group: str
    """What else the run swept, as one printable key; empty where op and tasks are all that varied."""
    values: tuple[int, ...]
    """Bandwidth of each repetition, in the order they ran."""
    records: tuple[str, ...]
    """The record of each repetition, parallel to ``values``."""
    median: float
    low: float
    high: float
    """Confidence interval of the median; equal to it (``confidence`` 0) where there is one repetition."""
    confidence: float
    latency: dict[str, int]
    """Over all repetitions, with the keys of ``latency`` in ``trials.jsonl``; empty where it was not recorded."""
    operations_per_s: float
    cpu_ns_per_gib: int | None
    cache_state: str | None
    cache_device_share: float | None

    @property
    def repetitions(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class LoadLine:
    """The smallest number of tasks whose median throughput is within 5 % of the plateau (DESIGN: load line)."""

    op: str
    group: str
    reached: bool
    tasks: int | None
    tasks_low: int | None
    tasks_high: int | None
    confidence: float
    plateau_bytes_per_s: int | None
    plateau_low: int | None
    plateau_high: int | None
    max_tasks_tried: int
    why: str
    """One sentence: the load line, or why it was not reached."""
    p99_ns: int | None = None
    """The latency objective, if one was set."""
    p99_tasks: int | None = None
    """The largest number of tasks that still meets it; 0 where one task does not; None without an objective."""


@dataclass(frozen=True, slots=True)
class Model:
    """A curve fitted beside the points, never instead of them."""

    op: str
    group: str
    name: str
    """``usl`` (Gunther 1993) or ``hinge``."""
    parameters: dict[str, float]
    curve: tuple[tuple[float, float], ...]
    """(tasks, bytes per second)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A named judgement with its evidence and what to do about it."""

    code: str
    subject: str
    evidence: str
    advice: str


@dataclass(frozen=True, slots=True)
class Promise:
    """One of the twelve promises of the Method page, and whether this run keeps it."""

    number: int
    title: str
    kept: bool | None
    """None: does not apply to this run."""
    evidence: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that is said about a run."""

    run: str
    points: tuple[Point, ...]
    load_lines: tuple[LoadLine, ...]
    models: tuple[Model, ...]
    findings: tuple[Finding, ...]
    promises: tuple[Promise, ...]
    ceilings: tuple[dict[str, Any], ...]
    cost: dict[str, Any] | None
    stalls: tuple[dict[str, Any], ...] = field(default=())
