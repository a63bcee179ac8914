"""Indices from the kernel's own files: of this host, or as another one printed them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tonnage.machine.load import parse_pressure
from tonnage.machine.tool import ToolError, ask
from tonnage.placement.indices.counters import Counters
from tonnage.placement.indices.host import of_proc, pages
from tonnage.placement.indices.source import SourceError

FILES = ("uptime", "stat", "loadavg", "meminfo", "vmstat", "diskstats", "net/rpc/nfsd", "pressure/io")
"""Below ``/proc``; the last two are there only where an NFS server runs, and where the kernel keeps pressure."""
_TMP = "/tmp"
_UTMP = "/run/utmp"
WHO = ("who", "-u")
ASKED = {"who": f"env LC_ALL=C {' '.join(WHO)}", "df": f"df -Pk {_TMP}", "utmp": f"stat -c %Y {_UTMP}"}
"""What no file of the kernel tells, and the command that does."""
_SECTOR = 512
_TICKS_PER_S = 100
"""USER_HZ, which the kernel keeps at 100 on every architecture that HPC servers have."""


def look(root: str, timeout_s: float) -> Counters:
    """Reads ``root`` (``/proc``); SourceError."""
    found = _asked_here(timeout_s)
    for name in FILES:
        try:
            found[name] = Path(root, name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
    try:
        # The clock is this host's own, whatever the second in which it is said to have started.
        return replace(parse(found, time.time()), wall_s=None)
    except (ValueError, KeyError, IndexError):
        raise SourceError(f"{root} does not tell what this host's CPUs do") from None


def _asked_here(timeout_s: float) -> dict[str, str]:
    """``ASKED`` of this host, with as few processes as will do."""
    found = {}
    with suppress(ToolError):
        found["who"] = ask(WHO, timeout_s=timeout_s).out
    with suppress(OSError):
        found["utmp"] = str(int(Path(_UTMP).stat().st_mtime))
    with suppress(OSError):
        room = os.statvfs(_TMP)
        found["df"] = f"{_TMP} 0 0 {room.f_bavail * room.f_frsize // 1024} 0% {_TMP}"
    return found


def parse(found: Mapping[str, str], at_s: float) -> Counters:
    """Name (of ``FILES`` and ``ASKED``) → text; KeyError, IndexError or ValueError where ``uptime`` or ``stat`` do not
    read so."""
    uptime_s = float(found["uptime"].split()[0])
    stat = {words[0]: words[1:] for line in found["stat"].splitlines() if (words := line.split())}
    # user nice system idle iowait irq softirq steal; guests are in user already.
    ticks = [int(word) for word in stat["cpu"][:8]]
    booted_s = float(stat["btime"][0])
    waiting_s, permille = _pressure(found.get("pressure/io", ""))
    return Counters(
        at_s=at_s,
        clock_s=uptime_s,
        wall_s=booted_s + uptime_s,
        booted_s=booted_s,
        cpus=sum(name.startswith("cpu") for name in stat) - 1,
        cpu_busy_s=(sum(ticks) - sum(ticks[3:5])) / _TICKS_PER_S,
        cpu_all_s=sum(ticks) / _TICKS_PER_S,
        disks=_disks(found.get("diskstats", "")),
        rpcs=_rpcs(found.get("net/rpc/nfsd", "")),
        io_waiting_s=waiting_s,
        io_waiting_permille=permille,
        paged=pages(found.get("vmstat", "")),
        host=of_proc(found, at_s),
    )


def _disks(text: str) -> dict[str, tuple[int, int]]:
    """Field numbers as the kernel's Documentation/admin-guide/iostats.rst counts them, after major, minor and name."""
    rows = [line.split() for line in text.splitlines()]
    return {row[2]: (int(row[3]) + int(row[7]), (int(row[5]) + int(row[9])) * _SECTOR) for row in rows if len(row) > 9}


def _rpcs(text: str) -> int | None:
    rows = [line.split() for line in text.splitlines()]
    return next((int(row[1]) for row in rows if len(row) > 1 and row[0] == "rpc"), None)


def _pressure(text: str) -> tuple[float | None, int | None]:
    """Seconds in all, and thousandths of the last 10 s."""
    for line in text.splitlines():
        if line.startswith("some ") and " total=" in line:
            average = parse_pressure(line)["some_avg10"]
            return int(line.rpartition("=")[2]) / 1e6, round(average * 10)
    return None, None
