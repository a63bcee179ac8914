"""Findings about what happened to the host while it measured, and about its clocks."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding
from tonnage.analysis.results import Finding
from tonnage.records.line_types import TrialLine
from tonnage.units import plural, share, size_text, time_text

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
    counters = evidence.host_counters
    stalled = counters["memory_stall_ns"] / counters["lasted_ns"].clip(1)
    chosen = (stalled > MEMORY_STALL) | (counters["swapped_out_bytes"] != 0)
    if not chosen.any():
        return
    pressed, worst = evidence.watched.only(chosen), float(stalled[chosen].max())
    said = [f"processes waited for memory up to {share(worst)} of the time"] if worst else []
    if swapped := int(counters["swapped_out_bytes"].sum()):
        said.append(f"{size_text(swapped)} went to swap")
    yield Finding(
        "memory-pressure",
        some(pressed.records),
        f"in {plural(len(pressed), 'trial')} {' and '.join(said)}",
        "Writes then wait until memory is free, and reads lose what was cached: measure with fewer tasks, smaller "
        "buffers or past the cache, or read these figures as those of a host without memory to spare.",
    )


@finding("processor-stolen")
def processor_stolen(evidence: Evidence) -> Iterator[Finding]:
    processors = (evidence.run.manifest.get("host") or {}).get("cpu_count") or 1
    counters = evidence.host_counters
    stolen = counters["stolen_ns"] / (processors * counters["lasted_ns"].clip(1))
    chosen = (stolen > STOLEN) & (counters["stolen_ns"] >= _STOLEN_NS)
    if not chosen.any():
        return
    robbed, shares = evidence.watched.only(chosen), stolen[chosen]
    worst = int(shares.argmax())
    yield Finding(
        "processor-stolen",
        some(robbed.records),
        f"in {plural(len(robbed), 'trial')} the hypervisor gave up to {share(float(shares[worst]))} of the processors' "
        f"time to others ({robbed.records[worst]})",
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
    step_ns = abs(evidence.host_counters["clock_step_ns"])
    chosen = step_ns > CLOCK_STEP_NS
    if chosen.any():
        stepped = evidence.watched.only(chosen)
        yield Finding(
            "clock",
            some(stepped.records),
            f"the wall clock was set by up to {time_text(int(step_ns.max()))} during {plural(len(stepped), 'trial')}",
            "Durations and rates are not touched; dates of records, and what is lined up with other logs, are. Let the "
            "clock be steered (chrony, ntpd) and not set.",
        )
    unsure = evidence.trials.where_set("ensemble", "skew_ns").where("purpose", "measure")
    apart = [line for line in unsure if _skew(line) > SKEW]
    if apart:
        worst = max(apart, key=_skew)
        yield Finding(
            "clock",
            some([line["record"] for line in apart]),
            f"hosts may have crossed the start line of {worst['record']} up to "
            f"{time_text(_skew_ns(worst))} apart, {share(_skew(worst))} of it",
            "Rates of all tasks together are uncertain by so much: measure longer, or give hosts fewer processes.",
        )


def _skew(line: TrialLine) -> float:
    elapsed_ns = line.get("elapsed_ns")
    return _skew_ns(line) / elapsed_ns if elapsed_ns else 0.0


def _skew_ns(line: TrialLine) -> int:
    ensemble = line.get("ensemble")
    return (ensemble.get("skew_ns") if ensemble else None) or 0
