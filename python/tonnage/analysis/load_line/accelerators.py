"""How many accelerators a storage feeds: the largest number whose utilisation is at least an objective.

What a trial tells is its stretch: how much longer its steps took than the accelerators computed, 1 ÷ utilisation. It
does not fall where accelerators are added, so a latency and a stretch have one estimator (``latency_line.crossing``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

from tonnage.analysis.load_line.largest_number import largest_within
from tonnage.analysis.results import Point
from tonnage.analysis.statistics.intervals import CONFIDENCE, median_interval, pooled_noise, student_t
from tonnage.records import Trials, taken
from tonnage.records.line_types import Json, Manifest, TrialLine, is_simulated, processors_of
from tonnage.records.phase_results import TrainingResult

_STEPS_LEAST = 2
"""Of which the first counts for nothing."""
_IDLE = 0.1
"""Readers that wait so much of their time, while accelerators wait for batches, could read more if they might."""
_BUSY = 0.9
"""Of the processors: nobody reads more than that."""
_GROWS = 0.5
"""Growth of what is consumed, over that of the accelerators: from here on the storage gives more to more readers."""
_WAITS = 0.97
"""Accelerators that compute so much of the time at most wait for what is read."""
_EPOCH_STEPS = 500
"""Of the benchmark. A trial is shorter, so that the time in which its queues fill is more of it."""
_HALVED_LEAST = 8
"""Steps of a trial whose second half tells how it would go on."""
_BLOCKS_LEAST = 3
"""Of steps between checkpoints: the first begins with empty queues, and the last may be cut."""
_REPEATED = 2
"""Trials of a number of accelerators that say something of what limits."""
LIMIT_TRIALS = 3
"""Repetitions after which it is not looked any longer for what limits."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoints of all trials with one number of accelerators, which pause meanwhile: no utilisation counts that."""

    count: int
    bytes: int
    """Of one."""
    mean_ns: int
    """From the first writer's beginning to the last one's end; 0 where none was completed."""
    time_share: float
    """Of the time of the trials."""


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
    """What the accelerators took (:func:`tonnage.records.taken`), as the bytes."""
    bandwidth_bytes_per_s: float
    starved: float | None
    """Share of the accelerators' time in which they waited for a batch; this and the next two None where another tool
    measured it."""
    uneven: float | None
    """Share in which they waited for the slowest of them."""
    idle: float | None
    """Share of the readers' time in which enough had been read."""
    cpu_share: float | None
    """Of the processors' time that the readers used; None where it is not known."""
    device_share: float | None
    """Of the bytes read, those that came from a device, at most 1; None where it is not known."""
    checkpoints: Checkpoints | None
    """None where none was to be written."""
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
    """What keeps more from being fed: ``storage``, ``readers``, ``prefetch`` or ``processors``; None: nothing did, or
    the repetitions do not show what."""
    starved: int | None
    """The smallest number measured that is estimated not to be fed; None where all were."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Accelerators of one training, by their number."""

    group: str
    model: str | None
    """The published configuration, ``unet3d-h100``; None: another."""
    demand_bytes_per_s: int | None
    """What each accelerator reads that computes all the time; None: not said."""
    readers: int | None
    """Of each accelerator; None: not said."""
    scale: float
    """What the campaign multiplied its samples by."""
    points: tuple[FedPoint, ...]
    answer: Feeding | None
    """Where it was searched for."""


def utilisation_of(line: TrialLine) -> float | None:
    """Accelerator utilisation as DLIO has it: of each block of steps (an epoch, or what is between two checkpoints) and
    accelerator the time that it computed after its first step, over the time from there to the end of the last step;
    the mean of all, weighted by their steps. The time of checkpoints is in no block. Where no second step ended in
    time, what was read over what the accelerators would have taken. None where nothing was measured. Of another tool
    what it says."""
    if said := line.get("stated_training"):
        return said["utilisation"]
    fed = line.get("training")
    if not fed:
        return None
    share = _computed(fed["windows"])
    return _share_read(line, fed) if share is None else share


def _computed(windows: Iterable[Sequence[int]]) -> float | None:
    """Share of the time in which accelerators computed, over windows weighted by their steps; None where no window has
    a second step."""
    told = [(compute_ns / total_ns, steps) for steps, compute_ns, total_ns in windows if steps >= _STEPS_LEAST]
    if not told:
        return None
    return math.fsum(share * steps for share, steps in told) / sum(steps for _, steps in told)


