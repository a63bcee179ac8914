"""No process to be had: the spooler hears its signals all the same, and starts the copy later."""

from __future__ import annotations

import errno
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from tonnage.cluster.schedulers.local.spooler import Spooler


def test_signals_are_heard_after_a_fork_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_to_be_had() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    spool: Any = SimpleNamespace()
    spooler = Spooler(spool, -1)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    monkeypatch.setattr(os, "fork", none_to_be_had)
    try:
        job: Any = SimpleNamespace()
        with pytest.raises(BlockingIOError):
            spooler._fork(job)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
