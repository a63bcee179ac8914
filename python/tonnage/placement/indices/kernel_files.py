"""Indices from the kernel's own files: of this host, or of another one over ssh, where nothing is installed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tonnage.machine.host_facts import parse_pressure
from tonnage.machine.site_tools import ToolError, ask
from tonnage.placement.indices.reading import Counters, Host, SourceError, queue

FILES = ("uptime", "stat", "loadavg", "meminfo", "vmstat", "diskstats", "net/rpc/nfsd", "pressure/io")
"""Below ``/proc``; the last two are there only where an NFS server runs, and where the kernel keeps pressure."""
_TMP = "/tmp"
_UTMP = "/run/utmp"
WHO = ("who", "-u")
ASKED = {"who": f"env LC_ALL=C {' '.join(WHO)}", "df": f"df -Pk {_TMP}", "utmp": f"stat -c %Y {_UTMP}"}
"""Facts that no file of the kernel contains, and the command that prints each."""
_SECTOR = 512
_TICKS_PER_S = 100
"""USER_HZ, which the kernel keeps at 100 on every architecture that HPC servers have."""
_KIB = 1024
_MINUTE_S = 60.0
_DAY_S = 86400.0
# Name, terminal, time, how long nobody typed (``.``: less than a minute), process.
_SESSION = re.compile(r"^\S+\s+\S+\s.*\s(?P<idle>\.|old|\d+:\d\d)\s+\d+(?:\s|$)", re.MULTILINE)
_HOST = re.compile(r"(?:[\w.-]+@)?[\w.:\[\]%-]+", re.ASCII)
# Every login shell interprets this in the same way. tail writes each file's name before it, and goes on past one that
# is not there.
_COMMAND = "; ".join(
    (
        f"tail -n +1 {' '.join(f'/proc/{name}' for name in FILES)}",
        *(f"echo; echo '==> /proc/{name} <=='; {command}" for name, command in ASKED.items()),
        "exit 0",
    )
)
_HEADING = re.compile(r"^==> /proc/(\S+) <==\n", re.MULTILINE)


def read_counters(root: str, timeout_s: float) -> Counters:
    """Reads ``root`` (``/proc``); SourceError."""
    found = _asked_here(timeout_s)
    for name in FILES:
        try:
            found[name] = Path(root, name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
    try:
        # The clock is this host's own: there is no offset, whatever the boot time in whole seconds implies.
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


def of_proc(found: Mapping[str, str], at_s: float) -> Host:
    """From the kernel's files, ``who`` (``who -u``), ``utmp`` (when it changed last) and ``df`` (``df -Pk /tmp``), of
    which any may be missing or say something else."""
    averages = found.get("loadavg", "").split()
    memory = _numbers_by_name(found.get("meminfo", ""))
    logins, idle_s = _sessions(found, at_s)
    return Host(
        run_15s=queue(_numbers_by_name(found.get("stat", "")).get("procs_running")),
        run_1m=_average(averages[0:1]),
        run_15m=_average(averages[2:3]),
        logins=logins,
        idle_s=idle_s,
        tmp_free_bytes=_free_of_df(found.get("df", "")),
        swap_free_bytes=_kib(memory.get("SwapFree")),
        memory_free_bytes=_kib(memory.get("MemAvailable")),
    )


def pages(text: str) -> int | None:
    """Returns the pages moved from and to swap space, from ``/proc/vmstat``."""
    table = _numbers_by_name(text)
    both = [table.get(name) for name in ("pswpin", "pswpout")]
    return None if None in both else sum(int(one) for one in both if one is not None)


def _numbers_by_name(text: str) -> dict[str, float]:
    """``name 12`` or ``name: 12 kB``, a line each; lines of another kind are left out."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isascii() and words[1].isdigit() and len(words[1]) < 20:
            found[words[0].removesuffix(":")] = float(words[1])
    return found


def _average(words: list[str]) -> float | None:
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


def read_counters_over_ssh(host: str, timeout_s: float) -> Counters:
    """Asks ``[USER@]HOST``, which must let this user in without a question; SourceError."""
    if not _HOST.fullmatch(host):
        raise SourceError(f"'ssh:{host}' names no host; hint: write ssh:HOST, and the rest in ~/.ssh/config")
    options = ["-T", "-x", "-a", "-oBatchMode=yes", f"-oConnectTimeout={max(1, round(timeout_s))}"]
    try:
        said = ask(["ssh", *options, "--", host, _COMMAND], timeout_s=timeout_s, outlived=True)
    except ToolError as error:
        raise SourceError(f"{host}: {error}") from None
    at_s = time.time()
    try:
        return parse_printed(said.out, at_s)
    except (ValueError, KeyError, IndexError):
        raise SourceError(f"{host} does not print its /proc over ssh") from None


def parse_printed(text: str, at_s: float) -> Counters:
    """Parses the output of the command; errors as of ``parse``."""
    pieces = _HEADING.split(text)
    return parse(dict(zip(pieces[1::2], pieces[2::2], strict=True)), at_s)
