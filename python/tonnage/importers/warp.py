"""What warp (MinIO's benchmark of S3) prints of its analysis: a block for each kind of operation.

It prints rates, whole seconds, and seldom how many objects there were: what was moved is mostly estimated. Its rates
are of the time in which all tasks were busy, its counts of the whole run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.imported_phases import ImportedFile, Latency, Note, Phase, few, latency
from tonnage.importers.rounded_numbers import KIB, MIB, letters, rounded, whole
from tonnage.importers.trace import LARGEST, content

_BLOCK = re.compile(r"(?:Operation|Report): ([A-Za-z]+)\b(.*)\Z")
_MORE = re.compile(r"\s*\* Objects per request: ")
_AVERAGE = re.compile(
    r"\s*\* (?:Average|Throughput): (?:([0-9.]+) ?([KMGT]?i?B)/s, )?([0-9.]+) obj/s(?:, [0-9]+ errors)?"
    r"(?: \(([0-9.]+(?:ms|s)|[0-9hms.]+), )?"
)
_REQUESTS = re.compile(r"\s*\* (?:Reqs: )?Avg: ")
_NAMED_TIME = re.compile(r"(Avg|50%|90%|99%|Fastest|Slowest): ([0-9.hmsµu]+)")
_KEYS = {"50%": "p50_ns", "90%": "p90_ns", "99%": "p99_ns"}
_ERRORS = re.compile(r"\s*(?:\*? ?Errors|\* Reqs: [0-9]+, Errs): ?([0-9]{1,18})")
_DURATION = re.compile(r"(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m(?!s))?(?:([0-9]{1,18}(?:\.[0-9]{1,18})?)(ms|µs|us|s))?\Z")
_SHARE = {"ms": Fraction(1, 1000), "µs": Fraction(1, 10**6), "us": Fraction(1, 10**6), "s": Fraction(1)}
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 2**30, "TiB": 2**40}
_STREAMS = {"PUT": "write", "GET": "read"}
_NAMES = {"DELETE": "remove", "STAT": "stat"}
_ESTIMATED = Note(
    "bytes-estimated",
    "warp's rates are of the time in which all tasks were busy; what was done then is rate times time",
)
_AT_ONCE = Note(
    "side-by-side", "operations of a mix ran at the same time: none of them has a rate of the storage alone"
)
_MIXED = re.compile(r"(?:Mixed operations|Cluster Total|Report: Total)")


@dataclass(slots=True)
class _Block:
    """A kind of operation."""

    op: str
    line: int
    about: str
    """The rest of its heading."""
    average: re.Match[str] | None = None
    times: dict[str, int] = field(default_factory=dict)
    errors: int = 0


def read(data: bytes, _: str) -> ImportedFile:
    """Reads an output. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    blocks: list[_Block] = []
    mixed = False
    for number, line in enumerate(lines[: -1 if torn else None], 1):
        mixed = mixed or _MIXED.match(line) is not None
        if found := _BLOCK.match(line):
            blocks.append(_Block(found[1], number, found[2]))
        elif blocks:
            _line(blocks[-1], line)
    phases: list[Phase] = []
    problems: list[str] = []
    for block in blocks:
        if block.op == "Total":
            continue
        phase = _phase(block, mixed=mixed)
        if isinstance(phase, str):
            problems.append(f"line {block.line}: {block.op} {phase}; left out")
        else:
            phases.append(phase)
    if not blocks:
        problems.append("line 1: it has no operation of warp's analysis")
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="warp")


def _line(block: _Block, line: str) -> None:
    if _MORE.match(line):
        block.about += line
    elif block.average is None and (found := _AVERAGE.match(line)):
        block.average = found
    elif not block.times and _REQUESTS.match(line):
        for name, text in _NAMED_TIME.findall(line):
            if (time := _duration(text)) is not None:
                block.times[name] = round(time * 10**9)
    elif found := _ERRORS.match(line):
        # Errors of all come before those of each host.
        block.errors = block.errors or int(found[1])


def _phase(block: _Block, *, mixed: bool) -> Phase | str:
    """The trial, or why it cannot be one."""
    if block.op not in _STREAMS and block.op not in _NAMES:
        return "is no operation that is read here"
    tasks, average = _stated(r"Concurrency: ([0-9]+)", block), block.average
    ran = re.search(r"(?:Ran|Duration):? ([0-9][0-9hmsµ.]*)", block.about)
    seconds = _duration((average and average[4]) or (ran[1].rstrip(".") if ran else ""))
    objects = rounded(average[3]) if average else None
    if not tasks or not seconds or average is None or objects is None or not objects.low:
        missing = {"how many ran at once": tasks, "for how long": seconds, "at which rate": objects and objects.low}
        return f"does not say {' and '.join(what for what, found in missing.items() if not found)}"
    requests, each = _stated(r"(?:\(|total: )([0-9]+)", block), _stated(r"Size: ([0-9]+) bytes", block)
    done = (requests or 0) * (_stated(r"Objects per (?:operation|request): ([0-9]+)", block) or 1)
    # What a heading counts is of the whole run, with its ends and with what failed.
    counted = not block.errors and abs(done / objects.middle - seconds) <= 1
    if counted:
        seconds = done / objects.middle
    else:
        done = round(objects.middle * seconds)
    moved = 0
    if block.op in _STREAMS:
        rate = rounded(average[1]) if average[2] in _UNITS else None
        if rate is None:
            return "has no rate of bytes"
        moved = done * each if each else round(rate.middle * _UNITS[average[2]] * seconds)
    lasted = round(seconds * 10**9)
    if not done or not 0 < lasted < LARGEST or moved >= LARGEST:
        return "says nothing of what was done"
    op = _STREAMS.get(block.op) or _NAMES[block.op]
    return Phase(
        phase=op,
        setting={
            "kind": "stream" if moved else "files",
            "tasks": tasks,
            **({"op": op, "transfer_size": each or _size(block.about)} if moved else {}),
            **({"beside": "a mix"} if mixed else {}),
        },
        elapsed_ns=lasted,
        bytes=moved,
        operations=done,
        line=block.line,
        latency=_latency(block, done),
        durability="none" if op == "write" else None,
        reason=f"warp counted {block.errors} errors" if block.errors else None,
        notes=(*([] if counted and (each or not moved) else [_ESTIMATED]), *([_AT_ONCE] if mixed else [])),
    )


def _stated(pattern: str, block: _Block) -> int | None:
    """A number of the heading; None where it has none."""
    found = re.search(pattern, block.about)
    return whole(found[1]) if found else None


def _size(about: str) -> int | None:
    found = re.search(r"Size: ([0-9]+[KMGT]?i?B)\b", about)
    return letters(found[1]) if found else None


def _latency(block: _Block, count: int) -> Latency | None:
    if not block.times:
        return None
    return latency(
        count,
        minimum=block.times.get("Fastest"),
        mean=block.times.get("Avg"),
        maximum=block.times.get("Slowest"),
        quantiles={key: block.times.get(name) for name, key in _KEYS.items()},
    )


def _duration(text: str) -> Fraction | None:
    """Seconds of ``27s``, ``4m58s``, ``1h0m3s``, ``229.8ms``; None for what is none."""
    found = _DURATION.match(text)
    if found is None:
        return None
    return int(found[1] or 0) * 3600 + int(found[2] or 0) * 60 + Fraction(found[3] or 0) * _SHARE[found[4] or "s"]
