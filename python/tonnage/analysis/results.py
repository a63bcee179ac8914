"""Results of an analysis: plain values, with intervals. Report, terminal, ``--json`` and compat only print these.

Rates are in the metric of a point or line, latencies nanoseconds, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tonnage.analysis.compare.normalise import Normalised
from tonnage.records.line_types import Gathering, SettingValues, StopReason
from tonnage.units import BANDWIDTH


@dataclass(frozen=True, slots=True)
class Bounds:
    """The interval of a percentile over repetitions, of which each is one value."""

    low_ns: int
    high_ns: int
    confidence: float


Intervals = Mapping[str, Bounds | None]
"""By percentile (``p50_ns``, ``p90_ns``, ``p99_ns``, ``p999_ns``); None where there is one repetition."""


@dataclass(frozen=True, slots=True)
class MixPart:
    """What one kind of operation did at a point that mixes several."""

    op: str
    bandwidth_bytes_per_s: float
    operations_per_s: float
    latency: dict[str, int]
    """As of a point."""
    latency_intervals: Intervals = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TailFigures:
    """How the readers of a ``tail`` point followed its writer."""

    readers: int
    bandwidth_bytes_per_s: float
    """Of all readers together."""
    lag: dict[str, int]
    """From the end of a transfer's write to the end of its read; keys of ``latency``."""
    max_lag_bytes: int
    waits: int
    lag_intervals: Intervals = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of a ``command`` point, over all repetitions."""

    copies: int
    cpu_ns: int | None
    """Processor time of all of them, user and system; None where it is not known of one."""
    cpu_share: float | None
    """… as a share of all processors of the host over the elapsed time."""
    device_read_bytes: int | None
    device_write_bytes: int | None


@dataclass(frozen=True, slots=True)
class Point:
    """All repetitions of one setting (one op, one number of tasks, everything else equal)."""

    op: str
    tasks: int
    transfer_size: int | None
    """None where a workload has no transfers of one size."""
    group: str
    """Which workload of several, and what else it swept, as one printable key; empty where nothing else varied."""
    values: tuple[float, ...]
    """The metric of each repetition, in the order they ran."""
    records: tuple[str, ...]
    """The record of each repetition, parallel to ``values``."""
    median: float
    low: float
    high: float
    """Confidence interval of the median; equal to it (``confidence`` 0) where there is one repetition."""
    confidence: float
    latency: dict[str, int]
    """With the keys of ``latency`` in ``trials.jsonl``: of percentiles and mean the median over the repetitions, the
    least and the most of all, and their count; empty where it was not recorded."""
    operations_per_s: float
    cpu_ns_per_gib: int | None
    cache_state: str | None
    cache_device_share: float | None
    """Of the bytes read, at most 1."""
    kind: str = "stream"
    metric: str = BANDWIDTH
    """What ``values``, ``median`` and its interval are: ``bandwidth_bytes_per_s`` or ``operations_per_s``."""
    workload: str = ""
    """Name of its ``[[workload]]``."""
    setting: SettingValues = field(default_factory=dict)
    """Every factor, as in ``trials.jsonl``."""
    bandwidth_bytes_per_s: float = 0.0
    """All bytes over all time, whatever the metric."""
    elapsed_ns: int = 0
    """Of the median repetition."""
    elapsed_each_ns: tuple[int, ...] = ()
    """Of each repetition, parallel to ``values``."""
    amount: int | None = None
    """Bytes, or operations, of each repetition; None where they are not equal."""
    parts: tuple[MixPart, ...] = ()
    follow: TailFigures | None = None
    copies: Copies | None = None
    workflow: Workflow | None = None
    latency_intervals: Intervals = field(default_factory=dict)
    """Of the percentiles in ``latency``."""
    cache_device_ratio: float | None = None
    """Bytes that a device gave for each byte read: above 1 where read-ahead or whole pages brought more."""
    cached_share: float | None = None
    """Of the files that were read, in the page cache before; the most of any repetition."""
    stopped: StopReason | None = None
    """Why it was not measured again; None where the run does not say."""

    @property
    def repetitions(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Divided:
    """The point of an operation that did most, and its parts."""

    point: Point
    parts: tuple[Normalised | None, ...]
    """By basis, in their order; None where the figure has nothing to do with it: operations, and a link of bytes."""


@dataclass(frozen=True, slots=True)
class LatencyLine:
    """The largest load whose percentile latency, the median over trials of each trial's own, is within an objective."""

    percentile: str
    """``p99_ns`` or ``p999_ns``."""
    objective_ns: int
    load: str
    """``tasks``, or ``bandwidth_bytes_per_s`` where rates were offered."""
    shown: bool
    """Both ends of the interval were shown by measurements."""
    largest: int | None
    """The largest measured load that is estimated to meet it; 0 where the smallest does not; None: nothing measured."""
    low: int
    """The largest load shown to meet it; 0 where none was."""
    high: int | None
    """No larger load meets it; None where no load was shown to exceed it."""
    exceeds: int | None
    """The smallest measured load that is estimated to exceed it."""
    confidence: float
    trials: int
    why: str
    """One sentence: the answer, or why it was not shown."""
    tasks: int | None = None
    """With which rates were offered."""
    plateau_share: float | None = None
    """Of ``largest``, a rate, in the plateau; None without one."""


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
    plateau_low: float | None
    plateau_high: float | None
    max_tasks_tried: int
    why: str
    """One sentence: the load line, or why it was not reached."""
    kind: str = "stream"
    metric: str = BANDWIDTH
    """What the plateau and its interval are."""
    plateau_operations_per_s: float | None = None
    """The plateau where that is the metric; ``plateau_bytes_per_s`` is None then."""
    sustained_ns: int | None = None
    """How long the longest trial on the plateau lasted."""
    sustained_bytes: int | None = None
    """What the plateau moves in that time: of a buffer larger than that nothing is said."""
    stopped: StopReason | None = None
    """Why its points were not measured again, where all that are near it have one reason."""
    latency_lines: tuple[LatencyLine, ...] = ()
    """One for each latency objective."""

    @property
    def plateau(self) -> float | None:
        """In its metric; None where none was reached."""
        return self.plateau_bytes_per_s if self.metric == BANDWIDTH else self.plateau_operations_per_s


