"""What a stream takes."""

from __future__ import annotations

import os
from typing import TextIO


def is_plain(stream: TextIO) -> bool:
    """Whether ``stream`` takes text only: a pipe, a dumb terminal, or a user who set NO_COLOR."""
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "", None)
