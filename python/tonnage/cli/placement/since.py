"""``--since``: a date, or how long ago."""

from __future__ import annotations

import re
import time
from datetime import datetime

from tonnage.errors import RequestError
from tonnage.units import parse_time

_DAYS = re.compile(r"([0-9]{1,6})d")
_DAY_S = 86400.0
_AGE = re.compile(r"[0-9.]+ *(?:s|m|min|h)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:[+-][0-9]{2}:[0-9]{2})?)?")


def parse_since(text: str) -> float:
    """Seconds since 1970 of ``2026-11-01``, ``2026-11-01T09:00``, ``12h`` or ``7d``; by this host's zone where none is
    given. RequestError if it is neither, or not yet."""
    stripped = text.strip()
    now_s = time.time()
    if days := _DAYS.fullmatch(stripped):
        return max(0.0, now_s - int(days[1]) * _DAY_S)
    if _AGE.fullmatch(stripped):
        return max(0.0, now_s - parse_time(stripped) / 1e9)
    found = None
    if _DATE.fullmatch(stripped):
        try:
            found = datetime.fromisoformat(stripped).timestamp()
        except (ValueError, OverflowError, OSError):
            found = None
    if found is None:
        raise RequestError(f"{text!r} is no time; hint: write it like 2026-11-01, 2026-11-01T09:00, 12h or 7d")
    if found > now_s:
        raise RequestError(f"{text!r} is not yet; hint: give a time that is over")
    return found
