"""``iobsub`` as a user types it."""

from __future__ import annotations

import io

from tonnage.compat.front_end import Voice
from tonnage.compat.iobsub.command import run


def said(*words: str) -> tuple[int, list[str], str]:
    """Exit code, the lines on stdout, and stderr."""
    voice = Voice(io.StringIO(), io.StringIO())
    code = run(words, voice)
    assert isinstance(voice.out, io.StringIO) and isinstance(voice.err, io.StringIO)
    return code, voice.out.getvalue().splitlines(), voice.err.getvalue()