@dataclass(frozen=True, slots=True)
class SurfaceSize:
    """The load line at one transfer size of a surface."""

    transfer_size: int
    reached: bool
    """The interval ends below the largest number of tasks and within two octaves; the size has trials of its own."""
    tasks: int
    """The median of what the load line may be."""
    tasks_low: int
    tasks_high: int | None
    """None where it reaches into the largest number of tasks that was asked for."""
    plateau_bytes_per_s: int
    plateau_low: int
    plateau_high: int
    declines: bool
    """The largest number of tasks is shown to have less than 95 % of the plateau."""
    trials: int
    """Of this very size; the answer rests on those of other sizes as well."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The load line of one operation over transfer sizes."""

    op: str
    max_tasks: int
    confidence: float
    """Of each interval: over all sizes it holds the true load line at so many."""
    sizes: tuple[SurfaceSize, ...]
    trials: int
    noise: float
    """Of a trial, relative."""
    tasks: tuple[int, ...]
    """Numbers of tasks that the throughput is known at."""
    rates_bytes_per_s: tuple[tuple[int, ...], ...]
    """Throughput as estimated: a row for each of ``tasks``, a value for each of ``sizes``."""


@dataclass(frozen=True, slots=True)
class Model:
    """A curve fitted beside the points, never instead of them."""

    op: str
    group: str
    name: str
    """``usl`` (Gunther 1993) or ``hinge``."""
    parameters: dict[str, float]
    curve: tuple[tuple[float, float], ...]
    """(tasks, rate in the metric of its points)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A command in one setting against the same in the first one of the campaign file, by elapsed time."""

    workload: str
    tasks: int
    group: str
    base: str
    """The group compared with."""
    elapsed_ns: int
    """Median."""
    base_elapsed_ns: int
    repetitions: int
    base_repetitions: int
    ratio: float
    """Of the medians: below 1 it is faster than the base."""
    low: float
    high: float
    """Interval of the true ratio."""
    confidence: float
    """Of all verdicts of the workload together; 0: too few repetitions for an interval."""
    verdict: str
    """``faster``, ``slower`` or ``no change shown``; ``too few to tell`` where there is no interval."""
    repetitions_to_decide: int | None
    """So many of each would tell a ratio such as this one from 1, four times of five; None: decided, or unknown."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the elapsed time of a workflow, over all repetitions."""

    median_ns: int
    share: float
    """Median over the repetitions of the part of each one's elapsed time."""
    low: float
    high: float
    """Its interval; equal to it (``confidence`` 0) where there is one repetition."""
    confidence: float


