"""Samples how much waits, is copied and is safe while files are staged: the timeline of a ``stage`` phase."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tonnage.records.phase_results import StageSample

MOST = 400
"""Samples of a phase: where there would be more, every second one goes, and the others come half as often."""
_EVERY_S = 0.1

Standing = Callable[[], tuple[int | None, int | None, int]]
"""Bytes that wait, that are being copied, and that are safe; None where unknown."""


class Progress:
    """Looks in a thread of its own, from the first call of ``start`` to ``stop``."""

    def __init__(self, standing: Standing, fast_tier: Path) -> None:
        self.samples: list[StageSample] = []
        self._standing, self._fast_tier = standing, fast_tier
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stage-progress", daemon=True)

    def start(self) -> None:
        """Starts the sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Ends looking. Nothing is asked any more once this has returned."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def sample(self) -> None:
        """Takes one sample. What cannot be asked, as a tree that is being cleared, leaves none."""
        try:
            queued, copying, safe = self._standing()
            told = os.statvfs(self._fast_tier)
        except (OSError, ValueError, RuntimeError):
            return
        self.samples.append([time.monotonic_ns(), queued, copying, safe, told.f_bavail * told.f_frsize])

    def _run(self) -> None:
        pause_s = _EVERY_S
        while not self._ended.wait(pause_s):
            self.sample()
            if len(self.samples) >= MOST:
                del self.samples[1::2]
                pause_s *= 2
