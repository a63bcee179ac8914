"""``rados bench``: one process with a number of operations in the air; what it printed, as text or as JSON."""

from __future__ import annotations

import re
from datetime import datetime

from tonnage.importers import rados_json
from tonnage.importers.found import Found, Phase, few
from tonnage.importers.rados_bench import Bench, phase_of
from tonnage.importers.trace import content

_MAINTAINING = re.compile(r"Maintaining ([0-9]{1,9}) concurrent (writes|reads) of ([0-9]{1,15}) bytes")
_ROW = re.compile(
    r"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,12})\s+([0-9]{1,12})\s+[0-9.e+-]+\s+[0-9.e+-]+\s+\S+\s+\S+"
)
_FACT = re.compile(r"\s*([A-Z][A-Za-z ]+?)(?: ?\([A-Za-z/]+\))?:\s+([0-9][0-9.e+-]*)\s*\Z")
_LONGEST = 200
"""Characters of a line of the file that a message repeats."""
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}\.[0-9]{6})([+-][0-9]{4})? ")
"""Before a line, with ``--show-time``; versions before 15 leave the zone out."""


def read(data: bytes, _: str) -> Found:
    """What an output says, of one benchmark or of several; whatever it holds, it is read or told of by its line."""
    lines, torn = content(data)
    benches, problems = rados_json.benches(lines) if rados_json.is_one(lines) else (_benches(lines, torn), [])
    phases: list[Phase] = []
    for bench in benches:
        phase = phase_of(bench)
        if isinstance(phase, str):
            problems.append(f"line {bench.line}: {phase}; left out")
        else:
            phases.append(phase)
            problems += [f"line {phase.line}: {note.message}" for note in phase.notes]
    if torn and not rados_json.is_one(lines):
        problems.append(f"line {len(lines)}: this line is cut off; left out")
    if not benches and not problems:
        problems.append(_without_result(lines))
    return Found(phases=tuple(phases), problems=few(problems), tool="rados bench")


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
        benches.append(Bench(number, int(found[1]), op, int(found[3])))
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
