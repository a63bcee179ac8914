"""What warp (MinIO's benchmark of S3) prints of its analysis: a block for each kind of operation.

It prints rates and whole seconds, and neither how many objects nor how many bytes there were: both are estimated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.imported_phases import ImportedFile, Latency, Note, Phase, few, latency
from tonnage.importers.rounded_numbers import KIB, MIB, Rounded, letters, rounded, whole
from tonnage.importers.trace import LARGEST, content

_BLOCK = re.compile(r"(?:Operation|Report): ([A-Za-z]+)(?: \(([0-9]+)\))?[.,]? ?(.*)\Z")
_AVERAGE = re.compile(
    r"\s*\* Average: (?:([0-9.]+) ?([KMGT]?i?B)/s, )?([0-9.]+) obj/s(?: \(([0-9.]+(?:ms|s)|[0-9hms.]+), )?"
)
_REQUESTS = re.compile(r"\s*\* (?:Reqs: )?Avg: ")
_NAMED_TIME = re.compile(r"(Avg|50%|90%|99%|Fastest|Slowest): ([0-9.hmsµu]+)")
_KEYS = {"50%": "p50_ns", "90%": "p90_ns", "99%": "p99_ns"}
_ERRORS = re.compile(r"\s*\*? ?Errors: ([0-9]+)")
_DURATION = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9.]+)(ms|µs|us|s))?\Z")
_SHARE = {"ms": Fraction(1, 1000), "µs": Fraction(1, 10**6), "us": Fraction(1, 10**6), "s": Fraction(1)}
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 2**30, "TiB": 2**40}
_STREAMS = {"PUT": "write", "GET": "read"}
_NAMES = {"DELETE": "remove", "STAT": "stat"}
_ESTIMATED = Note("bytes-estimated", "warp prints rates and whole seconds, not how many bytes or objects there were")
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
    count: int | None
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
            blocks.append(_Block(found[1], number, found[3], whole(found[2]) if found[2] else None))
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
    if block.average is None and (found := _AVERAGE.match(line)):
        block.average = found
    elif not block.times and _REQUESTS.match(line):
        for name, text in _NAMED_TIME.findall(line):
            if (time := _duration(text)) is not None:
                block.times[name] = round(time.middle * 10**9)
    elif found := _ERRORS.match(line):
        block.errors = int(found[1])


def _phase(block: _Block, *, mixed: bool) -> Phase | str:
    """The trial, or why it cannot be one."""
    if block.op not in _STREAMS and block.op not in _NAMES:
        return "is no operation that is read here"
    threads = re.search(r"Concurrency: ([0-9]+)", block.about)
    ran = re.search(r"Ran:? ([0-9hmsµ.]+)", block.about)
    average = block.average
    tasks = whole(threads[1]) if threads else None
    objects = rounded(average[3]) if average else None
    seconds = _duration((average and average[4]) or (ran[1].rstrip(".") if ran else ""))
    if not tasks or objects is None or seconds is None or average is None:
        return "does not say how many ran at once, for how long, and at which rate"
    size = re.search(r"Size: ([0-9]+) bytes", block.about)
    each = whole(size[1]) if size else None
    rate = None
    if average[1] and average[2] in _UNITS and (printed := rounded(average[1])):
        rate = printed.times(_UNITS[average[2]])
    done = round(objects.middle * seconds.middle)
    moved = 0
    if block.op in _STREAMS:
        if rate is None:
            return "has no rate of bytes"
        moved = done * each if each else round(rate.middle * seconds.middle)
    lasted = round(seconds.middle * 10**9)
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
        notes=(_ESTIMATED, *([_AT_ONCE] if mixed else [])),
    )


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


def _duration(text: str) -> Rounded | None:
    """Seconds of ``27s``, ``4m58s``, ``1h0m3s``, ``229.8ms``; None for what is none."""
    found = _DURATION.match(text)
    if found is None or not text:
        return None
    rest = rounded(found[3]) if found[3] else Rounded(0, 0, 1)
    if rest is None:
        return None
    rest = rest.times(_SHARE[found[4] or "s"])
    more = int(found[1] or 0) * 3600 + int(found[2] or 0) * 60
    return Rounded.between(rest.low + more, rest.high + more)
