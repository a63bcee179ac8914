"""Several JSON outputs of one tool in one file, one after another: each is read, and no line is counted anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from tonnage.importers.found import Found, Phase, few

_LINE = re.compile(r"line ([0-9]+): ")


def each(text: str, begins: re.Pattern[str], read: Callable[[str], Found]) -> Found:
    """What the outputs say that begin as ``begins`` tells; tool and settings of all are those of the first."""
    starts = [found.start() for found in begins.finditer(text)]
    if len(starts) < 2:
        return read(text)
    # What stands before the first belongs to it.
    parts = [_shifted(read(text[at:end]), text.count("\n", 0, at)) for at, end in pairwise([0, *starts[1:], len(text)])]
    return replace(
        parts[0],
        phases=tuple(phase for part in parts for phase in part.phases),
        problems=few([problem for part in parts for problem in part.problems]),
    )


def _shifted(found: Found, before: int) -> Found:
    """With its lines counted from the first of the file, ``before`` lines up."""
    problems = tuple(_LINE.sub(lambda line: f"line {int(line[1]) + before}: ", one, count=1) for one in found.problems)
    return replace(found, phases=tuple(_moved(phase, before) for phase in found.phases), problems=problems)


def _moved(phase: Phase, before: int) -> Phase:
    said = replace(phase.said, line=phase.said.line + before) if phase.said else None
    return replace(phase, line=phase.line + before, said=said)
