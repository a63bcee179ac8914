"""Facts of the originals' options, in tables that we wrote; and hashes of their sentences, which are not kept here.

A line of ``peer/sentences.csv`` is a sentence of the sources of IOR 4.1: its number of words, and the beginning of the
SHA-256 of its words in small letters, with one blank between. Headings and lines of figures are not among them.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PEER = Path(__file__).parent / "peer"


@dataclass(frozen=True, order=True)
class Fact:
    """One option or directive. ``type``: flag, number (whole, with a suffix of 1024 such as k), text, directives."""

    module: str
    short: str
    long: str
    directives: tuple[str, ...]
    """Its names after ``-O``, in small letters."""
    type: str
    default: str


def facts(original: str) -> list[Fact]:
    """Of ``ior`` or ``mdtest`` 4.1, from ``peer/ORIGINAL-options.csv``."""
    with (PEER / f"{original}-options.csv").open(encoding="utf-8", newline="") as file:
        return sorted(
            Fact(
                row["module"],
                row["short"],
                row["long"],
                tuple(sorted(row["directive"].lower().split())),
                row["type"],
                row["default"],
            )
            for row in csv.DictReader(file)
        )


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def repeated(text: str) -> list[str]:
    """The sentences of IOR's and mdtest's option texts and messages, of five words and more, that stand in ``text``."""
    words = words_of(text)
    return [
        found
        for length, known in _SENTENCES.items()
        for at in range(len(words) - length + 1)
        if _hash(found := " ".join(words[at : at + length])) in known
    ]


def strings(path: Path) -> Iterator[str]:
    """The strings of a module of Python; of one that is put together, the parts that are fixed."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sentences() -> dict[int, set[str]]:
    """Number of words → hashes."""
    found: dict[int, set[str]] = {}
    for line in (PEER / "sentences.csv").read_text(encoding="ascii").splitlines()[1:]:
        length, digest = line.split(",")
        found.setdefault(int(length), set()).add(digest)
    return found


_SENTENCES = _sentences()