@dataclass(frozen=True, slots=True)
class Workflow:
    """Where the time of a workflow went at one point, over all repetitions and copies."""

    engine: str
    tasks: int
    """Of the workflow, in one run of it (the median)."""
    failed: int
    """In all runs."""
    runs: int
    run_ns: int
    """Sum over the tasks of a run, median over the runs; so are the next ones."""
    wait_ns: int
    notice_ns: int
    """From the end of each task until the engine knew of it."""
    parts: Mapping[str, Share]
    """By their names in ``tonnage.analysis.workflow``; they add up to a run's elapsed time. ``engine``: its own."""
    path_tasks: int | None
    """Tasks of the critical path; None where the trace has no dependencies."""
    path_run_ns: int | None
    """How long they ran."""
    times_from: str | None
    """``task``, ``engine`` or ``mixed``: who saw the tasks start and end."""


@dataclass(frozen=True, slots=True)
class LinkFlow:
    """What went from one host to one other at a ``network`` point; medians and sums over the repetitions."""

    sender: str
    receiver: str
    bandwidth_bytes_per_s: float
    """From its own beginning to its own end."""
    window_bytes_per_s: float
    """While all flows of the trial ran."""
    sent_bytes: int
    received_bytes: int
    retransmits: int | None
    """Segments sent again, of all repetitions."""
    rtt_mean_ns: int | None
    sender_cpu_share: float | None
    """Of one processor; the most of any repetition."""
    receiver_cpu_share: float | None


@dataclass(frozen=True, slots=True)
class Link:
    """A ``network`` point: the rate of all its flows together, and what each of them got."""

    point: Point
    flows: tuple[LinkFlow, ...]
    sum_of_own_bytes_per_s: float
    """The flows' own rates added up: what no moment had."""
    fairness: float | None
    """Jain's index of the flows' shares; None for one flow."""

    @property
    def alone(self) -> bool:
        """One pair, and one way."""
        return len(self.flows) == 1


@dataclass(frozen=True, slots=True)
class HostPart:
    """What one host did in a phase; instants from the phase's first start."""

    host: str
    tasks: int
    first_task: int
    bytes: int
    operations: int
    first_done_ns: int
    last_done_ns: int
    share: float
    """Of all bytes."""


@dataclass(frozen=True, slots=True)
class Slowest:
    """The task that held up the others."""

    task: int
    tasks: int
    """How many tasks its line stands for, from ``task`` on; 1 but in models of very many."""
    host: str
    by: str
    """``end_ns``: it ended last; ``bytes`` or ``operations``: it did least of these (a task) until time was up."""
    value: float
    median: float
    """The median task's."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """A phase over several hosts: of a point the repetition nearest the median."""

    op: str
    group: str
    tasks: int
    record: str
    metric: str
    parts: tuple[HostPart, ...]
    """In the order of their first tasks."""
    slowest: Slowest
    ensemble: Gathering | None
    """How the processes met (``docs/record-format.md``); None where one process did it all."""


@dataclass(frozen=True, slots=True)
class DevicePart:
    """What one device held of a point's files."""

    device: str
    server: str | None
    files: int
    """That begin there."""
    bytes: int
    """Of first copies: each byte counts once."""
    all_bytes: int
    """Of all copies."""
    share: float
    """Of ``bytes`` among all devices."""
    tasks: int | None
    """Those whose files were all on it; None where there were none in any repetition."""
    rates: tuple[float, ...]
    """Theirs together in each repetition, bytes per second."""
    median_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Devices:
    """Which devices held the files of a point: of its repetition nearest the median."""

    op: str
    group: str
    tasks: int
    record: str
    """Of the phase that wrote the files."""
    of: str
    """``files`` or ``objects``."""
    examined: int
    total: int | None
    parts: tuple[DevicePart, ...]


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
