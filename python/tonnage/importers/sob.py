"""sob's lines, of which an MB is 2^20 bytes: ``Wrote 10240.000 MB in 212.000 s for 48.302 MB/s, 1 files``."""

from __future__ import annotations

import re

from tonnage.importers.figures import MIB, elapsed_ns, rounded
from tonnage.importers.parsed import Found, Phase, Said, few
from tonnage.importers.trace import LARGEST, content

_LINE = re.compile(
    r"\s*(Wrote|Write|Read|Random read)\s+([0-9.]+) MB in ([0-9.]+) s(?:econds)? for ([0-9.]+) MB/s"
    r"(?:, ([0-9]{1,9}) files)?\s*\Z",
    re.IGNORECASE,
)


def read(data: bytes, _: str) -> Found:
    """The trials of all lines; whatever the file holds, it is read or told of by its line."""
    lines, torn = content(data)
    phases: list[Phase] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        found = _LINE.match(line)
        phase = _phase(found, number) if found else None
        if phase is not None:
            phases.append(phase)
        elif " MB/s" in line or " MB in " in line:
            why = "is cut off" if torn and number == len(lines) else "is not whole"
            problems.append(f"line {number}: this line of sob {why}; left out")
    if not phases and not problems:
        problems.append("line 1: it has no line of sob")
    return Found(phases=tuple(phases), problems=few(problems), tool="sob")


def _phase(found: re.Match[str], number: int) -> Phase | None:
    size, seconds, rate = (rounded(found[column]) for column in (2, 3, 4))
    if size is None or seconds is None or rate is None:
        return None
    # Three decimals of an MB: files are whole blocks, so that the middle is nearest.
    moved = round(size.middle * MIB)
    rate = rate.times(MIB)
    lasted = elapsed_ns(moved, seconds, rate)
    if lasted is None or not 0 < moved < LARGEST:
        return None
    op = "write" if found[1].lower().startswith("wr") else "read"
    setting = {
        "kind": "stream",
        "op": op,
        "tasks": 1,
        "transfer_size": None,
        "access": "random" if found[1].lower().startswith("random") else "sequential",
        "files": int(found[5]) if found[5] else None,
        "bytes": moved,
    }
    return Phase(
        phase=op,
        setting=setting,
        elapsed_ns=lasted,
        bytes=moved,
        operations=0,
        line=number,
        durability="none",
        said=Said(line=number, text=f"{found[4]} MB/s, MB of 2^20", rate=rate, count=moved, seconds=seconds),
    )
