"""Where a front end speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from tonnage.printable_text import one_line


@dataclass(frozen=True, slots=True)
class Voice:
    """Where a front end speaks: the original's output on one stream, everything that is ours on the other."""

    out: TextIO
    err: TextIO

    def say(self, text: str) -> None:
        """Prints a line of the original's output."""
        self.out.write(f"{text}\n")

    def tell(self, text: str) -> None:
        """A line of ours, after what was said so far."""
        self.out.flush()
        self.err.write(f"{one_line(text)}\n")
