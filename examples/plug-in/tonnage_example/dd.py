"""What dd prints when it is done: ``1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.51 s, 2.1 GB/s``."""

from __future__ import annotations

import re

from tonnage.importers.imported_phases import ImportedFile, Phase
from tonnage.importers.rounded_numbers import rounded

_LINE = re.compile(r"([0-9]{1,18}) bytes .*copied, ([0-9.]+) s, ")


def read(data: bytes, _name: str) -> ImportedFile:
    """The copies of all lines. It never raises: what cannot be understood is told with its line."""
    phases: list[Phase] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        found = _LINE.match(line)
        seconds = rounded(found[2]) if found else None
        if found is None or seconds is None:
            continue
        moved = int(found[1])
        phases.append(
            Phase(
                phase="write",
                setting={"kind": "stream", "op": "write", "tasks": 1, "bytes": moved},
                elapsed_ns=max(1, round(seconds.middle * 10**9)),
                bytes=moved,
                operations=0,
                line=number,
            )
        )
    problems = () if phases else ("line 1: it has no line of dd",)
    return ImportedFile(phases=tuple(phases), problems=problems, tool="dd")
