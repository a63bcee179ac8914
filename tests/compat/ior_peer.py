"""Recorded outputs of the real IOR, and the shape of a line: what a parser by columns or by words relies on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

PEER = Path(__file__).parent / "peer"
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]\d+)?")
_PATH = re.compile(r"\S*/\S+")
_SUMMARY = (*[10] * 10, 13, 5, 6, 3, 4, 3, 5, 8, 9, 4, 6, 8, 8, 9, 3, 6)
"""Widths of the summary's columns after the operation, as IOR prints them, with a blank before each."""
_OURS_ONLY = ("Max Write:", "Max Read:")
_THEIRS_ONLY = (
    "WARNING: DUMMY",
    "WARNING: assuming POSIX",
    # Whether a file was there is not part of the shape, nor what Open MPI and a crash say.
    "WARNING: The file",
)
_A_FILE_WAS_THERE = 'WARNING: "'
"""How our line begins that tells of one."""


@dataclass(frozen=True)
class Recorded:
    """A file of ``peer``: how IOR was started, and what it printed."""

    words: list[str]
    tasks: int
    lines: list[str]
    exit_code: int


def recorded(name: str) -> Recorded:
    """The recording of that name. ``mpirun … -np N ior OPTION…`` in its first line."""
    first, *lines = (PEER / f"ior-{name}.txt").read_text().splitlines()
    words = first.split()
    tasks = int(words[words.index("-np") + 1])
    code = int(lines[-1].removeprefix("[exit code ").removesuffix("]"))
    end = next((at for at, line in enumerate(lines) if line.startswith("Finished")), len(lines) - 2)
    return Recorded(words[words.index("ior") + 1 :], tasks, lines[: end + 1], code)


def shapes(lines: list[str]) -> list[str]:
    """Each line with its numbers and paths masked; rows of tables as the places where their columns are."""
    kept = [line for line in lines if not line.startswith((*_OURS_ONLY, *_THEIRS_ONLY, _A_FILE_WAS_THERE))]
    return [shape(line) for line in kept]


def summary_gaps(places: list[tuple[int, int]]) -> list[str]:
    """Of each column after the first: whether it is as wide as IOR makes it, or as its number needs."""
    widths = [max(width, end - start) for width, (start, end) in zip(_SUMMARY, places[1:], strict=True)]
    ends = [9, *(end for _, end in places[1:])]
    gaps = [after - before - 1 for before, after in pairwise(ends)]
    return ["as ior" if gap == width else f"{gap}, not {width}" for gap, width in zip(gaps, widths, strict=True)]


def shape(line: str) -> str:
    """The shape of one line."""
    places = [match.span() for match in re.finditer(r"\S+", line)]
    if line.startswith(("write ", "read ")) and len(places) == 11:
        return f"{line.split()[0]} {[start for start, _ in places]}"
    if line.startswith(("write ", "read ")):
        return f"{line.split()[0]}, summary: {summary_gaps(places)}"
    for key in ("Began", "Command line", "StartTime", "Finished", "Machine", "FS", "Path", "test filename"):
        if line.startswith(f"{key:<20}:"):
            return key
    return _NUMBER.sub("0", _PATH.sub("PATH", line)).rstrip()