def epoch_utilisation_of(line: TrialLine) -> float | None:
    """What :func:`utilisation_of` would be in an epoch of 500 steps, as the benchmark has it: after the trial's own
    steps come others that take as long as those of its second half do; with checkpoints, blocks like those of its
    second half. The same where that is not known (records of an older version, fewer than three
    blocks)."""
    found, fed = utilisation_of(line), line.get("training")
    if not found or not fed:
        return found
    if fed.get("checkpoint_bytes"):
        return _with_later_blocks(found, fed)
    ends_ns = fed.get("step_ends_ns") or []
    count = len(ends_ns)
    if not _HALVED_LEAST <= count < _EPOCH_STEPS:
        return found
    half = count // 2
    later = (ends_ns[-1] - ends_ns[half - 1]) / ((count - half) * fed["compute_ns"])
    own, whole = count - 1, _EPOCH_STEPS - 1
    return min(whole / (own / found + (whole - own) * later), 1.0)


def _with_later_blocks(found: float, fed: TrainingResult) -> float:
    """Queues are empty in a trial's first block, and full after each checkpoint: few blocks tell too little."""
    blocks = _blocks_of(fed)
    later = _computed(chain.from_iterable(blocks[len(blocks) // 2 :]))
    own = sum(steps for steps, _, _ in fed["windows"]) / fed["accelerators"]
    if len(blocks) < _BLOCKS_LEAST or later is None or own >= _EPOCH_STEPS:
        return found
    return (own * found + (_EPOCH_STEPS - own) * later) / _EPOCH_STEPS


def _blocks_of(fed: TrainingResult) -> list[list[list[int]]]:
    """Windows of all accelerators, by what is between two checkpoints."""
    windows, each = fed["windows"], fed["accelerators"]
    return [windows[at : at + each] for at in range(0, len(windows), each)]


def _is_long_enough(line: TrialLine) -> bool:
    """Whether the trial tells how an epoch would be: not where it ended before its third block between checkpoints."""
    fed = line.get("training")
    return not fed or not fed.get("checkpoint_bytes") or len(_blocks_of(fed)) >= _BLOCKS_LEAST


def _share_read(line: TrialLine, fed: TrainingResult) -> float | None:
    elapsed_ns, batches = line.get("elapsed_ns"), line["operations"] / fed["batch_samples"]
    return min(batches * fed["compute_ns"] / (fed["accelerators"] * elapsed_ns), 1.0) if elapsed_ns else None


def stretches(lines: Iterable[TrialLine]) -> dict[int, list[float]]:
    """Returns, by accelerators, how much longer an epoch would take than they computed, by each trial."""
    found: dict[int, list[float]] = {}
    for line in lines:
        utilisation = epoch_utilisation_of(line)
        if utilisation:
            found.setdefault(line["setting"]["accelerators"], []).append(1 / utilisation)
    return found


def trained_of(manifest: Manifest, points: Sequence[Point], trials: Trials) -> tuple[Trained, ...]:
    """Of each training of a run what was measured, and the answer of the search, where the run is one."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        if point.kind == "training":
            groups.setdefault(point.group, []).append(point)
    processors = None if is_simulated(manifest) else processors_of(manifest)
    search, campaign = manifest.get("accelerators"), manifest.get("campaign") or {}
    found = []
    for group, own in groups.items():
        told = (
            _fed_point(
                point,
                list(trials.named(point.records)),
                processors,
                epoch_utilisation_of if search else utilisation_of,
            )
            for point in own
        )
        fed = sorted((one for one in told if one is not None), key=lambda one: one.accelerators)
        setting = own[0].setting
        lines = chain.from_iterable(trials.named(point.records) for point in own)
        short = {line["setting"]["accelerators"] for line in lines if not _is_long_enough(line)}
        if fed:
            trained = Trained(
                group=group,
                model=setting.get("model"),
                demand_bytes_per_s=(
                    setting["batch"] * setting["sample_size"] * 10**9 // setting["compute_ns"]
                    if "compute_ns" in setting
                    else None
                ),
                readers=setting.get("readers"),
                scale=float(campaign.get("scale") or 1.0),
                points=tuple(fed),
                answer=_answer(search, fed, short) if search else None,
            )
            found.append(trained)
    return tuple(found)


def _answer(search: Json, fed: Sequence[FedPoint], short: Collection[int]) -> Feeding:
    """``short``: numbers whose trials ended too soon to say that these accelerators are not fed."""
    objective = float(search["utilisation"])
    told = [one for one in fed if one.accelerators not in short] or fed[:1]
    values = {one.accelerators: [1 / share for share in one.utilisations] for one in told}
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
        starved=found.exceeds,
    )


def _fed_point(
    point: Point,
    lines: Sequence[TrialLine],
    processors: int | None,
    utilisation: Callable[[TrialLine], float | None],
) -> FedPoint | None:
    told = [(line, share) for line in lines if (share := utilisation(line))]
    if not told:
        return None
    shares = [share for _, share in told]
    middle, low, high, confidence = median_interval(shares)
    results = [line["training"] for line, _ in told if "training" in line]
    elapsed_ns = sum(line["elapsed_ns"] or 0 for line, _ in told)
    samples, moved, taken_ns = map(sum, zip(*(taken(line) for line, _ in told), strict=True))
    accelerators = told[0][0]["setting"]["accelerators"]
    readers_ns = max(sum(fed["accelerators"] * fed["readers"] for fed in results) * elapsed_ns // max(len(told), 1), 1)
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
        samples_per_s=samples * 1e9 / max(taken_ns, 1),
        bandwidth_bytes_per_s=moved * 1e9 / max(taken_ns, 1),
        starved=sum(fed["starved_ns"] for fed in results) / counted_ns if results else None,
        uneven=sum(fed["uneven_ns"] for fed in results) / counted_ns if results else None,
        idle=sum(fed["idle_ns"] for fed in results) / readers_ns if results else None,
        cpu_share=sum(ns or 0 for ns in cpu) / ((processors or 1) * max(elapsed_ns, 1)) if known else None,
        device_share=point.cache_device_share,
        checkpoints=_checkpoints(line for line, _ in told),
        records=point.records,
    )


def _checkpoints(lines: Iterable[TrialLine]) -> Checkpoints | None:
    size = elapsed_ns = 0
    lasted_ns: list[int] = []
    for line in lines:
        fed = line.get("training")
        windows = fed.get("checkpoints", []) if fed else []
        lasted_ns += [end_ns - begin_ns for begin_ns, end_ns in windows]
        size = max(size, fed.get("checkpoint_bytes", 0) if fed else 0)
        # The last one may end after all has been read.
        start_ns, read_ns = line["first_start_ns"] or 0, line["last_done_ns"] or 0
        elapsed_ns += max([read_ns, *(end_ns for _, end_ns in windows)]) - start_ns
    if not size:
        return None
    mean_ns = sum(lasted_ns) // max(len(lasted_ns), 1)
    return Checkpoints(len(lasted_ns), size, mean_ns, min(sum(lasted_ns) / max(elapsed_ns, 1), 1.0))


def _limit(fed: Sequence[FedPoint], exceeds: int) -> str | None:
    """What keeps the smallest number from being fed that is not; None where repeated trials do not show it."""
    point = next(one for one in fed if one.accelerators == exceeds)
    if len(point.utilisations) < _REPEATED:
        return None
    if point.cpu_share is not None and point.cpu_share >= _BUSY:
        return "processors"
    waiting = [one for one in fed if one.utilisation <= _WAITS or one.accelerators >= exceeds]
    repeated = [one for one in waiting if len(one.utilisations) >= _REPEATED]
    if len(repeated) < _REPEATED:
        return None
    low, high = _growth(repeated)
    if low >= _GROWS:
        # While a checkpoint is written, queues fill: what is consumed beside it is no measure of the readers.
        if point.checkpoints is not None:
            return None
        # Those that are there get more in sum: what each of them may have in reading is too little.
        return "prefetch" if (point.idle or 0.0) >= _IDLE else "readers"
    return "storage" if high < _GROWS else None


def _growth(points: Sequence[FedPoint]) -> tuple[float, float]:
    """Ends of the interval of how what is consumed grows with the accelerators: the slope of its logarithm over that of
    their number. 1: each that is added gets as much as those that are there; 0: it takes what it gets from them."""
    trials = [(math.log(one.accelerators), math.log(share)) for one in points for share in one.utilisations]
    middle = fmean(x for x, _ in trials)
    spread = math.fsum((x - middle) ** 2 for x, _ in trials)
    # What one accelerator consumes falls by as much less than their number grows.
    slope = 1 + math.fsum((x - middle) * y for x, y in trials) / spread
    noise = pooled_noise([one.utilisations for one in points])
    half = student_t(CONFIDENCE, noise.degrees) * math.sqrt(noise.variance / spread)
    return slope - half, slope + half
