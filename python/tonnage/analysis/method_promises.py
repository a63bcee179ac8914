"""The twelve promises of the Method page, each ticked from what the records hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, asked_rate, subject
from tonnage.analysis.findings.untrue_figures import ABOVE_CEILING
from tonnage.analysis.hosts import Count
from tonnage.analysis.links import ceilings_of
from tonnage.analysis.load_line.latency_line import latency_lines, plateau_of
from tonnage.analysis.load_line.trial_checks import RULE
from tonnage.analysis.results import Finding, LatencyLine, LoadLine, Point, Promise
from tonnage.analysis.transfer_sizes import ceilings_at
from tonnage.records import Trials
from tonnage.records.latency import summarise
from tonnage.records.line_types import Json, TrialLine
from tonnage.records.lines import rate
from tonnage.units import BANDWIDTH, plural, size_text, time_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_WRITE = ("write", "mixed", "tail", "create", "open-write-close", "checkpoint")
_READ = ("read", "restart", "train")
"""Phases that write, and that read."""

Verdict = tuple[bool | None, str]
Check = Callable[[Evidence, Sequence[Finding]], Verdict]


def promises_of(evidence: Evidence, findings: Sequence[Finding]) -> tuple[Promise, ...]:
    """All twelve, in their order. ``kept`` is None where a promise does not apply to the run."""
    imported = evidence.run.manifest.get("imported")
    return tuple(
        Promise(number, title, *(_imported(imported) if imported and check in _OURS else check(evidence, findings)))
        for number, (title, check) in enumerate(_PROMISES, 1)
    )


def _imported(imported: Json) -> Verdict:
    tools = [" ".join(filter(None, (one.get("tool"), one.get("version")))) for one in imported.get("tools") or ()]
    return None, f"{some(list(dict.fromkeys(tools)))} measured this; its files do not say"


def _barrier(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    ended = evidence.trials.where("status", "ok")
    first, last, *rest = (ended.floats(key) for key in _SPAN)
    surely = _surely_one_span(first, last, *rest)
    late = int((last - first)[surely].max(initial=0))
    wrong = []
    for record, *figures in ended.only(~surely).columns("record", *_SPAN):
        if _one_span(*figures):
            late = max(late, figures[1] - figures[0])
        else:
            wrong.append(record)
    if wrong:
        return False, f"start, end and rate do not agree in {some(wrong)}"
    span = "rate is all bytes or operations over first start to last end"
    return bool(ended), f"{plural(len(ended), 'phase')}: {span}; starts at most {time_text(late)} apart"


_SPAN = (
    "first_start_ns", "last_start_ns", "first_done_ns", "last_done_ns", "elapsed_ns", "bandwidth_bytes_per_s",
    "operations_per_s", "bytes", "operations",
)  # fmt: skip


def _surely_one_span(
    first: Floats,
    last: Floats,
    done: Floats,
    end: Floats,
    elapsed_ns: Floats,
    bytes_per_s: Floats,
    operations_per_s: Floats,
    moved: Floats,
    operations: Floats,
) -> NDArray[np.bool_]:
    """Where :func:`_one_span` holds whatever was rounded: nearly everywhere, and soon seen of whole columns."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        span = end - first
        surely: NDArray[np.bool_] = (first <= last) & (done <= end) & (elapsed_ns == span)
        for told, amount in ((bytes_per_s, moved), (operations_per_s, operations)):
            exact = amount * 1e9 / span
            below = exact - told  # what rounding down took
            surely &= (below > exact * _ROUNDED) & (below < 1 - exact * _ROUNDED)
    return surely


_ROUNDED = 1e-14
"""More than the two operations round off."""


def _one_span(
    first: int | None,
    last: int | None,
    done: int | None,
    end: int | None,
    elapsed_ns: int | None,
    bytes_per_s: int | None,
    operations_per_s: int | None,
    moved: int,
    operations: int,
) -> bool:
    """Values of the keys of ``_SPAN``."""
    if first is None or last is None or done is None or end is None:
        return False
    span = end - first
    return (
        first <= last
        and done <= end
        and elapsed_ns == span
        and bytes_per_s == rate(moved, span)
        and operations_per_s == rate(operations, span)
    )


