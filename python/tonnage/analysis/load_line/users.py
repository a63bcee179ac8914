"""How many users an inference server's key–value cache serves: the largest number of which 95 of 100 turns end in time.

A trial tells the 95th percentile of its turns, from their intended starts. A turn that nobody began, for the trial was
over, counts with the time for which it had waited, which is longer than the objective.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from tonnage.analysis.load_line.largest_number import largest_within
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import CONFIDENCE, median_interval
from tonnage.records import Trials
from tonnage.records.line_types import Json, Manifest, TrialLine, is_simulated, processors_of

_BUSY = 0.9
"""Of the processors: nobody moves more than that."""
_MORE, _SAME = 1.5, 1.1
"""Where so many times as many users move no more than so many times as much, the storage gives no more."""


_BEYOND = 0.05
"""Of the turns that were done in a second: their number in a trial, and when the last one ends, are known so well."""


@dataclass(frozen=True, slots=True)
class UserPoint:
    """All trials with one number of users."""

    users: int
    p95_each_ns: tuple[int, ...]
    """Of each trial."""
    p95_ns: float
    """Their median."""
    low_ns: float
    high_ns: float
    confidence: float
    """Of its interval; 0 where there is one trial."""
    turns_per_s: float
    bandwidth_bytes_per_s: float
    """Read and written."""
    found: float | None
    """Of the turns of conversations that had begun, the share of which the cache still held it."""
    unserved: float
    """Share of the turns that nobody began before the trial was over."""
    cpu_share: float | None
    """Of the processors' time that the users used; None where it is not known."""
    device_share: float | None
    """Of the bytes read, those that came from a device, at most 1; None where it is not known."""
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Serving:
    """The answer of a search for the most users that are served."""

    p95_ns: int
    """The objective."""
    users: int
    """The largest number measured that is estimated to be served; 0 where one is not."""
    low: int
    """The largest number shown to be served; 0 where none was."""
    high: int | None
    """No larger number is served; None where none was shown not to be."""
    most: int
    """The largest number that might be tried."""
    shown: bool
    """Both ends of the interval were shown."""
    confidence: float
    trials: int
    limit: str | None
    """What keeps more from being served, where that was shown: ``storage`` or ``processors``."""


@dataclass(frozen=True, slots=True)
class Served:
    """Users of one key–value cache, by their number."""

    group: str
    model: str | None
    """The published one, ``llama3.1-8b``; None: another."""
    scale: float
    """What the campaign multiplied the bytes of a token by."""
    token_bytes: int
    conversation_bytes: int
    """At its end."""
    think_ns: int
    points: tuple[UserPoint, ...]
    answer: Serving | None
    """Where it was searched for."""


def times_of(lines: Iterable[TrialLine], objective_ns: float) -> dict[int, list[float]]:
    """Returns, by users, the 95th percentile of each trial's turns.

    Users who ask for more turns a second than were ever done are not served, however long the objective: what waits
    grows for as long as they ask, and a trial that ends before it is long keeps no objective either.
    """
    times: dict[int, list[float]] = {}
    done: dict[int, list[tuple[int, int]]] = {}
    asked: dict[int, float] = {}
    for line in lines:
        served = line.get("kv_cache")
        if served and served["p95_ns"] and line["elapsed_ns"]:
            users = served["users"]
            times.setdefault(users, []).append(served["p95_ns"])
            done.setdefault(users, []).append((line["operations"], line["elapsed_ns"]))
            asked[users] = users / max(line["setting"]["think_ns"], 1)
    rates = [sum(turns for turns, _ in trials) / sum(ns for _, ns in trials) for trials in done.values()]
    most = (1 + _BEYOND) * max(rates, default=0.0)
    return {
        users: [max(value, 2 * objective_ns) for value in trials] if asked[users] > most else trials
        for users, trials in times.items()
    }


def served_of(manifest: Manifest, points: Sequence[Point], trials: Trials) -> tuple[Served, ...]:
    """Of each key–value cache of a run what was measured, and the answer of the search, where the run is one."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.kind == "kv-cache":
            groups.setdefault(point.group, []).append(point)
    processors = None if is_simulated(manifest) else processors_of(manifest)
    search, campaign = manifest.get("users"), manifest.get("campaign") or {}
    found = []
    for group, own in groups.items():
        lines = {point.records: list(trials.named(point.records)) for point in own}
        told = (_user_point(point, lines[point.records], processors) for point in own)
        served = sorted((one for one in told if one is not None), key=lambda one: one.users)
        if served:
            setting = own[0].setting
            turn_bytes = -(-setting["turn_tokens"] * setting["token_size"] // 4096) * 4096
            found.append(
                Served(
                    group=group,
                    model=setting.get("model"),
                    scale=float(campaign.get("scale") or 1.0),
                    token_bytes=setting["token_size"],
                    conversation_bytes=setting["context"] // setting["turn_tokens"] * turn_bytes,
                    think_ns=setting["think_ns"],
                    points=tuple(served),
                    answer=_answer(search, served, chain.from_iterable(lines.values())) if search else None,
                )
            )
    return tuple(found)


def _answer(search: Json, served: Sequence[UserPoint], lines: Iterable[TrialLine]) -> Serving:
    objective_ns, most = int(search["p95_ns"]), int(search["most"])
    found = largest_within(times_of(lines, objective_ns), objective_ns, most)
    return Serving(
        p95_ns=objective_ns,
        users=found.number,
        low=found.low,
        high=found.high,
        most=most,
        shown=found.shown,
        confidence=CONFIDENCE,
        trials=found.trials,
        limit=None if found.exceeds is None else _limit(served, found.exceeds),
    )


def _user_point(point: Point, lines: Sequence[TrialLine], processors: int | None) -> UserPoint | None:
    lines = [line for line in lines if line.get("kv_cache")]
    results = [line["kv_cache"] for line in lines]
    times = [result["p95_ns"] for result in results if result["p95_ns"]]
    if not times:
        return None
    middle, low, high, confidence = median_interval(times)
    elapsed_ns = max(sum(line["elapsed_ns"] or 0 for line in lines), 1)
    turns = max(sum(result["turns"] for result in results), 1)
    returning = sum(result["returning"] for result in results)
    cpu = [ns for line in lines for ns in (line["cpu_user_ns"], line["cpu_system_ns"])]
    return UserPoint(
        users=results[0]["users"],
        p95_each_ns=tuple(times),
        p95_ns=middle,
        low_ns=low,
        high_ns=high,
        confidence=confidence,
        turns_per_s=sum(line["operations"] for line in lines) * 1e9 / elapsed_ns,
        bandwidth_bytes_per_s=point.bandwidth_bytes_per_s,
        found=sum(result["found"] for result in results) / returning if returning else None,
        unserved=sum(result["unserved"] for result in results) / turns,
        cpu_share=sum(ns or 0 for ns in cpu) / (processors * elapsed_ns) if processors and None not in cpu else None,
        device_share=point.cache_device_share,
        records=point.records,
    )


def _limit(served: Sequence[UserPoint], exceeds: int) -> str | None:
    """What keeps the smallest number from being served that is not, where the trials show it."""
    point = next(one for one in served if one.users == exceeds)
    if point.cpu_share is not None and point.cpu_share >= _BUSY:
        return "processors"
    beyond = [one.bandwidth_bytes_per_s for one in served if one.users >= _MORE * exceeds]
    return "storage" if beyond and max(beyond) <= _SAME * point.bandwidth_bytes_per_s else None
