"""One mover process, from its start until it is drained or killed at some moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stage_trees import LAB, STATE, Stage

PATIENCE_S = 60.0
WAIT_S = 5.0
"""The limit of a wait; one that is blocked proves nothing."""
LOOK_S = 0.0002
MOMENTS = ("any", "temporary", "aside", "placed")


class Hangs(Exception):
    """A mover that does not end."""


@dataclass
class Ended:
    """How a life ended: its exit code, its last status, and what it said where it had none."""

    code: int
    status: dict[str, Any] = field(default_factory=dict)
    said: str = ""

    def reasons(self) -> list[str]:
        failures = [f"{found['path']}: {found['reason']}" for found in self.status.get("failures", [])]
        return [*failures, *self.status.get("notes", []), *self.said.strip().splitlines()[-1:]]


class Life:
    """The bare mover on a stage."""

    def __init__(self, stage: Stage, release: Callable[[], None]) -> None:
        """``release`` ends what makes calls of the destination wait: not even a killed process ends in one of those."""
        from tonnage import _native

        self._stage, self._release = stage, release
        words = [sys.executable, "-I", "-S", LAB / "bare_mover.py", _native.__file__, stage.written()]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._stopped = False

    def freeze(self, stopped: bool) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP if stopped else signal.SIGCONT)
            self._stopped = stopped

    def wait(self) -> dict[str, Any]:
        """What ``tonnage stage wait`` gets; empty where the mover has ended, or is not there in time."""
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{WAIT_S}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            return json.loads(line) if line else {}
        return {}

    def drain(self) -> Ended:
        """Until it ends. Raises TimeoutExpired for one that does not."""
        self.freeze(False)
        self._release()
        try:
            out, said = self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.communicate()
            raise Hangs(f"a mover that drains has not ended after {PATIENCE_S} s: {self._status()}") from error
        return Ended(self._process.returncode, json.loads(out) if out else {}, said)

    def _status(self) -> str:
        """What its journal says."""
        from tonnage import _native

        status = _native.stage_status(self._stage.state)
        return ", ".join(f"{key} {status[key]}" for key in ("queued", "failed", "waiting", "failures", "notes"))

    def kill(self, moment: str = "any", wait_s: float = 0.0) -> None:
        """Sends SIGKILL at the moment, or after so long."""
        until = time.monotonic() + wait_s
        placed = self._placed() if moment == "placed" else 0
        while time.monotonic() < until and self._process.poll() is None:
            if moment == "temporary" and self._stage.temporaries():
                break
            if moment == "aside" and self._is_clearing():
                break
            if moment == "placed" and self._placed() > placed:
                break
            time.sleep(LOOK_S)
        self._process.kill()
        self._release()
        self._process.communicate()

    def _is_clearing(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(os.listdir(self._stage.source / STATE / "cleared"))
        return False

    def _placed(self) -> int:
        return sum(len(names) for _, _, names in os.walk(self._stage.to))