def _durability(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    writes = evidence.trials.where("purpose", "measure").where("phase", *_WRITE)
    reads = evidence.trials.where("status", "ok").where("phase", *_READ)
    silent = writes.where_unset("durability").records + reads.where_unset("cache", "state").records
    if silent:
        return False, f"nothing is said about {some(silent)}"
    unknown = _unknown(reads) if evidence.target.get("kind") not in _OWN_CLIENTS else ()
    kinds, states = sorted(writes.seen("durability")), sorted(reads.seen("cache", "state"))
    said = [f"writes: {', '.join(kinds)}"] if kinds else []
    said += [f"reads: cache {', '.join(states)}"] if states else []
    if unknown:
        return False, f"{'; '.join(said)}; nothing counts truly where {some(unknown)} read from"
    return (True, "; ".join(said)) if said else (None, "nothing was written or read by Tonnage itself")


def _unknown(reads: Trials) -> list[str]:
    states = zip(reads.records, reads.column("cache", "state"), strict=True)
    return [record for record, state in states if state == "unknown"]


_OWN_CLIENTS = ("nfs", "rados", "s3")
"""Targets with a client inside this process: no cache of this host is in between, and none is measured."""


def _ceilings(evidence: Evidence, findings: Sequence[Finding]) -> Verdict:
    if evidence.simulated:
        return None, "a simulated storage has no ceiling on this host"
    ceilings = (*(evidence.run.manifest.get("ceilings") or ()), *ceilings_of(evidence.links))
    names = [ceiling["name"] for ceiling in ceilings]
    if not names and evidence.points and all(point.kind == "network" for point in evidence.points):
        return None, "only a loopback was measured"
    if not names:
        return False, "no ceiling was measured in this run"
    flagged = {found.subject for found in findings if found.code == "above-ceiling"}
    silent = sorted(_above(evidence) - flagged)
    if silent:
        return False, f"nothing flags {some(silent)}, above a ceiling of this run"
    sizes = dict.fromkeys(point.transfer_size for point in evidence.points if point.metric == BANDWIDTH)
    unlike = [size for size in sizes if size and any(one.other_transfer_size for one in ceilings_at(ceilings, size))]
    nearest = f"; transfers of {some(list(map(size_text, unlike)))} with those of the nearest size" if unlike else ""
    return (
        True,
        f"compared with {some(sorted(set(names)))}{nearest}; {plural(len(flagged), 'curve')} above, each flagged",
    )


def _above(evidence: Evidence) -> set[str]:
    """What the highest point of a curve that is above a measured ceiling is called."""
    found, ceilings = set(), evidence.run.manifest.get("ceilings") or ()
    for op, group, points in evidence.curves():
        fast = [point for point in points if point.metric == BANDWIDTH]
        above = [
            point
            for point in fast
            for one in ceilings_at(ceilings, point.transfer_size)
            if point.median > ABOVE_CEILING * one.bytes_per_s
        ]
        if above:
            found.add(subject(op, group, max(above, key=lambda point: point.median).tasks))
    return found


def _complete(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    state = evidence.run.manifest.get("state")
    bad = evidence.trials.where_not("status", "ok").records
    if state == "running":
        return None, "the run has not ended"
    missing = [] if evidence.run.manifest.get("imported") else _missing(evidence)
    if state == "complete" and missing:
        return False, f"the run says it is complete, and there is no record of {some(missing)}"
    if state == "complete" and not bad:
        return True, f"all {plural(len(evidence.trials), 'phase')} have a record that ended well"
    named = f"; not ok: {some(bad)}" if bad else ""
    return state in ("interrupted", "failed", "incomplete"), f"the run says it is {state}{named}"


def _missing(evidence: Evidence) -> list[str]:
    """Trials whose number was given to none, and operations that were asked for and that no trial did."""
    numbers = set(evidence.trials.seen("trial"))
    found = [f"trial {number}" for number in range(max(numbers, default=-1) + 1) if number not in numbers]
    search = evidence.run.manifest.get("search")
    done = evidence.trials.where("purpose", "measure").seen("phase")
    return found + [op for op in (search or {}).get("op", ()) if op not in done]


def _integers(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    found = evidence.trials.not_integers(lambda key: key.endswith(("_ns", "bytes", "_per_s")))
    wrong = [f"{line['record']}.{key}" for line, key in found]
    return (
        not wrong,
        f"not an integer: {some(wrong)}" if wrong else "every count and time in trials.jsonl is an integer",
    )


def _repeats(evidence: Evidence, findings: Sequence[Finding]) -> Verdict:
    if not evidence.points:
        return None, "nothing was measured"
    seed, campaign = evidence.run.manifest.get("seed"), evidence.run.manifest.get("campaign") or {}
    if seed is None:
        return False, "no seed is recorded"
    if campaign.get("order") == "given":
        return False, "trials ran in the order of the file, again and again"
    if evidence.is_surface:
        return (
            None,
            f"a surface pools the trials of all its cells, each of which was chosen by what it tells; seed {seed}",
        )
    single = [found.subject for found in findings if found.code == "single-repetition"]
    if single or any(point.repetitions < 2 for point in evidence.points):
        return False, f"not every point was repeated ({some(single)}); seed {seed}"
    least = min(point.repetitions for point in evidence.points)
    wide = [] if evidence.run.manifest.get("search") else _stopped_early(evidence, campaign)
    if wide:
        return False, f"less often than asked for: {some(wide)}; seed {seed}"
    return True, f"every point has at least {least} repetitions, in an order drawn from seed {seed}"


def _stopped_early(evidence: Evidence, campaign: Json) -> list[str]:
    """Points that have neither the repetitions nor the interval that a campaign asks for, and time was left."""
    rule, budget_ns = campaign.get("repeat") or {}, (campaign.get("budget") or {}).get("time_ns")
    asked, share, most = rule.get("count"), rule.get("interval"), rule.get("at_most") or 0
    if budget_ns is not None and _spent_ns(evidence) >= budget_ns:
        return []

    def is_early(point: Point) -> bool:
        if share is None:
            return asked is not None and point.repetitions < asked
        return point.repetitions < most and point.high - point.low > share * point.median

    return [subject(point.op, point.group, point.tasks) for point in evidence.points if is_early(point)]


def _spent_ns(evidence: Evidence) -> int:
    """On the run's clock, from the first trial's start to the last one's end, and as much as one more would take."""
    starts, ends, lengths = (evidence.trials.floats(key) for key in ("first_start_ns", "last_done_ns", "elapsed_ns"))
    import numpy as np

    return int(np.nanmax(ends) - np.nanmin(starts) + np.nanmax(lengths)) if len(ends) else 0


def _series(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    series, histograms = evidence.run.kept("series"), evidence.run.kept("latency")
    ended = evidence.trials.where("status", "ok")
    # iperf3 times no operations.
    untimed = set(ended.where("phase", "network").records)
    missing = [
        record
        for record in ended.records
        if record not in series or (record not in histograms and record not in untimed)
    ]
    if missing:
        return False, f"no series or histogram of {some(missing)}"
    stalls = sum(event["kind"] == "stall" for event in evidence.events)
    steady = f"steady window by {RULE} in {len(evidence.steady)} of them"
    return True, f"kept for {plural(len(evidence.trials), 'phase')}; {steady}; {plural(stalls, 'stall')} counted"


def _open_loop(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    paced = 0
    wrong = []
    for (setting,), same in evidence.trials.by("setting"):
        asked = asked_rate(setting)
        if asked is None:
            continue
        paced += len(same)
        wrong += [line["record"] for line in same.where("status", "ok") if not _waited(evidence, line, *asked)]
    turns = evidence.trials.where_set("kv_cache").where("status", "ok")
    wrong += [line["record"] for line in turns if not _holds_its_calls(line)]
    if not paced and not turns:
        return None, "no trial was rate-limited"
    if wrong:
        return False, f"what {some(wrong)} did was later than any latency says"
    what, phases = (
        ("of a given rate: the latency of each operation", paced) if paced else ("of turns: each", len(turns))
    )
    return True, f"{plural(phases, 'phase')} {what} counts from when it was due"


def _holds_its_calls(line: TrialLine) -> bool:
    """Whether turns took as long, from their intended starts, as what they read and wrote."""
    turns, latency = line.get("kv_cache"), line.get("latency")
    if not turns or not latency:
        return True
    return latency["count"] * latency["mean_ns"] >= _OF_BUCKETS * (turns["read_ns"] + turns["write_ns"])


def _waited(evidence: Evidence, line: TrialLine, rate_per_s: int, what: Count) -> bool:
    """Whether the longest latency holds the time by which the operations of a task were behind their plan."""
    latency = line.get("latency")
    longest_ns = (latency.get("max_ns") if latency else None) or 0
    tasks = [task for task in evidence.tasks.get(line["record"], ()) if task.get("role") != "follow"]
    for task in tasks:
        planned_ns = (task.get(what) or 0) * len(tasks) * 1e9 / rate_per_s
        behind_ns = (task.get("transfer_ns") or 0) - planned_ns
        if behind_ns > _BEHIND_NS and longest_ns < behind_ns / 2:
            return False
    return True


_OF_BUCKETS = 0.99
"""A mean of a histogram is that of its buckets."""
_BEHIND_NS = 100_000_000
"""A task that is behind by less may just have begun late."""


def _load_line(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    if not evidence.load_lines:
        return None, "no curve over tasks was measured"
    said = [
        f"{subject(line.op, line.group)}: {line.tasks} [{line.tasks_low}, {line.tasks_high}]"
        if line.reached
        else f"{subject(line.op, line.group)}: not reached within {line.max_tasks_tried}"
        for line in evidence.load_lines
    ]
    open_lines = [line for line in evidence.load_lines if line.reached and not _is_bracketed(evidence, line)]
    if open_lines:
        named = [f"{subject(line.op, line.group)}: {line.tasks}" for line in open_lines]
        return False, f"{'; '.join(said)}; without an interval, a point below or two beyond: {some(named)}"
    return True, "; ".join(said)


def _is_bracketed(evidence: Evidence, line: LoadLine) -> bool:
    """Whether numbers of tasks below the line and two beyond it were measured, and both answers have an interval."""
    tried = {point.tasks for point in evidence.points if (point.op, point.group) == (line.op, line.group)}
    known = (line.tasks, line.tasks_low, line.tasks_high, line.plateau_low, line.plateau_high)
    if line.tasks is None or None in known or not line.confidence:
        return False
    below, beyond = [n for n in tried if n < line.tasks], [n for n in tried if n > line.tasks]
    return bool(below or line.tasks == 1) and len(beyond) >= 2


def _own_cost(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    if evidence.simulated:
        return None, "a simulated storage has no generator"
    if evidence.points and all(point.kind in ("command", "network") for point in evidence.points):
        return None, "a command, or iperf3, drives its own load"
    cost = evidence.run.manifest.get("cost") or {}
    if not cost.get("ns_per_operation"):
        return False, "the generator's own cost was not measured in this run"
    return True, f"{cost['ns_per_operation']} ns an operation on the null storage"


def _repeatable(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    wanted = ("tonnage_version", "command_line", "campaign", "seed", "target", "host")
    missing = [key for key in wanted if evidence.run.manifest.get(key) is None]
    if missing:
        return False, f"the manifest lacks {', '.join(missing)}"
    return True, f"the manifest holds {', '.join(wanted)}"


def _calibrated(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    wrong, recomputed = [], 0
    for line in evidence.load_lines:
        points = [point for point in evidence.points if (point.op, point.group) == (line.op, line.group)]
        again = _from_histograms(evidence, line, points) if line.latency_lines else ()
        recomputed += len(line.latency_lines)
        if again != line.latency_lines:
            wrong.append(subject(line.op, line.group))
    if wrong:
        return False, f"the latency line of {some(wrong)} does not follow from the kept histograms"
    follows = f"{plural(recomputed, 'latency line')} computed again from the kept histograms; " if recomputed else ""
    return None, f"{follows}no run can show it: the table of what was calibrated, and how, is printed by make test"


def _from_histograms(evidence: Evidence, line: LoadLine, points: Sequence[Point]) -> tuple[LatencyLine, ...]:
    """The latency lines, of percentiles that are counted again."""
    search = evidence.run.manifest.get("search") or {}

    def wait_of(trial: TrialLine) -> dict[str, int]:
        return summarise(evidence.run.histogram(trial["record"]) or [])

    return latency_lines(search, points, evidence.trials, plateau_of(line), wait_of)


_OURS = (_barrier, _durability, _ceilings, _repeats, _series, _open_loop, _own_cost, _repeatable)
"""What Tonnage does while it measures: of an imported run it promises none of it."""

_PROMISES: tuple[tuple[str, Check], ...] = (
    ("Phases start at a barrier and end with the last task", _barrier),
    ("Durability and cache state are measured and said", _durability),
    ("No figure above a measured ceiling without a flag", _ceilings),
    ("A requested phase without a record is a failure", _complete),
    ("Bytes and nanoseconds are integers", _integers),
    ("Repeated until narrow or out of budget, in random order", _repeats),
    ("Series and histograms kept, steady window by rule, stalls counted", _series),
    ("Open-loop latency counts from the intended start", _open_loop),
    ("Load line with an interval and bracketing points, or not reached", _load_line),
    ("The generator's own cost is measured in the same run", _own_cost),
    ("The manifest holds what is needed to repeat the run", _repeatable),
    ("Every estimator is calibrated against the simulator", _calibrated),
)
