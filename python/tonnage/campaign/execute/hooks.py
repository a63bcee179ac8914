"""Commands that a user has run around trials, outside the clock. No shell sees them."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tonnage.campaign.stop_signals import Interrupts

_LOOK_S = 0.1
_PATIENCE_S = 5.0
"""From asking a hook to end to ending it."""
_CLEARING_S = 60.0
"""How long cleanup and teardown may go on after an interrupt."""
_TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Hook:
    """Holds the directory and the environment that hooks run in."""

    directory: Path
    environment: tuple[str, ...]
    interrupts: Interrupts

    def run(self, name: str, argv: Sequence[str] | None, about: Mapping[str, str]) -> str | None:
        """Runs a hook to its end; why it failed, in one sentence, or None.

        A signal to this process ends what begins something at once, and lets what clears up go on for a while.
        """
        begins = name in ("setup", "prepare", "before_phase")
        if not argv or (begins and self.interrupts):
            return None
        given = dict(variable.split("=", 1) for variable in self.environment)
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    list(argv),
                    cwd=self.directory,
                    env={**os.environ, **given, **about},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    # A group of its own: a terminal's Ctrl-C is not meant for it, and all of it can be ended.
                    start_new_session=True,
                )
            except OSError as error:
                return f"{name} did not run: {error.strerror}"
            code = self._wait(process, 0.0 if begins else _CLEARING_S)
            if code == 0 or (begins and self.interrupts):
                return None
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            last = _last_line(said)
            return f"{name} {how}" + (f": {last}" if last else "")

    def _wait(self, process: subprocess.Popen[bytes], patience_s: float) -> int:
        """Its exit code; it is ended so long after an interrupt was seen."""
        left = patience_s
        while True:
            try:
                return process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if self.interrupts:
                    if left <= 0:
                        return _end(process)
                    left -= _LOOK_S


class RunHooks:
    """Runs the hooks of a run: once before the first trial that asks for them, and once when the run is over."""

    def __init__(self) -> None:
        self._begun: dict[str, str | None] = {}
        """Hooks that ran once, and why each failed; None: it did not."""
        self._endings: dict[str, Callable[[], str | None]] = {}

    def once(self, name: str, begin: Callable[[], str | None]) -> str | None:
        """What ``begin`` returned, which is called the first time only: why it failed, or None."""
        if name not in self._begun:
            self._begun[name] = begin()
        return self._begun[name]

    def at_end(self, name: str, ending: Callable[[], str | None]) -> None:
        """Has ``ending`` called when the run ends, however it does; once for each name."""
        self._endings.setdefault(name, ending)

    def end(self) -> Iterator[str]:
        """The run ends: why each ending failed that did."""
        for ending in self._endings.values():
            if reason := ending():
                yield reason


def _end(process: subprocess.Popen[bytes]) -> int:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _last_line(said: IO[bytes]) -> str:
    """The last line of text in a file, fit for a message; empty where there is none."""
    end = said.seek(0, os.SEEK_END)
    said.seek(max(end - _TAIL_BYTES, 0))
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return "".join(c if c.isprintable() else " " for c in last)[:200]
