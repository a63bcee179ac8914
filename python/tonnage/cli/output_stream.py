"""What a stream can show, and the wrapper that makes all text for it printable."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from tonnage.cluster.mpi.launch_environment import started

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What moves a cursor, changes a terminal, or turns the direction of text, instead of being seen."""


_OWN_TERMINALS = ("Slurm",)
"""Launchers whose processes have a terminal only where the user asked for that one (``srun --pty``)."""


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody sits before ``stream``. An MPI launcher gives its processes a pseudo-terminal and passes on what
    they write, to a file as likely as not: that one is none."""
    if not stream.isatty():
        return False
    by = started()
    return by is None or by.by in _OWN_TERMINALS


def is_plain(stream: TextIO) -> bool:
    """Whether ``stream`` takes text only: no terminal, a dumb one, or one of a user who set NO_COLOR."""
    return not is_terminal(stream) or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "", None)


def printable(text: str) -> str:
    """Text that may hold anything, such as a file's name, with escapes for what a terminal would obey. Lines and tabs
    stay. JSON stays JSON, and means the same: it has no other control characters than those with such an escape."""
    return _HIDDEN.sub(lambda found: f"\\x{ord(found[0]):02x}" if found[0] < " " else f"\\u{ord(found[0]):04x}", text)


class StdoutError(OSError):
    """Standard output takes no more, though somebody may still read it: a full disk, a lost server."""

    def __str__(self) -> str:
        return f"standard output cannot be written: {self.strerror}"


STDOUT_HINT = "make room where it goes, or send it elsewhere"


class TerminalStream:
    """A stream as ``print`` and others write to it: only what is :func:`printable` reaches the terminal."""

    def __init__(self, stream: TextIO, *, is_data: bool) -> None:
        """``is_data``: what cannot be written there is an error. The rest is narration, and goes nowhere then."""
        self.stream = stream
        self._is_data = is_data

    def write(self, text: str) -> int:
        with self._kept():
            self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._kept():
            self.stream.flush()

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._is_data and isinstance(error, BrokenPipeError):
                raise
            if self._is_data:
                raise StdoutError(error.errno, error.strerror) from None
            abandon(self.stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def abandon(stream: TextIO) -> None:
    """Nobody reads it any more: what is still to be written, also when the process ends, goes nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def printable_streams() -> Iterator[None]:
    """Wraps stdout and stderr until the block ends."""
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", TerminalStream(before[0], is_data=True))
    sys.stderr = cast("TextIO", TerminalStream(before[1], is_data=False))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def terminal(stream: TextIO) -> TextIO:
    """Returns the stream inside the wrapper, for a caller that moves the cursor and has made its text printable."""
    return stream.stream if isinstance(stream, TerminalStream) else stream
