"""What waits for a step that it must not cut in two, or would only make longer."""

from __future__ import annotations

import gc
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


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the search for cycles: what makes thousands of objects that stay makes none, and a search through all
    that this process has imported takes longer than many a step. Of an import of models it is a twelfth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
