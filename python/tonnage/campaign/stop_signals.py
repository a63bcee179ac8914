"""Turns SIGINT, SIGTERM and SIGHUP into a flag that the run loop checks: cleaning up is then ordinary code."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from tonnage import _native

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_S = 0.5
"""Signals this close after the first count as one: a terminal signals all processes, a launcher passes its own on."""

_END = 0
"""No signal has this number."""


class Interrupts:
    """While entered, a signal is remembered instead of ending the process. From the second signal on, nothing waits for
    a server that does not answer. Main thread only."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Callable[..., Any] | int | None] = {}
        self._watch: _Watch | None = None

    def __enter__(self) -> Interrupts:
        for number in _SIGNALS:
            # nohup and batch systems ignore SIGHUP on purpose.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._remember)
        self._watch = _Watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.end()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __bool__(self) -> bool:
        return self.received is not None

    @property
    def again(self) -> bool:
        """Returns whether a second signal came. Failures after it may be due to the signal alone."""
        return self._watch is not None and self._watch.again

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.received = signal.Signals(number)


class _Watch:
    """A thread that sees signals also while the main thread waits inside the engine, where no handler runs."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self.again = False
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch_signals, name="tonnage-signals", daemon=True)
        self._thread.start()

    def _watch_signals(self) -> None:
        first_s: float | None = None
        while _END not in (numbers := os.read(self._read, 64)):
            if not any(number in _SIGNALS for number in numbers):
                continue
            now_s = time.monotonic()
            if first_s is None:
                first_s = now_s
            elif now_s - first_s > _SAME_S:
                self.again = True
                _native.end_waits(True)

    def end(self) -> None:
        signal.set_wakeup_fd(self._before)
        os.write(self._write, bytes([_END]))
        self._thread.join()
        for end in (self._read, self._write):
            os.close(end)
        _native.end_waits(False)
