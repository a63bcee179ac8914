"""ext4: facts of a mounted one in ``/proc/fs/ext4`` and ``/sys/fs/ext4``, readable for all users."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tonnage.filesystems.local import add_device, holders
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.machine.mounts import block_name, block_number

__all__ = ["facts", "holders"]
_PROC, _SYS = Path("/proc/fs/ext4"), Path("/sys/fs/ext4")


def facts(mounted: MountedPath) -> Facts:
    """``block_bytes``, ``journal`` (``ordered``, ``writeback``, ``journal``, ``none``), ``stripe_bytes`` (of a RAID
    below, as the file system was told; missing without one), ``commit_s``, ``delayed_allocation``, ``barrier`` and
    ``options`` (all that hold, defaults included)."""
    found = Gathering()
    add_device(mounted, found)
    block = found.ask("block_bytes", lambda: os.statvfs(mounted.path).f_bsize)
    name = block_name(block_number(mounted.mount)) or ""
    text = found.ask("options", lambda: _options(name))
    if text is not None:
        found.facts |= of_options(text, block)
        found.facts["journal"] = journal(text, name)
    return found.as_dict()


def of_options(text: str, block_bytes: int | None) -> Facts:
    """Returns facts from the options in effect: ``rw,delalloc,barrier,data=ordered,commit=5,stripe=64``."""
    words = text.split(",")
    found: Facts = {"delayed_allocation": "delalloc" in words, "barrier": "barrier" in words}
    if match := re.search(r"(?:^|,)commit=([0-9]+)", text):
        found["commit_s"] = int(match[1])
    # In blocks; 0 is none.
    if (match := re.search(r"(?:^|,)stripe=([1-9][0-9]*)", text)) and block_bytes:
        found["stripe_bytes"] = int(match[1]) * block_bytes
    return found


def journal(options: str, name: str) -> str | None:
    """How the journal keeps data, ``none`` without one, None where the kernel does not say: it prints ``data=`` only
    where there is a journal, and else who writes it."""
    if match := re.search(r"(?:^|,)data=(\w+)", options):
        return match[1]
    try:
        task = (_SYS / name / "journal_task").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return "none" if task == "<none>" else None


def _options(name: str) -> str:
    return ",".join((_PROC / name / "options").read_text(encoding="ascii", errors="replace").split())
