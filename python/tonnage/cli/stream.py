"""What a stream takes."""

from __future__ import annotations

import os
from typing import TextIO


def is_plain(stream: TextIO) -> bool:
    """Whether ``stream`` takes text only: a pipe, a dumb terminal, or a user who set NO_COLOR."""
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "", None)


def one_line(text: str) -> str:
    """Text that may hold any bytes, such as a file's name, as a terminal can show it on one line."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
