"""What a host is and how busy it is: for the manifest, and all that decides beside the storage how fast it measures."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import resource
import shutil
from pathlib import Path
from typing import TypedDict

from tonnage.machine.affinity import cpu_affinity


class HostFacts(TypedDict):
    """Names, versions and sizes, for the manifest. Sizes in bytes."""

    hostname: str
    system: str
    kernel: str
    architecture: str
    distribution: str | None
    cpu_model: str | None
    cpu_count: int | None
    cpus_allowed: int
    cpu_affinity: list[int]
    memory_bytes: int | None
    page_bytes: int
    clock: str | None
    python: str
    user_is_root: bool


class HostLoad(TypedDict):
    """How busy a host is; ``pressure``: resource → ``some_avg10`` and others, in per cent of time."""

    load_1min: float
    load_5min: float
    load_15min: float
    pressure: dict[str, dict[str, float]] | None


class HostState(HostFacts, HostLoad):
    """What besides the storage decides how fast a measurement is."""

    available_bytes: int | None
    swap_bytes: int | None
    swap_used_bytes: int | None
    governors: list[str]
    boost: bool | None
    open_files: int
    io_uring: bool
    not_io_uring: str | None
    io_uring_disabled: int | None
    cache_settings: dict[str, int]
    tools: list[str]


class PathFacts(TypedDict, total=False):
    """A path on a host (``path_facts``)."""

    path: str
    problem: str | None
    is_directory: bool | None
    mount_point: str | None
    file_system: str | None
    device: str | None
    options: str | None
    identity: str | None
    free_bytes: int | None
    size_bytes: int | None
    writable: bool | None
    not_writable: str | None
    direct: bool | None
    not_direct: str | None


def host_facts() -> HostFacts:
    """Facts by name; ``None`` for what this system does not say. Sizes in bytes."""
    return {
        "hostname": platform.node(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "distribution": _distribution(),
        "cpu_model": _cpu_model(),
        "cpu_count": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "cpu_affinity": cpu_affinity(),
        "memory_bytes": memory("MemTotal"),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "clock": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "python": platform.python_version(),
        "user_is_root": os.geteuid() == 0,
    }


def memory(name: str) -> int | None:
    """Returns a line of /proc/meminfo (``MemTotal``, ``MemAvailable``), in bytes."""
    for line in (_read("/proc/meminfo") or "").splitlines():
        key, _, rest = line.partition(":")
        if key == name:
            return int(rest.split()[0]) * 1024
    return None


def _cpu_model() -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or None


def _distribution() -> str | None:
    for line in (_read("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def load() -> HostLoad:
    """``load_1min``, ``load_5min``, ``load_15min``; ``pressure``: resource → {``some_avg10``, …} in per cent of time.

    Pressure is ``None`` where the kernel keeps no pressure stall information.
    """
    one, five, fifteen = os.getloadavg()
    pressure = {}
    for name in ("cpu", "io", "memory"):
        try:
            pressure[name] = parse_pressure(Path("/proc/pressure", name).read_text(encoding="ascii"))
        except OSError:
            continue
    return {"load_1min": one, "load_5min": five, "load_15min": fifteen, "pressure": pressure or None}


def parse_pressure(text: str) -> dict[str, float]:
    """The averages of one file below /proc/pressure: ``some avg10=0.12 …`` becomes ``{"some_avg10": 0.12, …}``."""
    found = {}
    for line in text.splitlines():
        kind, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            if name.startswith("avg"):
                found[f"{kind}_{name}"] = float(value)
    return found


_IO_URING_SETUP = 425
"""The system call's number, the same on every architecture."""
_PARAMS_BYTES = 120
"""Of ``struct io_uring_params``."""
_CPUS = Path("/sys/devices/system/cpu")
_DIRTY = ("dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes")
_TOOLS = ("iperf3",)


def host_state() -> HostState:
    """Service ``host_state``: the keys of ``host_facts`` and of ``load``, and ``available_bytes``, ``swap_bytes``,
    ``swap_used_bytes``, ``governors`` (each that a CPU has), ``boost`` (may CPUs go above their nominal rate),
    ``open_files`` (this process's limit), ``io_uring`` (allowed), ``not_io_uring`` (why not), ``io_uring_disabled``
    (the sysctl), ``cache_settings`` (name → value) and ``tools`` (those installed). None: the system does not say.
    """
    total, free = memory("SwapTotal"), memory("SwapFree")
    allowed, why_not = io_uring_allowed()
    return {
        **host_facts(),
        **load(),
        "available_bytes": memory("MemAvailable"),
        "swap_bytes": total,
        "swap_used_bytes": None if total is None or free is None else total - free,
        "governors": governors(_CPUS),
        "boost": boost(_CPUS),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "io_uring": allowed,
        "not_io_uring": why_not,
        "io_uring_disabled": _number(Path("/proc/sys/kernel/io_uring_disabled")),
        "cache_settings": cache_settings(),
        "tools": [tool for tool in _TOOLS if shutil.which(tool)],
    }


def io_uring_allowed() -> tuple[bool, str | None]:
    """Asks the kernel for a ring, as a storage would: a sysctl, a container or the kernel's build may forbid it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    ring = libc.syscall(ctypes.c_long(_IO_URING_SETUP), ctypes.c_uint(1), ctypes.create_string_buffer(_PARAMS_BYTES))
    if ring >= 0:
        os.close(ring)
        return True, None
    number = ctypes.get_errno()
    return False, "this kernel has none" if number == errno.ENOSYS else os.strerror(number)


def governors(cpus: Path) -> list[str]:
    """The policies by which the kernel sets clock rates, each once; empty where it does not."""
    return sorted({text for file in cpus.glob("cpufreq/policy*/scaling_governor") if (text := _text(file))})


def boost(cpus: Path) -> bool | None:
    """Whether CPUs may go above their nominal rate for as long as heat and neighbours allow."""
    if (setting := _number(cpus / "intel_pstate/no_turbo")) is not None:
        return setting == 0
    setting = _number(cpus / "cpufreq/boost")
    return None if setting is None else setting == 1


def cache_settings() -> dict[str, int]:
    """How much a client may keep in memory, unwritten or to read again."""
    found = {f"vm.{name}": _number(Path("/proc/sys/vm", name)) for name in _DIRTY}
    for root in (Path("/proc/fs/lustre/llite"), Path("/sys/fs/lustre/llite")):
        for file in root.glob("*/max_cached_mb"):
            match = re.search(r"(?:^|max_cached_mb:)\s*(\d+)", _text(file) or "", re.MULTILINE)
            found[f"llite.{file.parent.name.rpartition('-')[0] or file.parent.name}.max_cached_mb"] = (
                int(match[1]) if match else None
            )
    return {name: value for name, value in sorted(found.items()) if value is not None}


def _number(file: Path) -> int | None:
    text = _text(file)
    return int(text) if text and text.lstrip("-").isdigit() else None


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
