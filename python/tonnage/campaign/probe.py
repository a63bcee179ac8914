"""The search for a load line: a schedule that asks ``analysis`` which number of tasks to measure next."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tonnage.analysis.load_line.estimate import SUSTAIN
from tonnage.analysis.load_line.latency_line import OFFERED, latencies
from tonnage.analysis.load_line.search import LatencySearch, RateSearch, Search
from tonnage.analysis.load_line.trial_checks import TURNS
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Trial
from tonnage.campaign.search_bounds import SearchSpace
from tonnage.records import loop_rate
from tonnage.records.line_types import StopReason, TrialLine

Op = Literal["write", "read"]

_TRIALS = 44
"""Short trials of an operation that a budget is cut into: a first look up to 32 tasks takes 10, the rest are
repetitions. Where trials differ by 5 %, 28 claimed the knee of an exponential in 85 % of the cases, 44 in 95 %."""
_LONG, _LONG_SHARE = 3, 0.3
"""Long trials on the plateau that a budget leaves room for, and their share of it."""
_SHORTEST_NS, _LONGEST_NS = 250_000_000, 5_000_000_000
_SHORTEST_BESIDE_NS = 2_000_000_000
"""Beside company, whose own queue first fills: until then many tasks read high, and the load line moves up."""
_RATE_TRIALS = 12
"""Of these, for offered rates: five on each side of the objective show it."""
_FILL_SHARE = 0.15
"""Of a read budget, for laying out files."""
_LARGEST_FILE = 1 << 30
_FEWEST_TRANSFERS = 8
_PILOT_BYTES = 64 << 20
_SUSTAIN_NS = 5_000_000_000
"""The longest of a long trial, where short ones do not ask for more: a tenth of a second's worth of saved-up rate, as
the kernel's throttle allows, is 2 % of it then, and what it did beyond the length of a short one is without."""


@dataclass(frozen=True, slots=True)
class _PointSamples:
    """Holds what a search knows of a point."""

    tasks: int
    values: tuple[int, ...]


