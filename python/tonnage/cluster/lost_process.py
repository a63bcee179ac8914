"""The error that names a process of the run that is gone. Followers import this and nothing else of the launchers."""

from __future__ import annotations

from tonnage.errors import MeasurementError


class ProcessLost(MeasurementError):
    """A process of the run ended, or gave no sign of life for too long: there is no going on with those that are left.
    The text says which, where, how and when."""

    def __init__(self, rank: int, host: str, how: str) -> None:
        from datetime import datetime, timezone

        when = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        super().__init__(f"process {rank} on {host} is lost: {how} (seen {when})")
        self.rank = rank
        self.host = host
        self.how = how
