"""Waits for the movers of ``PERSIST_DIR`` and ``PFS_DIR``, in Spectral's words."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.compat.front_end import Voice, parse_arguments
from tonnage.compat.spectral_wait.options import SPECTRAL_WAIT
from tonnage.errors import RequestError
from tonnage.staging.control_socket import Client, NoMover
from tonnage.staging.mover_host import ENDED, is_safe, status_of
from tonnage.staging.mover_plan import STATE_DIRECTORY
from tonnage.staging.mover_status import Standing, Status
from tonnage.staging.registered_movers import registered

_LINE = re.compile(rb"Spectral Work (ENQUEUE|DEQUEUE|DONE) File : (.*)", re.DOTALL)


@dataclass
class Log:
    """Each file by the last word on it."""

    path: Path
    enqueued: set[bytes] = field(default_factory=set)
    dequeued: set[bytes] = field(default_factory=set)
    done: set[bytes] = field(default_factory=set)
    _read: int = 0
    _rest: bytes = b""

    def read_on(self) -> bool:
        """Takes in what was appended since; False while there is no log. A line without its end waits for it."""
        try:
            with self.path.open("rb") as log:
                log.seek(self._read)
                text = log.read()
        except FileNotFoundError:
            return False
        self._read += len(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            if match := _LINE.fullmatch(line):
                self._take(match[1], match[2])
        return True

    def _take(self, word: bytes, file: bytes) -> None:
        self.enqueued.add(file)
        # A file that is announced again is not finished any more.
        (self.dequeued.discard if word == b"ENQUEUE" else self.dequeued.add)(file)
        (self.done.add if word == b"DONE" else self.done.discard)(file)

    @property
    def counts(self) -> str:
        """As Spectral prints it."""
        return f"Enqueued:{len(self.enqueued)} Dequeued:{len(self.dequeued)} Done:{len(self.done)}"

    @property
    def unfinished(self) -> int:
        """Files that were announced and are not finished."""
        return len(self.enqueued - self.done)


LOG = "spectral.log"
_LOOK_S = 0.1
_SAY_S = 1.0


def run(words: Sequence[str], voice: Voice, environment: Mapping[str, str] | None = None) -> int:
    """Exit code: 1 where something did not arrive."""
    parse_arguments(SPECTRAL_WAIT, words)
    local, remote = _trees(os.environ if environment is None else environment)
    with LocalMover(local) as mover:
        return _wait(mover, Log(remote / LOG), local, voice)


def _wait(mover: LocalMover, log: Log, local: Path, voice: Voice) -> int:
    said_s = -_SAY_S
    while True:
        # The mover first: what it calls safe is in the log already.
        is_over = mover.is_done()
        if not log.read_on() and not mover.known:
            raise RequestError(
                f"there is no {LOG} in {log.path.parent} and no mover for {local}; "
                "hint: `tonnage stage start` before the application"
            )
        # What left the source before it was safe was announced and will never be done.
        moved = is_over and log.unfinished <= mover.gone
        if moved or time.monotonic() - said_s >= _SAY_S:
            voice.say(log.counts if log.enqueued else mover.counts)
            voice.out.flush()
            said_s = time.monotonic()
        if moved and mover.complaint is None:
            voice.say("All files moved")
            return 0
        if mover.complaint and is_over:
            voice.tell(f"spectral_wait: {mover.complaint}")
            return 1
        time.sleep(_LOOK_S)


class LocalMover:
    """The mover of this host for a tree, if there is one."""

    def __init__(self, local: Path) -> None:
        states = [entry.state for entry in registered() if entry.source == local] or [local / STATE_DIRECTORY]
        self._client: Client | None = None
        self._scans = 0
        self.complaint: str | None = None
        """Why not everything will arrive."""
        self._status = self._first_status(states[0])
        self.known = self._status is not None

    def __enter__(self) -> LocalMover:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._client:
            self._client.__exit__()
            self._client = None

    @property
    def gone(self) -> int:
        """Files that were announced and left the source before they were safe."""
        return int(self._status["gone"]["files"]) if self._status else 0

    @property
    def counts(self) -> str:
        """In Spectral's words, for a mover that writes no log."""
        names: tuple[Standing, ...] = ("queued", "copying", "done")
        found = {name: self._status[name]["files"] if self._status else 0 for name in names}
        done = found["done"]
        return f"Enqueued:{found['queued'] + done} Dequeued:{found['copying'] + done} Done:{done}"

    def is_done(self) -> bool:
        """Whether it has nothing more to do, or will not do it."""
        if self._client:
            try:
                self._status = self._client.status()
            except NoMover:
                assert self._status
                self._leave()
                self._status = status_of(Path(self._status["state"]))
        if self._status is None:
            return True
        if self._client and self._status["progress"] not in ENDED:
            is_over = self._status["scans"] >= self._scans and not self._status["queued"]["files"]
        else:
            is_over = True
        self.complaint = None if is_safe(self._status) else _complaint(self._status)
        return is_over

    def _first_status(self, state: Path) -> Status | None:
        try:
            self._client = Client(state)
            self._scans = self._client.rescan()
            return self._client.status()
        except NoMover:
            self._leave()
        try:
            return status_of(state)
        except RequestError:
            return None


def _complaint(status: Status) -> str:
    failed, left = status["failed"]["files"], status["queued"]["files"]
    if failed:
        first = status["failures"][0]
        return f"{failed} files failed, first {first['path']}: {first['reason']}; hint: see `tonnage stage status`"
    return f"the mover does not run and {left} files are left; hint: `tonnage stage resume --wait`"


def _trees(environment: Mapping[str, str]) -> tuple[Path, Path]:
    found = []
    for name in ("PERSIST_DIR", "PFS_DIR"):
        if not environment.get(name):
            raise RequestError(f"{name} is not set; hint: export it as the script for Spectral does")
        found.append(Path.cwd() / environment[name])
    return found[0], found[1]
