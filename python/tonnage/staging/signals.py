"""Receives signals one by one at chosen places instead of in handlers."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from types import TracebackType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FROM_KERNEL = 0x80
"""``si_code`` of what a terminal sends to its whole foreground group."""


@dataclass(frozen=True, slots=True)
class EndRequest:
    """A request to end this process."""

    number: signal.Signals
    by_terminal: bool
    """The application in the same group has had it too."""


class Signals:
    """Use as a context, entered before any thread is started: they inherit that these signals are not theirs."""

    def __enter__(self) -> Signals:
        # A child's end wakes the wait as well.
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGCHLD})
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        while signal.sigtimedwait((*ENDING, signal.SIGCHLD), 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def wait(self, timeout_s: float) -> EndRequest | None:
        """What was asked within the time; None too when a child has ended."""
        found = signal.sigtimedwait((*ENDING, signal.SIGCHLD), timeout_s)
        # Stopped and continued in the last moment of the wait, Python hands out what was never filled in.
        if found is None or found.si_signo not in ENDING:
            return None
        return EndRequest(signal.Signals(found.si_signo), found.si_code == _FROM_KERNEL)
