"""Ctrl-C and SIGTERM for a command that goes on until one of them comes, and keeps what it saw."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
