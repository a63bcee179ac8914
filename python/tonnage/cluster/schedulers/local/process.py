"""A process by more than its number, which the kernel gives to another one day."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """One process for ever: its number, when it started, and since which start of the host that counts."""

    pid: int
    start_ticks: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The one that has this number now; None where there is none, or only its remains."""
        start_ticks = _start_ticks(pid)
        return None if start_ticks is None else cls(pid, start_ticks, _boot())

    @classmethod
    def this(cls) -> Process:
        """The one that asks."""
        found = cls.of(os.getpid())
        assert found is not None
        return found

    @classmethod
    def read(cls, record: dict[str, Any]) -> Process:
        """As ``asdict`` wrote it."""
        return cls(int(record["pid"]), int(record["start_ticks"]), str(record["boot"]))

    @property
    def alive(self) -> bool:
        """Whether it runs; one that ended and that nobody has waited for does not."""
        return Process.of(self.pid) == self


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may have any characters.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
