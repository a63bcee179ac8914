"""BeeGFS: targets by ``beegfs`` (version 8) or ``beegfs-ctl`` (version 7), the client's caches where its module shows
them."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage.errors import RequestError
from tonnage.machine.mounts import Mount
from tonnage.machine.storages.held import Holding, Looked, striped
from tonnage.machine.storages.spot import Gathering, Spot
from tonnage.units import parse_size

_PROC = Path("/proc/fs/beegfs")
_MOST_TEXT = 4096
_CLIENT = {
    "tuneFileCacheType": "cache_type",
    "tuneFileCacheBufSize": "cache_bytes_per_file",
    "tuneNumWorkers": "workers",
    "connMaxInternodeNum": "connections",
    "connRDMABufNum": "rdma_buffers",
}


def facts(spot: Spot) -> dict[str, Any]:
    """``layout`` of new files in the directory (keys of :func:`of_entry`) and, of the client, ``cache_type``,
    ``cache_bytes_per_file``, ``connections`` …"""
    found = Gathering()
    found.ask("layout", lambda: of_entry(entry(spot, spot.path)[:_MOST_TEXT]))
    client = found.ask("client", lambda: of_client(_configuration()))
    if client is not None:
        del found.facts["client"]
        found.facts |= client
    return found.as_dict()


def entry(spot: Spot, path: str) -> str:
    """What the tool that is there says of a file or directory. ToolError."""
    if shutil.which("beegfs") is not None:
        return spot.tool("beegfs", "entry", "info", "--retro", path)
    return spot.tool("beegfs-ctl", f"--mount={spot.mount.mount_point}", "--getentryinfo", path)


def tool_words(mount: Mount) -> str:
    """How the question is called in what is told of it."""
    return "beegfs entry info" if shutil.which("beegfs") else f"beegfs-ctl --getentryinfo on {mount.mount_point}"


def of_entry(text: str) -> dict[str, Any]:
    """``chunk_size``, ``num_targets``, ``pattern`` and ``pool`` as BeeGFS spells them, and the text."""
    found: dict[str, Any] = {"text": text.strip()}
    for name, words in (
        ("pattern", r"\+ Type:\s*(\S+)"),
        ("chunk_size", r"\+ Chunksize:\s*(\S+)"),
        ("num_targets", r"\+ Number of storage targets: desired:\s*([0-9]+)"),
        ("pool", r"\+ Storage Pool:\s*(\S+)"),
    ):
        if match := re.search(words, text):
            found[name] = int(match[1]) if name == "num_targets" else match[1]
    return found


def entry_targets(text: str) -> list[tuple[str, str]]:
    """(target, node) of ``+ 101 @ storage01 [ID: 1]``, as both versions print a file's."""
    return re.findall(r"^\s*\+\s+([0-9]+)\s+@\s+(\S+)\s+\[ID:", text, re.MULTILINE)


def entry_pool(text: str) -> str | None:
    """The number of a directory's storage pool."""
    match = re.search(r"^\+ Storage Pool:\s*([0-9]+)", text, re.MULTILINE)
    return match[1] if match else None


def table(text: str) -> list[dict[str, str]]:
    """Rows of a table of version 8 by the names in its first line; no cell has blanks."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]] if lines else []


def holding(text: str, size: int) -> Holding | None:
    """Where a file of ``size`` bytes is; None where the tool names no targets (a mirrored file has groups of them)."""
    targets = entry_targets(text)
    unit = _chunk_bytes(text)
    if not targets or unit is None:
        return None
    return Holding(striped([target for target, _ in targets], size, unit))


def holders(spot: Spot, files: Sequence[tuple[str, int]]) -> Looked:
    """The targets of each file, a question each: as many of them, evenly chosen, as the time allows."""
    until = time.monotonic() + spot.timeout_s
    held: dict[str, Holding] = {}
    servers: dict[str, str | None] = {}
    for path, size in _evenly(files):
        if time.monotonic() > until:
            break
        text = entry(spot, path)
        servers |= dict(entry_targets(text))
        if (found := holding(text, size)) is not None:
            held[path] = found
    return Looked(holdings=held, devices=tuple(servers.items()), how=(f"{tool_words(spot.mount)}: targets",))


def of_client(text: str) -> dict[str, Any]:
    """What the client's module shows of its configuration: ``tuneFileCacheType = buffered``."""
    values = dict(re.findall(r"^(\w+)\s*=\s*(\S+)\s*$", text, re.MULTILINE))
    return {
        name: int(values[key]) if values[key].isdecimal() else values[key]
        for key, name in _CLIENT.items()
        if key in values
    }


def _configuration() -> str:
    clients = sorted(_PROC.glob("*/config"))
    if len(clients) != 1:
        raise LookupError(f"the kernel shows {len(clients)} BeeGFS clients")
    return clients[0].read_text(encoding="utf-8", errors="replace")


def _chunk_bytes(text: str) -> int | None:
    match = re.search(r"\+ Chunksize:\s*([0-9]+[KMGkmg]?)", text)
    try:
        return parse_size(match[1]) if match else None
    except RequestError:
        return None


def _evenly(files: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """In an order of which every beginning is spread over all of them."""
    step = max(len(files), 1)
    order: list[tuple[str, int]] = []
    seen: set[int] = set()
    while len(order) < len(files):
        for number in range(0, len(files), step):
            if number not in seen:
                seen.add(number)
                order.append(files[number])
        step = max(step // 2, 1)
    return order
