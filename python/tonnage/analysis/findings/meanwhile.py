"""Findings about what happened to the host while it measured, and about its clocks."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.findings.registry import Evidence, Line, finding
from tonnage.analysis.results import Finding
from tonnage.analysis.text import count, duration, share, some
from tonnage.units import size_text

MEMORY_STALL = 0.05
"""Share of a trial in which some process waited for memory."""
STOLEN = 0.10
"""Share of the processors' time that the hypervisor gave to others."""
_STOLEN_NS = 200_000_000
"""Less than this is a few ticks of its counter."""
CLOCK_STEP_NS = 10_000_000
SKEW = 0.05
"""Share of a trial by which hosts may have crossed its start line apart."""
SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"})
"""Each reading goes to a device outside the processor: about a microsecond."""


@finding("memory-pressure")
def memory_pressure(evidence: Evidence) -> Iterator[Finding]:
    pressed = [pair for pair in evidence.disturbed if _stalled(pair) > MEMORY_STALL or _swapped(pair)]
    if not pressed:
        return
    worst = max(pressed, key=_stalled)
    said = [f"processes waited for memory up to {share(_stalled(worst))} of the time"] if _stalled(worst) else []
    if swapped := sum(map(_swapped, pressed)):
        said.append(f"{size_text(swapped)} went to swap")
    yield Finding(
        "memory-pressure",
        some([line["record"] for line, _ in pressed]),
        f"in {count(len(pressed), 'trial')} {' and '.join(said)}",
        "Writes then wait until memory is free, and reads lose what was cached: measure with fewer tasks, smaller "
        "buffers or past the cache, or read these figures as those of a host without memory to spare.",
    )


@finding("processor-stolen")
def processor_stolen(evidence: Evidence) -> Iterator[Finding]:
    processors = (evidence.run.manifest.get("host") or {}).get("cpu_count") or 1

    def stolen(pair: Pair) -> float:
        _, meanwhile = pair
        taken = meanwhile.get("stolen_ns") or 0
        return taken / (processors * meanwhile["lasted_ns"]) if taken >= _STOLEN_NS else 0.0

    robbed = [pair for pair in evidence.disturbed if stolen(pair) > STOLEN]
    if not robbed:
        return
    worst = max(robbed, key=stolen)
    yield Finding(
        "processor-stolen",
        some([line["record"] for line, _ in robbed]),
        f"in {count(len(robbed), 'trial')} the hypervisor gave up to {share(stolen(worst))} of the processors' time "
        f"to others ({worst[0]['record']})",
        "Other machines share these processors, and nothing here sees them: repeat when they are quiet, and trust "
        "ratios of interleaved trials more than any single figure.",
    )


@finding("clock")
def clock(evidence: Evidence) -> Iterator[Finding]:
    if evidence.simulated:
        return
    host = evidence.run.manifest.get("host") or {}
    if host.get("clock") in SLOW_CLOCKS:
        yield Finding(
            "clock",
            str(host.get("hostname") or "host"),
            f"the kernel reads its time from {host['clock']}, which takes about a microsecond each time",
            "Latencies of a few microseconds hold that reading: see why the kernel does not trust the processor's own "
            "clock (dmesg), or look at rates only.",
        )
    stepped = [pair for pair in evidence.disturbed if _step_ns(pair) > CLOCK_STEP_NS]
    if stepped:
        most = max(map(_step_ns, stepped))
        yield Finding(
            "clock",
            some([line["record"] for line, _ in stepped]),
            f"the wall clock was set by up to {duration(most)} during {count(len(stepped), 'trial')}",
            "Durations and rates are not touched; dates of records, and what is lined up with other logs, are. Let the "
            "clock be steered (chrony, ntpd) and not set.",
        )
    apart = [line for line in evidence.trials.having("ensemble") if line["purpose"] == "measure" and _skew(line) > SKEW]
    if apart:
        worst = max(apart, key=_skew)
        yield Finding(
            "clock",
            some([line["record"] for line in apart]),
            f"hosts may have crossed the start line of {worst['record']} up to "
            f"{duration(worst['ensemble']['skew_ns'])} apart, {share(_skew(worst))} of it",
            "Rates of all tasks together are uncertain by so much: measure longer, or give hosts fewer processes.",
        )


Pair = tuple[Line, Line]
"""A trial line, and its ``meanwhile``."""


def _stalled(pair: Pair) -> float:
    _, meanwhile = pair
    return float((meanwhile.get("memory_stall_ns") or 0) / max(meanwhile["lasted_ns"], 1))


def _swapped(pair: Pair) -> int:
    return pair[1].get("swapped_out_bytes") or 0


def _step_ns(pair: Pair) -> int:
    step_ns: int = pair[1].get("clock_step_ns") or 0
    return abs(step_ns)


def _skew(line: Line) -> float:
    ensemble, elapsed_ns = line.get("ensemble"), line.get("elapsed_ns")
    return float((ensemble.get("skew_ns") or 0) / elapsed_ns) if ensemble and elapsed_ns else 0.0
