"""How long a mover moved data: the time with copies in progress, without idle time."""

from __future__ import annotations

from tonnage.staging.mover_status import MoverStatus

LOOK_S = 0.1
"""Seconds between two samples: the time of a single file may count too long by so much."""


class Movement:
    """Looked at again and again, from the mover's start to its end; times of the monotonic clock."""

    def __init__(self, began_ns: int) -> None:
        self.moving_ns = 0
        self._seen_ns = began_ns
        self._copied_bytes = 0
        self._in_flight = False

    def update(self, status: MoverStatus, now_ns: int) -> None:
        """Counts the time since the last sample where bytes were copied in it, or a file was in hand: a server that
        keeps it waiting is slow, and a mover that was paused is not."""
        in_flight = status["copying"]["files"] > 0 and not is_paused(status)
        if status["copied_bytes"] > self._copied_bytes or (in_flight and self._in_flight):
            self.moving_ns += now_ns - self._seen_ns
        self._seen_ns, self._copied_bytes, self._in_flight = now_ns, status["copied_bytes"], in_flight


def is_paused(status: MoverStatus) -> bool:
    """Whether a user said that nothing is to move."""
    return status["limit_bytes_per_s"] == 0 or status["limit_files_per_s"] == 0
