"""The limit of each wait, in seconds: no wait is unlimited. ``docs/many-hosts.md`` has the same table."""

from __future__ import annotations

import os

from tonnage.errors import RequestError

MEET_S = 180.0
"""From a process's start until all others have answered it."""
ORDER_S = 600.0
"""For an order outside the clock: open a storage, prepare a phase, remove files."""
BARRIER_S = 60.0
"""For the start line, once all stand ready."""
BEAT_S = 1.0
"""Between two heartbeats of a process in a phase."""
SIGNALLED_S = 0.5
"""After a signal to end, until a process that sends no heartbeat counts as lost."""
LEAVE_S = 20.0
"""For the end of MPI, once all have the command to leave."""
SILENT_S = 30.0
"""Without a heartbeat in a phase, until a process counts as lost; ``TONNAGE_LOST_AFTER`` sets another limit."""
VARIABLE = "TONNAGE_LOST_AFTER"


def silent_s() -> float:
    """``SILENT_S``, or what the environment says: seconds, at least 2. RequestError for anything else."""
    text = os.environ.get(VARIABLE)
    if not text:
        return SILENT_S
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 2 <= value <= 86400:
        raise RequestError(f"{VARIABLE} is {text!r}; hint: give seconds from 2 to 86400")
    return value
