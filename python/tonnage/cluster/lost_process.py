"""The error that names a process of the run that is gone. Worker processes import this module and nothing else of the
launchers."""

from __future__ import annotations

from tonnage.errors import MeasurementError


class ProcessLost(MeasurementError):
    """A process of the run ended, or sent no heartbeat for too long; the run cannot continue without it. The text says
    which, where, how and when."""

    def __init__(self, rank: int, host: str, how: str) -> None:
        from datetime import datetime, timezone

        when = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        super().__init__(f"process {rank} on {host} is lost: {how} (seen {when})")
        self.rank = rank
        self.host = host
        self.how = how
