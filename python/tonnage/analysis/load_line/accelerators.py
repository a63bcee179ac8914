"""How many accelerators a storage feeds: the largest number whose utilisation is at least an objective.

What a trial tells is its stretch: how much longer its steps took than the accelerators computed, 1 ÷ utilisation. It
does not fall where accelerators are added, so a latency and a stretch have one estimator (``latency_line.crossing``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tonnage.analysis.load_line.largest_number import largest_within
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import CONFIDENCE, median_interval
from tonnage.records import Trials
from tonnage.records.line_types import Json, Manifest, TrialLine
from tonnage.records.phase_results import TrainingResult

_STEPS_LEAST = 2
"""Of which the first counts for nothing."""
_IDLE = 0.1
"""Readers that wait so much of their time, while accelerators wait for batches, could read more if they might."""
_FULL = 0.9
"""Of the most that was read: where that much was, more accelerators get no more."""
_BUSY = 0.9
"""Of the processors: nobody reads more than that."""
_GROWS = 0.5
"""Of what accelerators that were added ask for: where so much more is read, the storage gives more to more readers."""


@dataclass(frozen=True, slots=True)
class FedPoint:
    """All trials with one number of accelerators."""

    accelerators: int
    utilisations: tuple[float, ...]
    """Of each trial."""
    utilisation: float
    """Their median."""
    low: float
    high: float
    confidence: float
    """Of its interval; 0 where there is one trial."""
    samples_per_s: float
    bandwidth_bytes_per_s: float
    starved: float
    """Share of the accelerators' time in which they waited for a batch."""
    uneven: float
    """Share in which they waited for the slowest of them."""
    idle: float
    """Share of the readers' time in which enough had been read."""
    cpu_share: float | None
    """Of the processors' time that the readers used; None where it is not known."""
    device_share: float | None
    """Of the bytes read, those that came from a device, at most 1; None where it is not known."""
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Feeding:
    """The answer of a search for the most accelerators that are fed."""

    utilisation: float
    """That counts as fed."""
    accelerators: int
    """The largest number measured that is estimated to be fed; 0 where one is not."""
    low: int
    """The largest number shown to be fed; 0 where none was."""
    high: int | None
    """No larger number is fed; None where none was shown not to be."""
    most: int
    """The largest number that might be tried."""
    shown: bool
    """Both ends of the interval were shown."""
    confidence: float
    trials: int
    limit: str | None
    """What keeps more from being fed: ``storage``, ``readers``, ``prefetch`` or ``processors``; None: nothing did."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Accelerators of one training, by their number."""

    group: str
    model: str | None
    """The published configuration, ``unet3d-h100``; None: another."""
    demand_bytes_per_s: int
    """What each accelerator reads that computes all the time."""
    readers: int
    """Of each accelerator."""
    scale: float
    """What the campaign multiplied its samples by."""
    points: tuple[FedPoint, ...]
    answer: Feeding | None
    """Where it was searched for."""


def utilisation_of(line: TrialLine) -> float | None:
    """Accelerator utilisation as DLIO has it: of each epoch and accelerator the time that it computed after its first
    step, over the time from there to the end of the last step; the mean of all. Where no second step ended in time,
    what was read over what the accelerators would have taken. None where nothing was measured."""
    fed = line.get("training")
    if not fed:
        return None
    shares = [compute_ns / total_ns for steps, compute_ns, total_ns in fed["windows"] if steps >= _STEPS_LEAST]
    return fmean(shares) if shares else _share_read(line, fed)


def _share_read(line: TrialLine, fed: TrainingResult) -> float | None:
    elapsed_ns, batches = line.get("elapsed_ns"), line["operations"] / fed["batch_samples"]
    return min(batches * fed["compute_ns"] / (fed["accelerators"] * elapsed_ns), 1.0) if elapsed_ns else None


def stretches(lines: Iterable[TrialLine]) -> dict[int, list[float]]:
    """Returns, by accelerators, how much longer each trial took than they computed."""
    found: dict[int, list[float]] = {}
    for line in lines:
        utilisation = utilisation_of(line)
        if utilisation:
            found.setdefault(line["setting"]["accelerators"], []).append(1 / utilisation)
    return found


