"""What the kernel's NFS client counts of each mount: ``/proc/self/mountstats`` (``nfs_show_stats`` in fs/nfs/super.c,
``rpc_clnt_show_stats`` in net/sunrpc/stats.c). Counters since the mount; two readings make what happened between."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tonnage.machine.mounts import unescape
from tonnage.records.line_types import NfsCounts

MS = 10**6
"""The kernel's times are whole milliseconds, summed over all requests; here nanoseconds, as everywhere."""

_DEVICE = re.compile(r"device (.*) mounted on (.*) with fstype (nfs4?) statvers=([0-9.]+)$")
_BYTES = (
    "read_call_bytes", "write_call_bytes", "direct_read_bytes", "direct_write_bytes",
    "server_read_bytes", "server_write_bytes", "read_pages", "write_pages",
)  # fmt: skip
_OPERATION = (
    "operations",
    "transmissions",
    "timeouts",
    "sent_bytes",
    "received_bytes",
    "queue_ms",
    "rtt_ms",
    "execute_ms",
)
_ERRORS = "errors"
"""A ninth counter, of kernels from 5.3 on."""
_MOST = 2**64
_SENDS, _WAITS = 5, 9
"""Places in ``xprt: tcp`` of the requests sent, and of the sum over them of those that waited for a slot."""


@dataclass(slots=True)
class NfsMount:
    """One NFS mount's counters, as far as its kernel has them."""

    device: str
    mount_point: str
    file_system: str
    options: str = ""
    age_s: int | None = None
    bytes: dict[str, int] = field(default_factory=dict)
    """By what: ``read_call_bytes`` through the page cache, ``direct_read_bytes`` past it, ``server_read_bytes`` over
    the wire …"""
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    """By the protocol's name of the operation (``READ``)."""
    transport: dict[str, int] = field(default_factory=dict)
    """Of all connections: ``connections``, ``sends``, ``backlog`` (sum over sends of requests that waited)."""


def read_mountstats() -> dict[str, NfsMount]:
    """NFS mounts by mount point; empty where this kernel has no NFS client or mounts none. Touches no mount."""
    try:
        text = Path("/proc/self/mountstats").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return {}
    return parse_mountstats(text)


def parse_mountstats(text: str) -> dict[str, NfsMount]:
    """NFS mounts by mount point; where several lie on one another the last, which is the one that is seen.

    A line that is none of those known, or whose numbers are none, is passed over: its counters are then missing.
    """
    found: dict[str, NfsMount] = {}
    mount: NfsMount | None = None
    for line in text.splitlines():
        if line.startswith("device "):
            match = _DEVICE.match(line.rstrip())
            mount = None
            if match:
                mount = NfsMount(unescape(match[1]), unescape(match[2]), match[3])
                found[mount.mount_point] = mount
        elif mount is not None:
            _take(mount, *line.strip().partition(":")[::2])
    return found


def _take(mount: NfsMount, key: str, rest: str) -> None:
    words = rest.split()
    if key == "opts":
        mount.options = rest.strip()
    elif key == "age" and (numbers := _numbers(words)):
        mount.age_s = numbers[0]
    elif key == "bytes" and (numbers := _numbers(words)):
        mount.bytes = dict(zip(_BYTES, numbers, strict=False))
    elif key == "xprt" and words and (numbers := _numbers(words[1:])):
        _take_transport(mount, words[0], numbers)
    elif re.fullmatch(r"[A-Z][A-Z0-9_]*", key) and (numbers := _numbers(words)) and len(numbers) >= len(_OPERATION):
        mount.operations[key] = _operation(numbers)


def _take_transport(mount: NfsMount, kind: str, numbers: list[int]) -> None:
    """Several connections (``nconnect``) have a line each. UDP has no connections, and so fewer numbers."""
    sends, backlog = (_SENDS, _WAITS) if kind == "tcp" else (2, 6)
    if len(numbers) <= backlog or kind not in ("tcp", "udp"):
        return
    for name, value in (("connections", 1), ("sends", numbers[sends]), ("backlog", numbers[backlog])):
        mount.transport[name] = mount.transport.get(name, 0) + value


def _operation(numbers: list[int]) -> dict[str, int]:
    row = dict(zip(_OPERATION, numbers, strict=False))
    for name in ("queue", "rtt", "execute"):
        row[f"{name}_ns"] = row.pop(f"{name}_ms") * MS
    # A request is sent once; each further time it is sent again.
    row["retransmissions"] = max(row.pop("transmissions") - row["operations"], 0)
    if len(numbers) > len(_OPERATION):
        row[_ERRORS] = numbers[len(_OPERATION)]
    return row


def between(before: NfsMount | None, after: NfsMount | None) -> NfsCounts | None:
    """``nfs`` of a trial line: what the client did between two readings of one mount. None where there is no mount, or
    it was mounted anew meanwhile."""
    if before is None or after is None or (after.age_s or 0) < (before.age_s or 0):
        return None
    operations = {
        name: row
        for name, counts in after.operations.items()
        if any((row := _less(counts, before.operations.get(name, {}))).values())
    }
    return {
        "mount_point": after.mount_point,
        "device": after.device,
        "bytes": _less(after.bytes, before.bytes),
        "transport": {**_less(after.transport, before.transport), "connections": after.transport.get("connections", 0)},
        "operations": operations,
    }


def _less(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Never below 0: a counter that went back was begun anew."""
    return {name: max(value - before.get(name, 0), 0) for name, value in after.items()}


def _numbers(words: list[str]) -> list[int] | None:
    """None where one of them is no number of the kernel's."""
    if not words or not all(word.isascii() and word.isdecimal() and len(word) <= 20 for word in words):
        return None
    numbers = [int(word) for word in words]
    return numbers if max(numbers) < _MOST else None
