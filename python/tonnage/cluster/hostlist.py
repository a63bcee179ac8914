"""The way to write many hosts in a word, Slurm's and Flux's: ``a1,b[01-03,7]x``."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable

_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]{1,18})", re.DOTALL)
_PARTS = re.compile(r"\[(?P<ranges>[^\]]*)\]|(?P<plain>[^\[,]+)|(?P<comma>,)")


def unfold(text: str) -> tuple[str, ...]:
    """Each host by its name, in the order written."""
    hosts: list[str] = []
    parts: list[list[str]] = []
    for part in _PARTS.finditer(text + ","):
        if part["comma"]:
            if parts:
                hosts.extend("".join(name) for name in itertools.product(*parts))
            parts = []
        else:
            parts.append([part["plain"]] if part["plain"] else _numbers(part["ranges"]))
    return tuple(hosts)


def _numbers(ranges: str) -> list[str]:
    found = []
    for piece in ranges.split(","):
        first, _, last = piece.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            # No range of numbers: a tool's words are passed on as they are.
            found.append(piece)
            continue
        # The first one's zeros are the width of all.
        found += [f"{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return found


def fold(hosts: Iterable[str]) -> str:
    """The same, short: ten thousand names must fit in one word of a command line."""
    plain: list[str] = []
    numbered: dict[tuple[str, int], list[int]] = defaultdict(list)
    for host in sorted(set(hosts)):
        match = _NUMBERED.fullmatch(host)
        if match:
            numbered[match["before"], len(match["number"])].append(int(match["number"]))
        else:
            plain.append(host)
    for (before, width), numbers in numbered.items():
        # Neighbours keep the same distance to their rank.
        runs = [
            [number for _, number in group]
            for _, group in itertools.groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0])
        ]
        ranges = [f"{run[0]:0{width}}" + (f"-{run[-1]:0{width}}" if len(run) > 1 else "") for run in runs]
        plain.append(f"{before}{ranges[0]}" if len(numbers) == 1 else f"{before}[{','.join(ranges)}]")
    return ",".join(plain)
