"""Signals that wait for a step which must not be cut in two."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def late_signals() -> Iterator[None]:
    """A signal that comes meanwhile is delivered afterwards. For imports that nothing depends on yet: an interrupt in
    the middle of building a validator ends as an error of that, and its module is then never whole."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
