"""What a launcher hands on to the engine, where a phase, or its model, runs in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage import _native


class NativeStep:
    """A phase of this process alone: its own start line is the trial's."""

    def __init__(self, phase: _native.Phase) -> None:
        self._phase = phase

    def go(self) -> None:
        self._phase.go()

    def wait(self, timeout_s: float) -> bool:
        return self._phase.wait(timeout_s)

    def stop(self) -> None:
        self._phase.stop()

    def live(self) -> dict[str, Any]:
        return self._phase.live()

    def result(self) -> dict[str, Any]:
        return self._phase.result()

    def hosts(self) -> Sequence[str]:
        """As ``Step.hosts``."""
        raise NotImplementedError

    def gathering(self) -> None:
        return None


class NativeEnsemble:
    """This process, with a target open."""

    def __init__(self, target: dict[str, Any], series_directory: Path | None, host: str) -> None:
        self.host = host
        directory = None if series_directory is None else str(series_directory)
        self._target = _native.Target(json.dumps(target), series_directory=directory)

    def clear(self) -> None:
        self._target.clear()

    def finish(self) -> list[tuple[str, str]]:
        return self._target.finish()

    def keep_named(self, keep: bool) -> None:
        self._target.keep_named(keep)

    def now_ns(self) -> int:
        return self._target.now_ns()
