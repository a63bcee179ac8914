"""Who measured: names, versions and sizes of the host, for the manifest."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from tonnage.machine.affinity import cpu_affinity
from tonnage.machine.fact_types import HostFacts


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
