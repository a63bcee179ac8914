"""The way to write many hosts in a word, Slurm's and Flux's: ``a1,b[01-03,7]x``."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]{1,18})", re.DOTALL)
_PARTS = re.compile(r"\[(?P<ranges>[^\]]*)\]|(?P<plain>[^\[,]+)|(?P<comma>,)")
_Piece: TypeAlias = str | tuple[range, int]
"""A word as it is, or numbers and how wide they are written."""


def unfold(text: str) -> tuple[str, ...]:
    """Returns each host by its name, in the order written."""
    return tuple(
        "".join(name)
        for parts in _hosts(text)
        for name in itertools.product(*([word for piece in part for word in _host_names(piece)] for part in parts))
    )


def how_many(text: str) -> int:
    """The number of hosts that ``unfold`` would return. Makes no names: a short text can stand for more names than
    memory holds."""
    return sum(math.prod(sum(map(_size, part)) for part in parts) for parts in _hosts(text))


def _hosts(text: str) -> Iterator[list[list[_Piece]]]:
    """Between two commas: the parts of a name, each the pieces that it may be."""
    parts: list[list[_Piece]] = []
    for part in _PARTS.finditer(text + ","):
        if not part["comma"]:
            parts.append([part["plain"]] if part["plain"] else [_piece(piece) for piece in part["ranges"].split(",")])
        elif parts:
            yield parts
            parts = []


def _piece(piece: str) -> _Piece:
    first, _, last = piece.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        # No range of numbers: a tool's words are passed on as they are.
        return piece
    # The first one's zeros are the width of all.
    return range(int(first), int(last or first) + 1), len(first)


def _host_names(piece: _Piece) -> list[str]:
    return [piece] if isinstance(piece, str) else [f"{number:0{piece[1]}}" for number in piece[0]]


def _size(piece: _Piece) -> int:
    # len() of a range ends at what a machine word holds.
    return 1 if isinstance(piece, str) else max(0, piece[0].stop - piece[0].start)


def fold(hosts: Iterable[str]) -> str:
    """The shortest spelling of these hosts: ten thousand names must fit into one word of a command line."""
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
