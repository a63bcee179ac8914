"""``rados bench``: one process with a number of operations in the air; what it printed, as text or as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from tonnage.importers import broken_json
from tonnage.importers.imported_phases import ImportedFile, Latency, Note, Phase, StatedRate, Unplaced, few, latency
from tonnage.importers.rounded_numbers import MIB, elapsed_ns, nanoseconds, no_time, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import Json, SettingValues

_SECOND_NS = 10**9


@dataclass(slots=True)
class Bench:
    """What was read of it so far."""

    line: int
    depth: int | None = None
    """As said, or the most operations in the air that a line shows."""
    op: str | None = None
    size: int | None = None
    seconds: int | None = None
    """It was asked to run so long at most, …"""
    objects: int | None = None
    """… and to write so many objects at most; 0: any number."""
    object_size: int | None = None
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
    if total and no_time(total[0]):
        return f"it states what it did beside a time of {total[0]} s"
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
        said = StatedRate(line=stated[1], text=text, rate=rate, count=count * size, seconds=seconds)
    return Phase(
        phase=op,
        setting=_setting(bench, op, size),
        elapsed_ns=lasted,
        bytes=count * size,
        operations=count,
        line=line,
        started=bench.started,
        stated_rate=said,
        latency=_latency(bench, count),
        notes=notes,
        series=_series(bench, size),
        unplaced=_unplaced(bench, op),
    )


def _setting(bench: Bench, op: str, size: int) -> SettingValues:
    return {
        "kind": "stream",
        "op": op,
        "tasks": 1,
        "transfer_size": size,
        "queue_depth": bench.depth,
        "object_size": whole(bench.facts.get("Object size", ("", 0))[0]) or bench.object_size,
        "seconds": bench.seconds,
        "most_objects": bench.objects or None,
    }


def _unplaced(bench: Bench, op: str) -> Unplaced | None:
    """A read says neither whether it is of ``seq`` or of ``rand``, nor how long it was to run."""
    missing = [*(["mode"] if op == "read" else []), *(["seconds"] if bench.seconds is None else [])]
    names = {"mode": "whether they are sequential", "seconds": "how long they were to run"}
    why = f"rados bench does not say of {op}s {' nor '.join(names[name] for name in missing)}"
    return Unplaced(f"line {bench.line}", tuple(missing), why) if missing else None


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


_OBJECT = re.compile(r'"(?:concurrent_ios|datas)"')
_BEGIN = re.compile(r'\{\s*(?="(?:concurrent_ios|datas)")')
_ASIDE = re.compile(
    r"hints = [0-9]+|Cleaning up \(deleting benchmark objects\)|Removed [0-9]+ objects?|"
    r"Clean up completed and total clean up time ?:[0-9.e+-]+"
)
"""Printed on the same stream, also in the middle of the object."""
_FACTS = {
    "total_time_run": "Total time run", "total_writes_made": "Total writes made",
    "total_reads_made": "Total reads made", "write_size": "Write size", "read_size": "Read size",
    "bandwidth": "Bandwidth", "average_latency": "Average Latency", "max_latency": "Max latency",
    "max_latency:": "Max latency", "min_latency": "Min latency",
}  # fmt: skip
"""As the text calls them; up to version 14 one key of a write ends in a colon."""


def _is_json(lines: Sequence[str]) -> bool:
    """Whether these lines hold such an object."""
    return any(_OBJECT.search(line) for line in lines)


def _json_benches(lines: Sequence[str]) -> tuple[list[Bench], list[str]]:
    """A benchmark for each object, and a sentence with its line for each that is damaged."""
    text = _ASIDE.sub(lambda found: " " * len(found[0]), "\n".join(lines))
    starts = [found.start() for found in _BEGIN.finditer(text)]
    found, problems = [], []
    for at, end in pairwise([*starts, len(text)]):
        document = broken_json.read(text[at:end])
        first = text.count("\n", 0, at) + 1
        if document.line is not None:
            place = first + document.line - 1
            problems.append(f"line {place}: the JSON breaks off or is damaged here; what stands before it is kept")
        if isinstance(document.value, dict):
            found.append(_json_bench(document.value, first, text[at:end]))
    if not starts:
        problems.append("line 1: the JSON is damaged where it begins; nothing of it can be read")
    return found, problems


def _json_bench(said: Json, first: int, text: str) -> Bench:
    facts = {}
    for key, name in _FACTS.items():
        if key in said:
            facts[name] = (str(said[key]), first + text.count("\n", 0, max(0, text.find(f'"{key}"'))))
    rows = [row for row in _rows(said.get("datas")) if row is not None]
    flights = [flight for _, _, flight in rows]
    last = text.rfind('"finished"')
    return Bench(
        line=first,
        depth=whole(said.get("concurrent_ios", "")) or max(flights, default=None),
        op="write" if "concurrent_ios" in said or "total_writes_made" in said else "read",
        size=whole(said.get("op_size", "")),
        seconds=whole(said.get("seconds_to_run", "")),
        objects=whole(said.get("max_objects", "")),
        object_size=whole(said.get("object_size", "")),
        last=first + text.count("\n", 0, max(0, last)),
        rows=[(second, finished) for second, finished, _ in rows],
        facts=facts,
        ended=True,
    )


def _rows(datas: Any) -> list[tuple[int, int, int] | None]:
    """Second, operations finished until then, operations in the air."""
    found: list[tuple[int, int, int] | None] = []
    for row in datas if isinstance(datas, list) else []:
        numbers = [whole(row.get(key, "")) for key in ("sec", "finished", "cur_ops")] if isinstance(row, dict) else []
        second, finished, flight = numbers or (None, None, None)
        found.append(None if second is None or finished is None else (second, finished, flight or 0))
    return found


_MAINTAINING = re.compile(
    r"Maintaining ([0-9]{1,9}) concurrent (writes|reads) of ([0-9]{1,15}) bytes"
    r"(?: to objects of size ([0-9]{1,15}))?(?: for up to ([0-9]{1,9}) seconds)?(?: or ([0-9]{1,15}) objects)?"
)
_ROW = re.compile(
    r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,12})\s+([0-9]{1,12})\s+[0-9.e+-]+\s+[0-9.e+-]+\s+\S+\s+\S+"
)
_FACT = re.compile(r"\s*([A-Z][A-Za-z ]+?)(?: ?\([A-Za-z/]+\))?:\s+([0-9][0-9.e+-]*)\s*\Z")
_LONGEST = 200
"""Characters of a line of the file that a message repeats."""
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}\.[0-9]{6})([+-][0-9]{4})? ")
"""Before a line, with ``--show-time``; versions before 15 leave the zone out."""


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output of one benchmark or of several. Never raises: ``problems`` names the line of each part that it
    cannot read."""
    lines, torn = content(data)
    benches, problems = _json_benches(lines) if _is_json(lines) else (_benches(lines, torn), [])
    phases: list[Phase] = []
    for bench in benches:
        phase = phase_of(bench)
        if isinstance(phase, str):
            problems.append(f"line {bench.line}: {phase}; left out")
        else:
            phases.append(phase)
            problems += [f"line {phase.line}: {note.message}" for note in phase.notes]
    if torn and not _is_json(lines):
        problems.append(f"line {len(lines)}: this line is cut off; left out")
    if not benches and not problems:
        problems.append(_without_result(lines))
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="rados bench")


