"""Tasks as threads of this process."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from tonnage import _native


class LocalStep:
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


class LocalEnsemble:
    """This process."""

    def __init__(self, target: dict[str, Any], series_directory: Path | None) -> None:
        self.host = platform.node()
        directory = None if series_directory is None else str(series_directory)
        self._target = _native.Target(json.dumps(target), series_directory=directory)

    def prepare(self, phase: dict[str, Any]) -> LocalStep:
        return LocalStep(self._target.start(json.dumps(phase)))

    def clear(self) -> None:
        self._target.clear()

    def finish(self) -> list[tuple[str, str]]:
        return self._target.finish()

    def keep_named(self, keep: bool) -> None:
        self._target.keep_named(keep)

    def now_ns(self) -> int:
        return self._target.now_ns()


class Local:
    """The launcher where there is no MPI and no scheduler."""

    name = "local"

    def open(self, target: dict[str, Any], series_directory: Path | None) -> LocalEnsemble:
        return LocalEnsemble(target, series_directory)