def trained_of(manifest: Manifest, points: Sequence[Point], trials: Trials) -> tuple[Trained, ...]:
    """Of each training of a run what was measured, and the answer of the search, where the run is one."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.kind == "training":
            groups.setdefault(point.group, []).append(point)
    host = manifest.get("host") or {}
    processors = host.get("cpus_allowed") or host.get("cpu_count")
    simulated = (manifest.get("target") or {}).get("kind") == "sim"
    search, campaign = manifest.get("accelerators"), manifest.get("campaign") or {}
    found = []
    for group, own in groups.items():
        told = (
            _fed_point(point, list(trials.named(point.records)), None if simulated else processors) for point in own
        )
        fed = sorted((one for one in told if one is not None), key=lambda one: one.accelerators)
        setting = own[0].setting
        if fed:
            trained = Trained(
                group=group,
                model=setting.get("model"),
                demand_bytes_per_s=setting["batch"] * setting["sample_size"] * 10**9 // setting["compute_ns"],
                readers=setting["readers"],
                scale=float(campaign.get("scale") or 1.0),
                points=tuple(fed),
                answer=_answer(search, fed) if search else None,
            )
            found.append(trained)
    return tuple(found)


def _answer(search: Json, fed: Sequence[FedPoint]) -> Feeding:
    objective = float(search["utilisation"])
    values = {one.accelerators: [1 / share for share in one.utilisations] for one in fed}
    found = largest_within(values, 1 / objective, int(search["most"]))
    return Feeding(
        utilisation=objective,
        accelerators=found.number,
        low=found.low,
        high=found.high,
        most=int(search["most"]),
        shown=found.shown,
        confidence=CONFIDENCE,
        trials=found.trials,
        limit=None if found.exceeds is None else _limit(fed, found.exceeds),
    )


def _fed_point(point: Point, lines: Sequence[TrialLine], processors: int | None) -> FedPoint | None:
    told = [(line, share) for line in lines if (share := utilisation_of(line))]
    if not told:
        return None
    shares = [share for _, share in told]
    middle, low, high, confidence = median_interval(shares)
    results = [line["training"] for line, _ in told]
    elapsed_ns = sum(line["elapsed_ns"] or 0 for line, _ in told)
    accelerators, readers = results[0]["accelerators"], results[0]["readers"]
    counted_ns = max(sum(window[2] for fed in results for window in fed["windows"]), 1)
    cpu = [ns for line, _ in told for ns in (line["cpu_user_ns"], line["cpu_system_ns"])]
    known = processors is not None and None not in cpu
    return FedPoint(
        accelerators=accelerators,
        utilisations=tuple(shares),
        utilisation=middle,
        low=low,
        high=min(high, 1.0),
        confidence=confidence,
        samples_per_s=sum(line["operations"] for line, _ in told) * 1e9 / max(elapsed_ns, 1),
        bandwidth_bytes_per_s=point.bandwidth_bytes_per_s,
        starved=sum(fed["starved_ns"] for fed in results) / counted_ns,
        uneven=sum(fed["uneven_ns"] for fed in results) / counted_ns,
        idle=sum(fed["idle_ns"] for fed in results) / max(accelerators * readers * elapsed_ns, 1),
        cpu_share=sum(ns or 0 for ns in cpu) / ((processors or 1) * max(elapsed_ns, 1)) if known else None,
        device_share=point.cache_device_share,
        records=point.records,
    )


def _limit(fed: Sequence[FedPoint], exceeds: int) -> str:
    """What keeps the smallest number from being fed that is not."""
    point = next(one for one in fed if one.accelerators == exceeds)
    if point.cpu_share is not None and point.cpu_share >= _BUSY:
        return "processors"
    beyond = [one for one in fed if one.accelerators > exceeds]
    most = max((one.bandwidth_bytes_per_s for one in beyond), default=point.bandwidth_bytes_per_s)
    if point.idle >= _IDLE and point.bandwidth_bytes_per_s < _FULL * most:
        return "prefetch"
    more = beyond[0] if beyond else None
    if more is not None and exceeds == 1:
        grown = more.bandwidth_bytes_per_s / point.bandwidth_bytes_per_s - 1
        if grown >= _GROWS * (more.accelerators / point.accelerators - 1):
            return "readers"
    return "storage"
