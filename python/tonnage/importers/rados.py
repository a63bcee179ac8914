"""``rados bench``: one process with a number of operations in the air. Its MB are 2^20 bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tonnage.importers.figures import MIB, elapsed_ns, nanoseconds, rounded, whole
from tonnage.importers.found import Found, Note, Phase, Said, few, latency
from tonnage.importers.trace import LARGEST, content

_MAINTAINING = re.compile(r"Maintaining ([0-9]{1,9}) concurrent (writes|reads) of ([0-9]{1,15}) bytes")
_ROW = re.compile(
    r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,12})\s+([0-9]{1,12})\s+[0-9.e+-]+\s+[0-9.e+-]+\s+\S+\s+\S+"
)
_FACT = re.compile(r"\s*([A-Z][A-Za-z ]+?)(?: ?\([A-Za-z/]+\))?:\s+([0-9][0-9.e+-]*)\s*\Z")
_SECOND_NS = 10**9


@dataclass(slots=True)
class _Bench:
    """One benchmark so far."""

    line: int
    depth: int | None = None
    op: str | None = None
    size: int | None = None
    rows: list[tuple[int, int]] = field(default_factory=list)
    """Seconds and operations finished until then."""
    facts: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Name → value and line."""
    ended: bool = False


def read(data: bytes, _: str) -> Found:
    """What an output says, of one benchmark or of several; whatever it holds, it is read or told of by its line."""
    lines, torn = content(data)
    benches: list[_Bench] = []
    for number, line in enumerate(lines, 1):
        if not (torn and number == len(lines)):
            _line(benches, line, number)
    phases: list[Phase] = []
    problems: list[str] = []
    for bench in benches:
        phase = _phase(bench)
        if isinstance(phase, str):
            problems.append(f"line {bench.line}: {phase}; left out")
        else:
            phases.append(phase)
            problems += [f"line {phase.line}: {note.message}" for note in phase.notes]
    if torn:
        problems.append(f"line {len(lines)}: this line is cut off; left out")
    if not benches:
        problems.append("line 1: this is no output of rados bench")
    return Found(phases=tuple(phases), problems=few(problems), tool="rados bench")


def _line(benches: list[_Bench], line: str, number: int) -> None:
    bench = benches[-1] if benches and not benches[-1].ended else None
    if found := _MAINTAINING.search(line):
        op = found[2].removesuffix("s")
        benches.append(_Bench(number, int(found[1]), op, int(found[3])))
    elif "Cur ops" in line and "started" in line:
        # Every twenty lines the header comes again; of a read it is the first line.
        if bench is None:
            benches.append(_Bench(number))
    elif (found := _ROW.match(line)) and bench is not None and not bench.facts:
        bench.rows.append((int(found[1]), int(found[4])))
        bench.depth = max(bench.depth or 0, int(found[2]))
    elif found := _FACT.match(line):
        if bench is None:
            if found[1] != "Total time run":
                if benches:
                    benches[-1].facts.setdefault(found[1], (found[2], number))
                return
            benches.append(bench := _Bench(number))
        bench.facts[found[1]] = (found[2], number)
        bench.ended = "latency" in found[1].lower() and found[1].lower().startswith("min")


def _phase(bench: _Bench) -> Phase | str:
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
        notes, line = (Note("cut-short", sentence),), bench.line + len(bench.rows)
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
        said=said,
        latency=_latency(bench, count),
        notes=notes,
        series=_series(bench, size),
    )


def _latency(bench: _Bench, count: int) -> dict[str, int | None] | None:
    """In seconds, of each operation; rados bench keeps no quantiles."""
    known = {}
    for way in ("Min", "Average", "Max"):
        value = bench.facts.get(f"{way} latency") or bench.facts.get(f"{way} Latency")
        known[way] = nanoseconds(value[0]) if value else None
    if not any(known.values()):
        return None
    return latency(count, minimum=known["Min"], mean=known["Average"], maximum=known["Max"], quantiles={})


def _series(bench: _Bench, size: int) -> tuple[tuple[int, int, int], ...]:
    rows, last = [], (0, 0)
    for second, finished in bench.rows:
        if second > last[0] and finished >= last[1] and finished * size < LARGEST:
            moved = (finished - last[1]) * size
            rows.append((last[0] * _SECOND_NS, second * _SECOND_NS, moved))
            last = (second, finished)
    return tuple(rows)
