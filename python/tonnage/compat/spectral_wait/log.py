"""What ``spectral.log`` says, read as it grows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

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
