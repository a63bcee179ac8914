"""Ctrl-C and SIGTERM for a command that goes on until one of them comes, and keeps what it saw."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from tonnage.errors import RequestError
from tonnage.units import format_time

_SHORTEST_NS = 10**8
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def not_too_often(every_ns: int) -> None:
    """RequestError for looks that would follow each other without end."""
    if every_ns < _SHORTEST_NS:
        raise RequestError(
            f"--every {format_time(every_ns)} is too often; hint: give at least {format_time(_SHORTEST_NS)}"
        )


class Stop:
    """While entered, a signal ends what is done within ``open`` at once, and all else when it is done."""

    def __init__(self) -> None:
        self.asked = False
        self._is_open = False
        self._before: dict[signal.Signals, Callable[..., Any] | int | None] = {}

    def __enter__(self) -> Stop:
        for number in _SIGNALS:
            # nohup ignores SIGHUP on purpose.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def open(self) -> Iterator[None]:
        """What a signal may end: KeyboardInterrupt, also for one that came before."""
        self._is_open = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._is_open = False

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        if self._is_open:
            self._is_open = False  # a second one is no other wish
            raise KeyboardInterrupt