class Probe:
    """Writes first, then reads, each with its share of the time; what one leaves over the next one has."""

    short_trials = _TRIALS
    """Of an operation, that its share of the budget is cut into."""
    fewest_transfers = _FEWEST_TRANSFERS
    """Of a task in a file that is read, where the budget has time for no more."""

    def __init__(self, campaign: Campaign, seed: int, space: SearchSpace, *, device: bool) -> None:
        """``device``: the storage has a page cache in front of a device."""
        if campaign.search is None:
            raise ValueError("a campaign without [search] has no probe")
        self._search = campaign.search
        most, objectives = campaign.search.max_tasks, campaign.search.objectives
        self._searches = {op: Search(op, most, seed) for op in campaign.search.op}
        self._latency = {op: LatencySearch(op, most, objectives, seed) for op in campaign.search.op}
        self._rates = {op: RateSearch(op, objectives, seed) for op in campaign.search.op}
        self._base = campaign.workload.first()
        self._space = space
        self._device = device
        self._began: dict[str, int] = {}
        self._file_bytes: int | None = None

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        """The next trial; None when every load line is known well enough or the time is used up."""
        for number, op in enumerate(self._search.op):
            mine = [line for line in lines if line["phase"] == op and line["purpose"] == "measure"]
            ok = [line for line in mine if line["status"] == "ok"]
            if any(line["status"] == "failed" for line in mine):
                continue  # more tasks would meet the same fault; its record says which
            began = self._began.setdefault(op, min(spent_ns, self._deadline(number - 1)))
            left_ns = self._deadline(number) - spent_ns
            numbers = {line["trial"] for line in ok}
            filled_ns = sum(
                line["elapsed_ns"] or 0 for line in lines if line["purpose"] == "fill" and line["trial"] in numbers
            )
            offered = [line for line in lines if line["phase"] == op and line["purpose"] == OFFERED]
            done = len(ok) + len(offered)
            cost_ns = max((spent_ns - began - filled_ns) / done, self.trial_ns) if ok else self.trial_ns
            # A requested operation without any record would be a blank: it gets one trial, however late it is.
            trials_left = max(int(left_ns / max(cost_ns, 1)), 0 if ok else 1)
            points = _points(ok)
            kept = max(_RATE_TRIALS - len(offered), 0) if self._search.open_loop else 0
            tried = [line for line in lines if line["phase"] == op and line["purpose"] == SUSTAIN]
            if ok:
                trials_left -= kept
            most = self._reserve(len(tried)) if ok else 0
            tasks = self._next_tasks(op, ok, points, trials_left - most) if trials_left > most else None
            reserved = 0
            if tasks is None:
                # Whether long trials can be had takes an estimate, which the middle of a round needs for nothing else.
                reserved = self._reserved(op, points, lines, len(tried)) if ok else 0
                tasks = self._next_tasks(op, ok, points, trials_left - reserved)
            if tasks is None and reserved and self._searches[op].on_plateau(points) is None:
                # No plateau yet that a long trial could be on: its time may still show one.
                tasks = self._next_tasks(op, ok, points, trials_left)
            if tasks is not None:
                repetition = sum(1 for line in ok if line["setting"]["tasks"] == tasks)
                return Trial(self._setting(op, tasks, lines), repetition, repetition)
            if kept and left_ns >= self.trial_ns:
                return self._offered(op, points, offered, lines)
            sustained = self._sustained(op, points, lines, left_ns, len(tried)) if reserved else None
            if sustained is not None:
                return sustained
        return None

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        """Of each measured trial: why its number of tasks was not measured again."""
        found: dict[int, StopReason] = {}
        for number, op in enumerate(self._search.op):
            mine = [line for line in lines if line["phase"] == op and line["purpose"] == "measure"]
            ok = [line for line in mine if line["status"] == "ok"]
            later = {line["phase"] for line in lines} & set(self._search.op[number + 1 :])
            if any(line["status"] == "failed" for line in mine):
                found |= dict.fromkeys((line["trial"] for line in mine), "failed")
                continue
            held = any(line["purpose"] == SUSTAIN and line["phase"] == op for line in lines)
            # What cut the run short is not why a search before it ended.
            ended: StopReason = "budget" if later or held else cut
            reasons = self._searches[op].stopped(_points(ok), ended)
            # A rate of less than a byte a second is no point.
            found |= {line["trial"]: reasons.get(line["setting"]["tasks"], ended) for line in ok}
        return found

    def _next_tasks(
        self, op: Op, ok: Sequence[TrialLine], points: Sequence[_PointSamples], trials_left: int
    ) -> int | None:
        """Tasks of the next trial: every second one is for the latency line, as long as it is not known."""
        asks = self._search.objectives and not self._search.open_loop and trials_left > 0
        waits = _waits(ok, "tasks") if asks else {}
        measured = {percentile: latencies(waits, percentile) for percentile in self._search.objectives}
        if asks and len(ok) % 2:
            tasks = self._latency[op].next(measured)
            if tasks is not None:
                return tasks
        tasks = self._searches[op].next(points, trials_left)
        return self._latency[op].next(measured) if tasks is None and asks else tasks

    def _offered(
        self,
        op: Op,
        points: Sequence[_PointSamples],
        offered: Sequence[TrialLine],
        lines: Sequence[TrialLine],
    ) -> Trial:
        """A trial whose tasks start their operations at a rate, whatever the storage does; of as many tasks each."""
        tasks = self._searches[op].on_plateau(points) or self._search.max_tasks
        if offered:
            tasks = offered[0]["setting"]["tasks"]
        plateau = max(statistics.median(point.values) for point in points if point.tasks <= tasks)
        waits = _waits((line for line in offered if line["status"] == "ok"), "rate_bytes_per_s")
        measured = {percentile: latencies(waits, percentile) for percentile in self._search.objectives}
        rate = self._rates[op].next(measured, plateau)
        repetition = sum(1 for line in offered if line["setting"]["rate_bytes_per_s"] == rate)
        setting = replace(self._setting(op, tasks, lines), rate_bytes_per_s=rate)
        return Trial(setting, repetition, repetition, OFFERED)

    def _reserved(self, op: Op, points: Sequence[_PointSamples], lines: Sequence[TrialLine], tried: int) -> int:
        """Short trials whose time is left to the long ones."""
        buffered = self._device and _buffered(lines)
        numbers = self._searches[op].highest(points)
        may_be = max((self._longest_ns(op, tasks, lines) for tasks in numbers), default=self._long_ns)
        too_short = buffered or may_be < 2 * self.trial_ns
        return 0 if too_short else self._reserve(tried)

    def _reserve(self, tried: int) -> int:
        """Short trials whose time all long ones that are left take."""
        return math.ceil(max(_LONG - tried, 0) * self._long_ns / self.trial_ns)

    def _longest_ns(self, op: Op, tasks: int, lines: Sequence[TrialLine]) -> int:
        """The longest that a long trial with ``tasks`` may be. Bytes that are written or read again are other work:
        where no short trial came to the end of its block, no long one does."""
        most_ns = max(_SUSTAIN_NS, self._long_ns)
        mine = [line for line in lines if line["phase"] == op and line["purpose"] == "measure"]
        short = [line for line in mine if line["setting"]["tasks"] == tasks and line["bandwidth_bytes_per_s"]]
        if not short or any(line["wrapped"] for line in short):
            return most_ns
        block_bytes = int(short[0]["setting"]["block_size"]) * int(short[0]["setting"]["tasks"])
        return min(most_ns, block_bytes * 10**9 // max(int(line["bandwidth_bytes_per_s"] or 0) for line in short))

    def _sustained(
        self, op: Op, points: Sequence[_PointSamples], lines: Sequence[TrialLine], left_ns: int, tried: int
    ) -> Trial | None:
        """One of the long trials on the plateau, which share what the search left of the time.

        Storage that saves up rate while it idles (throttles, credits, burst buffers) makes every short trial read high,
        by about the same: the knee is a ratio and stays, the plateau is not.
        """
        earlier = [line["setting"]["tasks"] for line in lines if line["phase"] == op and line["purpose"] == SUSTAIN]
        numbers = earlier[:1] or self._searches[op].highest(points)
        if not numbers:
            return None
        longest_ns = {tasks: self._longest_ns(op, tasks, lines) for tasks in numbers}
        # Few tasks may have too little to read or write for a long trial; the more of it, the better.
        tasks = next((n for n in numbers if longest_ns[n] >= self._long_ns), max(numbers, key=longest_ns.__getitem__))
        length_ns = min(left_ns // (_LONG - tried) - self.trial_ns // 2, longest_ns[tasks])
        if length_ns < 2 * self.trial_ns:
            return None
        return Trial(replace(self._setting(op, tasks, lines), time_limit_ns=length_ns), tried, tried, SUSTAIN)

    @property
    def trial_ns(self) -> int:
        """Length of a short trial on the run's clock."""
        shortest_ns = _SHORTEST_NS if self._base.beside is None else _SHORTEST_BESIDE_NS
        return min(max(int((1 - _LONG_SHARE) * self._share_ns / self.short_trials), shortest_ns), _LONGEST_NS)

    @property
    def _long_ns(self) -> int:
        """Length of a long trial."""
        return int(_LONG_SHARE * self._share_ns / _LONG)

    @property
    def _share_ns(self) -> int:
        """Of the budget, for one operation."""
        return self._search.budget_ns // len(self._search.op)

    def _length_ns(self, op: Op, tasks: int, lines: Sequence[TrialLine]) -> int:
        """Of a short trial with ``tasks``. On storage that is slow against what they have in flight it is longer, so
        that each of them has a few turns."""
        earlier = (
            line["setting"]["time_limit_ns"]
            for line in lines
            if line["phase"] == op and line["purpose"] == "measure" and line["setting"]["tasks"] == tasks
        )
        same = next(earlier, None)
        if same is not None:
            # Repetitions are of one setting.
            return int(same)
        return self._turns_ns(tasks, self._base.transfer_size, lines)

    def _turns_ns(self, tasks: int, transfer_size: int, lines: Sequence[TrialLine]) -> int:
        """As long as a short trial, and so long that each task has a few turns where the storage is slow."""
        fastest = max((line["bandwidth_bytes_per_s"] or 0 for line in lines), default=0)
        in_flight = tasks * self._base.queue_depth * transfer_size
        turns_ns = TURNS * in_flight * 10**9 // fastest if fastest else 0
        return max(self.trial_ns, min(turns_ns, self._long_ns))

    def _deadline(self, number: int) -> int:
        return self._search.budget_ns * (number + 1) // len(self._search.op)

    def _setting(self, op: Op, tasks: int, lines: Sequence[TrialLine]) -> StreamSetting:
        size = self._write_block(tasks, lines) if op == "write" else self._read_block(lines)
        # Through the page cache, a second pass would measure memory (reads) or hide what fsync costs (writes).
        wrap = not (self._device and _buffered(lines)) and not (op == "write" and self._space.frees_late)
        return replace(
            self._base,
            op=op,
            tasks=tasks,
            block_size=size,
            segments=1,
            time_limit_ns=self._length_ns(op, tasks, lines),
            wrap=wrap,
        )

    def _write_block(self, tasks: int, lines: Sequence[TrialLine]) -> int:
        room = self._space.of_task(tasks)
        earlier = [
            line["setting"]["block_size"]
            for line in lines
            if line["purpose"] == "measure" and line["phase"] == "write" and line["setting"]["tasks"] == tasks
        ]
        if earlier:
            # Repetitions are of one setting.
            return int(earlier[0])
        if self._device and _buffered(lines):
            # What the cache took must reach the device inside the clock: no more than fits in one and a half trials.
            room = min(room, _fastest_write(lines) * self.trial_ns * 3 // (2 * 10**9) // tasks)
        return self._whole(room)

    def _read_block(self, lines: Sequence[TrialLine]) -> int:
        """One size for all, settled once, so that the files of all tasks can be laid out at once."""
        if self._file_bytes is None:
            earlier = [line["setting"]["block_size"] for line in lines if line["phase"] == "read"]
            fill_ns = _FILL_SHARE * self._search.budget_ns / len(self._search.op)
            by_time = int(_fastest_write(lines) * fill_ns / 10**9) // self._search.max_tasks
            wanted = min(max(by_time, self.fewest_transfers * self._base.transfer_size), _LARGEST_FILE)
            self._file_bytes = (
                earlier[0] if earlier else self._whole(min(wanted, self._space.of_task(self._search.max_tasks)))
            )
        return self._file_bytes

    def _whole(self, size: int) -> int:
        transfer_size = self._base.transfer_size
        return max(size // transfer_size, 1) * transfer_size

    def pilot(self) -> StreamSetting:
        """A short write that says how fast, and whether past the cache: wanted before the first trial."""
        size = self._whole(min(_PILOT_BYTES, self._space.of_task(1)))
        return replace(
            self._base,
            op="write",
            tasks=1,
            block_size=size,
            segments=1,
            access="sequential",
            sync="fsync",
            time_limit_ns=_SHORTEST_NS,
            wrap=False,
            verify=False,
        )


def _points(lines: Sequence[TrialLine]) -> list[_PointSamples]:
    values: dict[int, list[int]] = {}
    for line in lines:
        rate = loop_rate(line)
        if rate:
            values.setdefault(line["setting"]["tasks"], []).append(int(rate))
    return [_PointSamples(tasks, tuple(rates)) for tasks, rates in sorted(values.items())]


def _waits(lines: Iterable[TrialLine], load: str) -> dict[int, list[Any]]:
    """Latency summaries by a factor of their settings."""
    found: dict[int, list[Any]] = {}
    for line in lines:
        if line["latency"]:
            found.setdefault(line["setting"][load], []).append(line["latency"])
    return found


def _buffered(lines: Sequence[TrialLine]) -> bool:
    """Returns whether operations went through the page cache so far."""
    return any(line["direct"] is False for line in lines)


def _fastest_write(lines: Sequence[TrialLine]) -> int:
    """Bytes per second that writes reach: the median of those at least half as fast as the fastest; 0 without any."""
    rates = [line["bandwidth_bytes_per_s"] or 0 for line in lines if line["phase"] == "write"]
    return int(statistics.median(rate for rate in rates if 2 * rate >= max(rates))) if rates else 0
