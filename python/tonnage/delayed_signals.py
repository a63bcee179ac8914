"""Delays signals, or garbage collection, during a step."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def late_signals() -> Iterator[None]:
    """Signals that arrive inside are delivered afterwards. For imports that nothing depends on yet: an interrupt in the
    middle of building a validator ends as an error of that, and its module is then never whole."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def uncollected() -> Iterator[None]:
    """Runs without the cyclic garbage collector: code that creates thousands of permanent objects creates no cycles,
    and a collection visits all imported objects."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def loading() -> Iterator[None]:
    """The same for the imports of a command, which stay until its process ends: no later collection looks at them, nor
    the one when Python takes itself down. Together these were up to a quarter of a short command's time."""
    with uncollected():
        yield
        gc.freeze()
