"""One benchmark of ``rados bench``, and the trial that it is. Its MB are 2^20 bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from tonnage.importers.figures import MIB, elapsed_ns, nanoseconds, rounded, whole
from tonnage.importers.found import Latency, Note, Phase, Said, latency
from tonnage.importers.trace import LARGEST

_SECOND_NS = 10**9


@dataclass(slots=True)
class Bench:
    """What was read of it so far."""

    line: int
    depth: int | None = None
    """As said, or the most operations in the air that a line shows."""
    op: str | None = None
    size: int | None = None
    last: int = 1
    """Line of its last row."""
    rows: list[tuple[int, int]] = field(default_factory=list)
    """Seconds and operations finished until then."""
    facts: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Name → value and line."""
    ended: bool = False
    started: str | None = None
    """ISO 8601 with a zone, where it was asked to show times."""


def phase_of(bench: Bench) -> Phase | str:
    """The trial, or why it is none."""
    op = bench.op or ("write" if "Total writes made" in bench.facts else "read")
    size = whole(bench.facts.get("Write size", bench.facts.get("Read size", ("", 0)))[0]) or bench.size
    if not size:
        return "the size of its operations is not said"
    made = bench.facts.get("Total writes made") or bench.facts.get("Total reads made")
    total = bench.facts.get("Total time run")
    seconds = rounded(total[0]) if total else None
    notes: tuple[Note, ...] = ()
    stated = bench.facts.get("Bandwidth")
    rate = rounded(stated[0]) if stated else None
    rate = rate.times(MIB) if rate else None
    if made is None or seconds is None:
        last = next((row for row in reversed(bench.rows) if row[0] and row[1]), None)
        if last is None:
            return "it ends before its first result"
        count, lasted = last[1], last[0] * _SECOND_NS
        sentence = f"the output ends before its totals; what was done until second {last[0]} is kept"
        notes, line = (Note("cut-short", sentence),), bench.last
    else:
        count, line = whole(made[0]) or 0, made[1]
        lasted = elapsed_ns(count * size, seconds, rate) or 0
    if not 0 < lasted < LARGEST or not 0 < count * size < LARGEST:
        return "it did nothing"
    said = None
    if stated and rate and seconds and not notes:
        text = f"{stated[0]} MB/sec, MB of 2^20"
        said = Said(line=stated[1], text=text, rate=rate, count=count * size, seconds=seconds)
    return Phase(
        phase=op,
        setting={"kind": "stream", "op": op, "tasks": 1, "transfer_size": size, "queue_depth": bench.depth},
        elapsed_ns=lasted,
        bytes=count * size,
        operations=count,
        line=line,
        started=bench.started,
        said=said,
        latency=_latency(bench, count),
        notes=notes,
        series=_series(bench, size),
    )


def _latency(bench: Bench, count: int) -> Latency | None:
    """In seconds, of each operation; rados bench keeps no quantiles."""
    known = {}
    for way in ("Min", "Average", "Max"):
        value = bench.facts.get(f"{way} latency") or bench.facts.get(f"{way} Latency")
        known[way] = nanoseconds(value[0]) if value else None
    if not any(known.values()):
        return None
    return latency(count, minimum=known["Min"], mean=known["Average"], maximum=known["Max"])


def _series(bench: Bench, size: int) -> tuple[tuple[int, int, int], ...]:
    rows, last = [], (0, 0)
    for second, finished in bench.rows:
        if second > last[0] and finished >= last[1] and finished * size < LARGEST:
            moved = (finished - last[1]) * size
            rows.append((last[0] * _SECOND_NS, second * _SECOND_NS, moved))
            last = (second, finished)
    return tuple(rows)
