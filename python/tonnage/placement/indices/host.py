"""What a server tells of one moment beside its counters: run queues, memory, room in /tmp, who is logged in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_QUEUE_S = 15.0
_KIB = 1024
_MINUTE_S = 60.0
_DAY_S = 86400.0
# Name, terminal, time, how long nobody typed (``.``: less than a minute), process.
_SESSION = re.compile(r"^\S+\s+\S+\s.*\s(?P<idle>\.|old|\d+:\d\d)\s+\d+(?:\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """None: it does not tell."""

    run_15s: float | None = None
    """Processes that run or wait for a CPU: averaged over looks, a look's weight falling to 1/e in 15 s."""
    run_1m: float | None = None
    """The kernel's load averages; on Linux they count who waits for a disk as well."""
    run_15m: float | None = None
    logins: int | None = None
    idle_s: float | None = None
    """Since somebody who is logged in typed; where nobody is, since the last one came or left."""
    tmp_free_bytes: int | None = None
    swap_free_bytes: int | None = None
    memory_free_bytes: int | None = None
    """What programs can still get (the kernel's MemAvailable)."""

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Host:
        """TypeError where it was not kept by ``asdict``."""
        return cls(**kept)

    def averaged(self, before: Host, gap_s: float) -> Host:
        """With the run queue of 15 s, after ``before``, which is so much older."""
        if self.run_15s is None or before.run_15s is None or gap_s < 0:
            return self
        return replace(self, run_15s=self.run_15s + (before.run_15s - self.run_15s) * math.exp(-gap_s / _QUEUE_S))


NOT_TOLD = Host()
"""Of a server that tells none of it."""


def of_proc(found: Mapping[str, str], at_s: float) -> Host:
    """From the kernel's files, ``who`` (``who -u``), ``utmp`` (when it changed last) and ``df`` (``df -Pk /tmp``), of
    which any may be missing or say something else."""
    averages = found.get("loadavg", "").split()
    memory = _table(found.get("meminfo", ""))
    logins, idle_s = _sessions(found, at_s)
    return Host(
        run_15s=queue(_table(found.get("stat", "")).get("procs_running")),
        run_1m=_number(averages[0:1]),
        run_15m=_number(averages[2:3]),
        logins=logins,
        idle_s=idle_s,
        tmp_free_bytes=_free_of_df(found.get("df", "")),
        swap_free_bytes=_kib(memory.get("SwapFree")),
        memory_free_bytes=_kib(memory.get("MemAvailable")),
    )


def queue(running: float | None) -> float | None:
    """Processes that run or want to, without the one that looks."""
    return None if running is None else max(0.0, running - 1)


def pages(text: str) -> int | None:
    """Pages moved from and to swap space, of ``/proc/vmstat``."""
    table = _table(text)
    both = [table.get(name) for name in ("pswpin", "pswpout")]
    return None if None in both else sum(int(one) for one in both if one is not None)


def _table(text: str) -> dict[str, float]:
    """``name 12`` or ``name: 12 kB``, a line each; lines of another kind are left out."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isascii() and words[1].isdigit() and len(words[1]) < 20:
            found[words[0].removesuffix(":")] = float(words[1])
    return found


def _number(words: list[str]) -> float | None:
    return float(words[0]) if words and re.fullmatch(r"[0-9]{1,9}\.[0-9]{2}", words[0]) else None


def _kib(value: float | None) -> int | None:
    return None if value is None else int(value) * _KIB


def _sessions(found: Mapping[str, str], at_s: float) -> tuple[int | None, float | None]:
    if "who" not in found:
        return None, None
    idle = [_idle_s(match["idle"]) for match in _SESSION.finditer(found["who"])]
    if idle:
        return len(idle), min(idle)
    changed = found.get("utmp", "").strip()
    return 0, max(0.0, at_s - int(changed)) if re.fullmatch(r"[0-9]{1,12}", changed) else None


def _idle_s(word: str) -> float:
    if word == ".":
        return 0.0
    if word == "old":
        return _DAY_S
    hours, _, minutes = word.partition(":")
    return (int(hours[:6]) * 60 + int(minutes)) * _MINUTE_S


def _free_of_df(text: str) -> int | None:
    """The fourth column of the last line: KiB that an ordinary user may still write."""
    words = text.strip().splitlines()[-1].split() if text.strip() else []
    at = len(words) - 3
    return int(words[at]) * _KIB if at > 0 and re.fullmatch(r"[0-9]{1,18}", words[at]) else None
