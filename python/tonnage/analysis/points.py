"""Groups the trials of a run into points: all repetitions of one phase of one setting; and what a point says besides
its rate, by kind of workload: parts of a mix, readers of a tail, copies of a command.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tonnage.analysis.results import Bounds, Copies, MixPart, Point, TailFigures
from tonnage.analysis.statistics.intervals import TOO_FEW, Noise, median_interval, pooled_noise
from tonnage.analysis.workflow import workflow_of
from tonnage.records import Run, Trials, headline, headlines, loop_rates
from tonnage.records.latency import QUANTILES, least_operations
from tonnage.records.line_types import SettingValues, TrialLine, processors_of, stop_reason_of
from tonnage.records.phase_results import LatencySummary
from tonnage.records.phase_results import OperationResult as PartResult
from tonnage.records.trial_columns import exact_sum
from tonnage.units import BANDWIDTH, OPERATIONS, format_size, format_time

if TYPE_CHECKING:
    from tonnage.records.trial_columns import Numbers


Columns = Mapping[str, "Numbers"]
"""Of each key of a latency summary the values of all repetitions. What one does not know is left out of all."""


def columns_of(latencies: Sequence[LatencySummary]) -> Columns:
    """Returns the columns of latency summaries that stand in no column of their own."""
    lines: list[TrialLine] = [{"latency": latency} for latency in latencies]
    return Trials.of(lines).integers("latency")


def medians(latencies: Columns) -> dict[str, int]:
    """One summary for all repetitions: counts added up, the least and the most, and of all else the median."""
    import numpy as np

    # numpy sorts many times as fast as the median does.
    ways: dict[str, Callable[[Numbers], float]] = {"count": exact_sum, "min_ns": np.min, "max_ns": np.max}
    return {key: int(ways.get(key, _median)(column)) for key, column in latencies.items()}


def intervals_of(latencies: Columns, noise: Mapping[str, Noise] | None = None) -> dict[str, Bounds | None]:
    """Of each percentile the interval of its median; None where there is one repetition, or where trials have too few
    operations to tell it: their percentile is that of chance, and lies below the storage's.

    ``noise``: of each percentile what all points of the curve have in common, where one of them has few repetitions.
    """
    import numpy as np

    found: dict[str, Bounds | None] = {}
    for key in QUANTILES:
        if key in latencies and len(latencies[key]):
            if "count" in latencies and _median(latencies["count"]) < least_operations(key):
                found[key] = None
                continue
            values = np.sort(latencies[key]).tolist()
            _, low, high, confidence = median_interval(values, curve=(noise or {}).get(key))
            found[key] = Bounds(math.floor(low), math.ceil(high), confidence) if confidence else None
    return found


def noise_of(curve: Iterable[Columns]) -> dict[str, Noise]:
    """The noise of each percentile that the points of a curve have in common."""
    points = list(curve)
    return {key: pooled_noise([point[key].tolist() for point in points if key in point]) for key in QUANTILES}


def _median(column: Numbers) -> float:
    import numpy as np

    middle = np.sort(column)[(len(column) - 1) // 2 : len(column) // 2 + 1]
    return float(statistics.median(middle.tolist()))


def parts_of(lines: Trials) -> tuple[MixPart, ...]:
    """Rates and latencies of each kind of operation; empty where a phase does only one."""
    parts: dict[str, list[PartResult]] = defaultdict(list)
    for told in lines.where_set("parts").column("parts"):
        for part in told:
            parts[part["op"]].append(part)
    elapsed_ns = sum(lines.column("elapsed_ns")) if parts else 0
    return tuple(
        MixPart(
            op,
            sum(part["bytes"] for part in found) * 1e9 / elapsed_ns,
            sum(part["operations"] for part in found) * 1e9 / elapsed_ns,
            medians(latencies),
            intervals_of(latencies),
        )
        for op, found in parts.items()
        for latencies in [columns_of([part["latency"] for part in found])]
    )


def tail_figures(lines: Trials) -> TailFigures | None:
    """How readers followed the writer; None where a phase has no readers."""
    found = lines.where_set("follow").column("follow")
    if not found:
        return None
    lags = columns_of([follow["lag"] for follow in found])
    return TailFigures(
        readers=found[0]["readers"],
        bandwidth_bytes_per_s=sum(follow["bytes"] for follow in found) * 1e9 / sum(lines.column("elapsed_ns")),
        lag=medians(lags),
        max_lag_bytes=max(follow["max_lag_bytes"] for follow in found),
        waits=sum(follow["waits"] for follow in found),
        lag_intervals=intervals_of(lags),
    )


def copies_of(run: Run, lines: Trials) -> Copies | None:
    """Processor time and device bytes of all copies; None where a phase runs no command."""
    if lines[0]["setting"].get("kind") != "command":
        return None
    records = set(lines.records)
    found = [copy for copy in run.copies() if copy["record"] in records]
    processors = processors_of(run.manifest)
    user_ns, system_ns = (
        _all(copy.get("cpu_user_ns") for copy in found),
        _all(copy.get("cpu_system_ns") for copy in found),
    )
    cpu_ns = None if user_ns is None or system_ns is None else user_ns + system_ns
    elapsed_ns = sum(lines.column("elapsed_ns"))
    return Copies(
        copies=len(found),
        cpu_ns=cpu_ns,
        cpu_share=cpu_ns / (processors * elapsed_ns) if processors and cpu_ns is not None else None,
        device_read_bytes=_all(copy.get("device_read_bytes") for copy in found),
        device_write_bytes=_all(copy.get("device_write_bytes") for copy in found),
    )


def _all(counts: Iterable[int | None]) -> int | None:
    """The sum over all copies; None where one of them is not known."""
    values = list(counts)
    return sum(value for value in values if value is not None) if values and None not in values else None


NOT_FACTORS = frozenset({"op", "tasks", "time_limit_ns", "kind", "workload", "shift"})
"""Of a setting: what a point names itself, what follows from another factor, and what only says how long to look."""


Curve = tuple[str, str, int | None]


class Key(NamedTuple):
    """What the repetitions of a point have in common."""

    op: str
    group: str
    tasks: int
    transfer_size: int | None

    @property
    def curve(self) -> Curve:
        """What the points of a curve have in common."""
        return self.op, self.group, self.transfer_size


def valid_trials(trials: Sequence[TrialLine]) -> Trials:
    """The trials that give a value: measured, ended well, and did something in some time."""
    return Trials.of(trials).where("purpose", "measure").where("status", "ok").where_positive(headlines)


def points_of(run: Run, trials: Sequence[TrialLine]) -> list[Point]:
    """Returns the points of ``run``, ordered by workload, operation, group and tasks."""
    alike = valid_trials(trials).by("phase", "setting")
    groups = Groups(same[0] for _, same in alike)
    several: dict[Key, list[Trials]] = defaultdict(list)
    phases: dict[str, int] = {}
    for (phase, setting), same in alike:
        phases.setdefault(phase, len(phases))
        several[Key(phase, groups.of(setting), setting["tasks"], setting.get("transfer_size"))].append(same)
    # Those of settings that differ in no factor came one setting after the other.
    together = {key: same.joined(others, "trial") for key, (same, *others) in several.items()}
    workloads = _workloads(run, [same[0] for same in together.values()])

    def position(key: Key) -> tuple[Any, ...]:
        setting = together[key][0]["setting"]
        workload = workloads.index(_workload(setting))
        return workload, phases[key.op], groups.position(setting), key.tasks, key.transfer_size or 0

    rates = _searched_rates if run.manifest.get("search") else headlines
    values = {key: tuple(filter(None, rates(same))) for key, same in together.items()}
    latencies = {key: same.where_set("latency").integers("latency") for key, same in together.items()}
    curves: dict[Curve, list[Key]] = defaultdict(list)
    for key in together:
        curves[key.curve].append(key)
    # What the points of a curve have in common, where one of them needs it.
    few = {curve: keys for curve, keys in curves.items() if min(len(values[key]) for key in keys) < TOO_FEW}
    noise = {curve: pooled_noise(values[key] for key in keys) for curve, keys in few.items()}
    waits = {curve: noise_of(latencies[key] for key in keys) for curve, keys in few.items()}
    return [
        _point(run, key, together[key], values[key], noise.get(key.curve), latencies[key], waits.get(key.curve))
        for key in sorted(together, key=position)
    ]


def _searched_rates(lines: Trials) -> Sequence[float]:
    """A search chooses how long its trials are, and their ends are not what it asks for."""
    return loop_rates(lines, [rate or 0.0 for rate in headlines(lines)])


def _workload(setting: SettingValues) -> str:
    return str(setting.get("workload") or "")


def _workloads(run: Run, lines: Iterable[TrialLine]) -> list[str]:
    """Names of the workloads, in the order of the campaign file as far as it says."""
    tables = (run.manifest.get("campaign") or {}).get("workloads") or ()
    asked = [str(table.get("name") or "") for table in tables]
    return list(dict.fromkeys([*asked, *(_workload(line["setting"]) for line in lines)]))


_ANY = 0
"""Number of tasks: whatever it is."""
_OF_TASKS = frozenset(
    {
        *("block_size", "block_share", "segments", "items", "bytes", "files", "hosts", "host", "tasks_per_node"),
        *("path", "beside", "client", "duration_ns"),
    }
)
"""Of an imported setting: what may follow from the number of tasks. Any other option is a factor between two numbers of
tasks as well: nobody varied it on purpose beside them, and a curve through both would be of neither."""


_ALONE: SettingValues = {"beside": None}


class Groups:
    """The factors that distinguish the points of one operation, besides the number of tasks.

    Where a run has several workloads, a group says the workload's name first. Then come the factors that this workload
    varied on purpose: several values at one phase and number of tasks. What follows from the number of tasks (a block
    size that shrinks so that all files fit) is no factor, nor is what differs between two workloads.
    """

    def __init__(self, lines: Iterable[TrialLine]) -> None:
        seen: dict[tuple[str, str, str, int], list[str]] = defaultdict(list)
        several: Counter[tuple[str, str, int]] = Counter()
        own = set()
        self._workloads: set[str] = set()
        self._factors: dict[str, set[str]] = defaultdict(set)
        for line in lines:
            workload, tasks = _workload(line["setting"]), line["setting"]["tasks"]
            self._workloads.add(workload)
            several.update((workload, line["phase"], at) for at in (tasks, _ANY))
            if "origin" not in line:
                own |= {(workload, line["phase"], at) for at in (tasks, _ANY)}
            # A trial without company says nothing of it, and is not as one with it.
            setting = line["setting"] if "origin" in line else {**_ALONE, **line["setting"]}
            if "origin" not in line and setting["beside"] is not None:
                # What it shared the storage with is part of every answer.
                self._factors[workload].add("beside")
            for key, value in setting.items():
                if key not in NOT_FACTORS:
                    at = tasks if key in _OF_TASKS or "origin" not in line else _ANY
                    seen[workload, key, line["phase"], at].append(repr(value))
        for (workload, key, phase, at), values in seen.items():
            # Another tool's file names only the options that it was given: without one is not as with it.
            without = (workload, phase, at) not in own and len(values) < several[workload, phase, at]
            if len({*values, *(["None"] if without else [])}) > 1:
                self._factors[workload].add(key)
        self._several = len(self._workloads) > 1

    def together_with(self, other: Groups) -> Groups:
        """The factors that distinguish the points of two runs: what either varied, without the name of the only
        workload."""
        found = Groups(())
        found._workloads = self._workloads | other._workloads
        found._several = self._several or other._several
        for workload in found._workloads:
            same = {workload} if found._several else found._workloads
            found._factors[workload] = {key for one in (self, other) for name in same for key in one._factors[name]}
        return found

    @property
    def factors(self) -> frozenset[str]:
        """Names of all that tells any points apart."""
        return frozenset(name for names in self._factors.values() for name in names)

    def of(self, setting: SettingValues) -> str:
        """A printable key; empty where there is only one group."""
        workload = _workload(setting)
        factors = [_text(name, setting[name]) for name in sorted(self._factors[workload]) if name in setting]
        return ", ".join([*([workload] if self._several else []), *factors])

    def position(self, setting: SettingValues) -> tuple[tuple[bool, Any], ...]:
        """Where it stands among the others of its workload: numbers by their size."""
        values = (setting.get(name) for name in sorted(self._factors[_workload(setting)]))
        return tuple((True, value) if isinstance(value, int | float) else (False, str(value)) for value in values)


_RATE, _TIME = "_bytes_per_s", "_ns"


def campaign_name(key: str) -> str:
    """What a campaign file calls a factor: ``think`` for ``think_ns``, ``rate`` for ``rate_bytes_per_s``."""
    return key.removesuffix(_RATE).removesuffix(_TIME)


def _text(key: str, value: object) -> str:
    """``transfer_size 64KiB``, ``think 100ms``, ``rate 300MB/s``, ``direct no``: as a campaign file may have them;
    ``–`` for what is not set, or not known of an imported run."""
    name = campaign_name(key)
    if value is None:
        return f"{name} –"
    if isinstance(value, bool):
        return f"{name} {'yes' if value else 'no'}"
    if isinstance(value, int) and key.endswith("_size"):
        return f"{name} {format_size(value)}"
    if isinstance(value, int) and key.endswith(_RATE):
        return f"{name} {format_size(value)}/s"
    if isinstance(value, int) and key.endswith(_TIME):
        return f"{name} {format_time(value)}"
    return f"{name} {' '.join(map(str, value)) if isinstance(value, list | tuple) else value}"


_OLD_TEXT = re.compile(rf"\b(\w+)(?:{_RATE} (?P<rate>[0-9]+)|(?:{_RATE}|{_TIME}) –)")


def renamed(group: str) -> str:
    """A group of a summary that an older version kept, in present words: it had ``rate_bytes_per_s 300000000`` and
    ``think_ns –``."""

    def present(old: re.Match[str]) -> str:
        return f"{old[1]} {format_size(int(old['rate']))}/s" if old["rate"] else f"{old[1]} –"

    return _OLD_TEXT.sub(present, group)


def _point(
    run: Run,
    key: Key,
    lines: Trials,
    values: tuple[float, ...],
    noise: Noise | None,
    latencies: Columns,
    waits: Mapping[str, Noise] | None,
) -> Point:
    """``noise`` and ``waits``: of the rates, and of each percentile, what the points of the curve have in common."""
    median, low, high, confidence = median_interval(values, curve=noise)
    setting, (_, unit) = lines[0]["setting"], headline(lines[0])
    moved, operations, total_ns = (lines.total(key) or 0 for key in ("bytes", "operations", "elapsed_ns"))
    cpu_ns = cpu_ns_of(lines)
    state, ratio, cached = _cache(lines)
    return Point(
        op=key.op,
        tasks=key.tasks,
        transfer_size=key.transfer_size,
        group=key.group,
        values=values,
        records=lines.names,
        median=median,
        low=low,
        high=high,
        confidence=confidence,
        latency=medians(latencies),
        latency_intervals=intervals_of(latencies, waits),
        operations_per_s=operations * 1e9 / total_ns,
        cpu_ns_per_gib=cpu_ns * 2**30 // moved if moved and cpu_ns is not None else None,
        cache_state=state,
        cache_device_share=None if ratio is None else min(1.0, ratio),
        kind=str(setting.get("kind") or "stream"),
        metric=OPERATIONS if unit == "1/s" else BANDWIDTH,
        workload=_workload(setting),
        setting=setting,
        bandwidth_bytes_per_s=moved * 1e9 / total_ns,
        elapsed_ns=int(statistics.median(lines.ascending("elapsed_ns"))),
        elapsed_each_ns=tuple(lines.column("elapsed_ns")),
        amount=_amount(lines, "operations" if unit == "1/s" else "bytes"),
        parts=parts_of(lines),
        follow=tail_figures(lines),
        copies=copies_of(run, lines),
        workflow=workflow_of(run, lines),
        cache_device_ratio=ratio,
        cached_share=cached,
        stopped=stop_reason_of(run.manifest, lines[0]["trial"]),
    )


def _amount(lines: Trials, what: str) -> int | None:
    amounts = set(lines.column(what))
    return amounts.pop() if len(amounts) == 1 else None


def cpu_ns_of(lines: Trials) -> int | None:
    """Processor time of all these trials; None where that of one is not known."""
    user_ns, system_ns = lines.total("cpu_user_ns"), lines.total("cpu_system_ns")
    return None if user_ns is None or system_ns is None else user_ns + system_ns


def _cache(lines: Trials) -> tuple[str | None, float | None, float | None]:
    """State, bytes of a device for each byte read, and the largest share of the files that was cached before, over all
    repetitions: one that came from the cache makes the point warm."""
    examined = lines.where_set("cache")
    if not examined:
        return None, None, None
    states = examined.seen("cache", "state")
    state = next(state for state in ("warm", "unknown", "cold", *states) if state in states)
    # An older record has no mixes, so that all it moved was read.
    mixed = examined.has_value("cache", "read_bytes")
    moved = (examined.only(mixed).total("cache", "read_bytes") or 0) + (examined.only(~mixed).total("bytes") or 0)
    device_bytes = examined.total("cache", "device_bytes")
    ratio = device_bytes / moved if moved and device_bytes is not None else None
    return state, ratio, _cached(examined)


def _cached(trials: Trials) -> float | None:
    """Largest share of the files that was in the page cache before a read; None where that is not known."""
    before, examined = (trials.floats("cache", key) for key in ("cached_before_bytes", "examined_bytes"))
    known = examined > 0  # not so where either is not known, nor of empty files
    shares = before[known] / examined[known]
    return float(shares.max()) if len(shares) and not math.isnan(shares.max()) else None