def _without_result(lines: list[str]) -> str:
    for number, line in enumerate(lines, 1):
        if line.startswith("error during benchmark"):
            return f"line {number}: rados bench ended with an error: {line[:_LONGEST]}"
    if lines and lines[0].startswith("hints = "):
        return "line 1: it ends before its first result; as JSON nothing is printed before the end"
    return "line 1: this is no output of rados bench"


def _benches(lines: list[str], torn: bool) -> list[Bench]:
    found: list[Bench] = []
    for number, line in enumerate(lines, 1):
        if torn and number == len(lines):
            break
        time = _TIME.match(line)
        before = len(found)
        _line(found, line[time.end() :] if time else line, number)
        if time and time[2] and len(found) > before:
            found[-1].started = _instant(time[1], time[2])
    return found


def _instant(time: str, zone: str) -> str | None:
    try:
        return datetime.strptime(time.replace(" ", "T") + zone, "%Y-%m-%dT%H:%M:%S.%f%z").isoformat()
    except ValueError:
        return None


def _line(benches: list[Bench], line: str, number: int) -> None:
    bench = benches[-1] if benches and not benches[-1].ended else None
    if found := _MAINTAINING.search(line):
        op = found[2].removesuffix("s")
        object_size, seconds, objects = (whole(found[place]) for place in (4, 5, 6))
        size = int(found[3])
        benches.append(Bench(number, int(found[1]), op, size, seconds, objects, object_size or size))
    elif "Cur ops" in line and "started" in line:
        # Every twenty lines the header comes again; of a read it is the first line.
        if bench is None:
            benches.append(Bench(number))
    elif (found := _ROW.match(line)) and bench is not None and not bench.facts:
        bench.rows.append((int(found[1]), int(found[4])))
        bench.last = number
        bench.depth = max(bench.depth or 0, int(found[2]))
    elif found := _FACT.match(line):
        if bench is None:
            if found[1] != "Total time run":
                if benches:
                    benches[-1].facts.setdefault(found[1], (found[2], number))
                return
            benches.append(bench := Bench(number))
        bench.facts[found[1]] = (found[2], number)
        bench.ended = "latency" in found[1].lower() and found[1].lower().startswith("min")
