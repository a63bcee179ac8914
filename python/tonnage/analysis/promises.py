"""The twelve promises of the Method page, each ticked from what the records hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tonnage.analysis.ceilings import ceilings_at
from tonnage.analysis.findings.registry import Evidence, Line, asked_rate, subject
from tonnage.analysis.links import ceilings_of
from tonnage.analysis.results import BANDWIDTH, Finding, Promise
from tonnage.analysis.steady import RULE
from tonnage.analysis.text import count, duration, some
from tonnage.records.lines import rate
from tonnage.units import size_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_WRITE = ("write", "mixed", "tail", "create", "open-write-close", "checkpoint")
_READ = ("read", "restart")
"""Phases that write."""

Verdict = tuple[bool | None, str]
Check = Callable[[Evidence, Sequence[Finding]], Verdict]


def promises_of(evidence: Evidence, findings: Sequence[Finding]) -> tuple[Promise, ...]:
    """All twelve, in their order. ``kept`` is None where a promise does not apply to the run."""
    imported = evidence.run.manifest.get("imported")
    return tuple(
        Promise(number, title, *(_imported(imported) if imported and check in _OURS else check(evidence, findings)))
        for number, (title, check) in enumerate(_PROMISES, 1)
    )


def _imported(imported: Line) -> Verdict:
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
    return bool(ended), f"{count(len(ended), 'phase')}: {span}; starts at most {duration(late)} apart"


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
    silent = writes.lacking("durability").records + reads.lacking("cache", "state").records
    if silent:
        return False, f"nothing is said about {some(silent)}"
    kinds, states = sorted(writes.seen("durability")), sorted(reads.seen("cache", "state"))
    said = [f"writes: {', '.join(kinds)}"] if kinds else []
    said += [f"reads: cache {', '.join(states)}"] if states else []
    return (True, "; ".join(said)) if said else (None, "nothing was written or read by Tonnage itself")


def _ceilings(evidence: Evidence, findings: Sequence[Finding]) -> Verdict:
    if evidence.simulated:
        return None, "a simulated storage has no ceiling on this host"
    ceilings = (*(evidence.run.manifest.get("ceilings") or ()), *ceilings_of(evidence.links))
    names = [ceiling["name"] for ceiling in ceilings]
    if not names and evidence.points and all(point.kind == "network" for point in evidence.points):
        return None, "only a loopback was measured"
    if not names:
        return False, "no ceiling was measured in this run"
    flagged = sum(found.code == "above-ceiling" for found in findings)
    sizes = dict.fromkeys(point.transfer_size for point in evidence.points if point.metric == BANDWIDTH)
    unlike = [size for size in sizes if size and any(one.elsewhere for one in ceilings_at(ceilings, size))]
    nearest = f"; transfers of {some(list(map(size_text, unlike)))} with those of the nearest size" if unlike else ""
    return True, f"compared with {some(sorted(set(names)))}{nearest}; {count(flagged, 'curve')} above, each flagged"


def _complete(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    state = evidence.run.manifest.get("state")
    bad = evidence.trials.unlike("status", "ok").records
    if state == "running":
        return None, "the run has not ended"
    if state == "complete" and not bad:
        return True, f"all {count(len(evidence.trials), 'phase')} have a record that ended well"
    named = f"; not ok: {some(bad)}" if bad else ""
    return state in ("interrupted", "failed"), f"the run says it is {state}{named}"


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
    seed = evidence.run.manifest.get("seed")
    single = [found.subject for found in findings if found.code == "single-repetition"]
    least = min(point.repetitions for point in evidence.points)
    if seed is None:
        return False, "no seed is recorded"
    if single:
        return False, f"the budget was spent before every point was repeated ({some(single)}); seed {seed}"
    return True, f"every point has at least {least} repetitions, in an order drawn from seed {seed}"


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
    return True, f"kept for {count(len(evidence.trials), 'phase')}; {steady}; {count(stalls, 'stall')} counted"


def _open_loop(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    paced = sum(len(same) for (setting,), same in evidence.trials.by("setting") if asked_rate(setting))
    if not paced:
        return None, "no trial was rate-limited"
    return (
        True,
        f"{count(paced, 'phase')} of a given rate: the latency of each operation counts from when it was due",
    )


def _load_line(evidence: Evidence, _: Sequence[Finding]) -> Verdict:
    if not evidence.load_lines:
        return None, "no curve over tasks was measured"
    said = [
        f"{subject(line.op, line.group)}: {line.tasks} [{line.tasks_low}, {line.tasks_high}]"
        if line.reached
        else f"{subject(line.op, line.group)}: not reached within {line.max_tasks_tried}"
        for line in evidence.load_lines
    ]
    return True, "; ".join(said)


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


def _calibrated(_: Evidence, __: Sequence[Finding]) -> Verdict:
    return None, "a promise of the program, not of a run: make test prints the coverage of every interval"


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
