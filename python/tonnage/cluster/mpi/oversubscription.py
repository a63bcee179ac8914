"""Keeps hundreds of processes on a few processors from slowing each other down while they start and end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_SLACK_NS = b"4000000"
_USUAL = b"0"


class unhurried:
    """Within it this thread's short sleeps may take some milliseconds longer.

    An MPI library waits for other processes by looking every 0.1 ms: hundreds that do so leave no processor to those
    that are still to come. Without support by the kernel this has no effect.
    """

    def __enter__(self) -> None:
        _set_slack(_SLACK_NS)

    def __exit__(self, *_: object) -> None:
        _set_slack(_USUAL)


class within:
    """Calls ``otherwise`` from a thread of its own if the body has not ended after so long."""

    def __init__(self, limit_s: float, otherwise: Callable[[], Any]) -> None:
        self._timer = threading.Timer(limit_s, otherwise)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _set_slack(text: bytes) -> None:
    with suppress(OSError), open("/proc/self/timerslack_ns", "wb", buffering=0) as file:  # noqa: PTH123 - no pathlib for followers
        file.write(text)
