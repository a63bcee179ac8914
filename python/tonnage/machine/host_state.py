"""What of this host, besides the storage, decides how fast a measurement is: other load, memory, clock rates."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import shutil
from pathlib import Path

from tonnage.machine.fact_types import HostState
from tonnage.machine.host_facts import host_facts, memory
from tonnage.machine.host_load import load

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
    if (told := _number(cpus / "intel_pstate/no_turbo")) is not None:
        return told == 0
    told = _number(cpus / "cpufreq/boost")
    return None if told is None else told == 1


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
