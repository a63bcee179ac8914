"""Indices from Prometheus node_exporter on the server, over HTTP: one GET, within one time limit."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from tonnage.placement.indices.reading import Counters, Deadline, Host, SourceError, queue

_MOST_BYTES = 16 << 20
"""A scrape of a server with thousands of devices is a few MB."""
_CPU = "node_cpu_seconds_total"
_OPERATIONS = ("node_disk_reads_completed_total", "node_disk_writes_completed_total")
_BYTES = ("node_disk_read_bytes_total", "node_disk_written_bytes_total")
_SINGLE = (
    "node_time_seconds",
    "node_boot_time_seconds",
    "node_nfsd_server_rpcs_total",
    "node_pressure_io_waiting_seconds_total",
    "node_vmstat_pswpin",
    "node_vmstat_pswpout",
    "node_procs_running",
    "node_load1",
    "node_load15",
    "node_memory_SwapFree_bytes",
    "node_memory_MemAvailable_bytes",
)
_ROOM = "node_filesystem_avail_bytes"
_SESSIONS = "node_logind_sessions"
_NAMES = (_CPU, *_OPERATIONS, *_BYTES, *_SINGLE, _ROOM, _SESSIONS)
_SAMPLE = re.compile(r"(\w+)(?:\{([^}]*)\})? (\S+)(?: -?\d+)?")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_NOT_USE = ("idle", "iowait")
_MOST = 2.0**64


def fetch(address: str, timeout_s: float) -> str:
    """The body of ``http[s]://HOST[:PORT]/PATH``, whole; SourceError that names the host and says what happened."""
    split = urlsplit(address)
    host = split.netloc
    try:
        port = split.port or (443 if split.scheme == "https" else 80)
        if not split.hostname:
            raise ValueError
    except ValueError:
        raise SourceError(f"{address!r} is no address; hint: write http://HOST:9100/metrics") from None
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    # 1.0: the answer ends with the connection, and comes in one piece.
    request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n"
    try:
        deadline = Deadline(timeout_s)
        with socket.create_connection((split.hostname, port), timeout=deadline.left_s) as connection:
            if split.scheme == "https":
                with _sealed(connection, split.hostname) as sealed:
                    raw = _exchange(sealed, request.encode("ascii"), deadline)
            else:
                raw = _exchange(connection, request.encode("ascii"), deadline)
    except TimeoutError:
        raise SourceError(f"{host} did not answer within {timeout_s:g} s") from None
    except UnicodeError:
        raise SourceError(f"{address!r} is no address; hint: write http://HOST:9100/metrics") from None
    except OSError as error:
        raise SourceError(f"{host} cannot be reached: {error.strerror or error}") from None
    return _body(host, raw)


def _sealed(connection: socket.socket, host: str) -> socket.socket:
    """The same over TLS, with a certificate that this host's authorities vouch for."""
    # Imported only where needed: the import takes long.
    import ssl

    return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _exchange(connection: socket.socket, request: bytes, deadline: Deadline) -> bytes:
    connection.sendall(request)
    pieces, size = [], 0
    while size <= _MOST_BYTES:
        connection.settimeout(deadline.left_s)
        piece = connection.recv(1 << 16)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _body(host: str, raw: bytes) -> str:
    if len(raw) > _MOST_BYTES:
        raise SourceError(f"{host} sent more than {_MOST_BYTES >> 20} MiB")
    head, found, body = raw.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    words = first.split(None, 2)
    if not found or len(words) < 2 or not words[0].startswith("HTTP/"):
        raise SourceError(f"{host} does not speak HTTP")
    if words[1] != "200":
        raise SourceError(f"{host} answers {' '.join(words[1:])[:100]}")
    told = dict(field.lower().split(":", 1) for field in fields if ":" in field)
    length = told.get("content-length", str(len(body))).strip()
    if length != str(len(body)) or not body.endswith(b"\n"):
        raise SourceError(f"{host} sent half an answer ({len(body)} bytes)")
    return body.decode("utf-8", errors="replace")


def read_counters(address: str, timeout_s: float) -> Counters:
    """Asks ``http://HOST:PORT/metrics``; SourceError."""
    text = fetch(address, timeout_s)
    at_s = time.time()
    try:
        return parse(text, at_s)
    except (ValueError, KeyError, OverflowError):
        host = urlsplit(address).netloc
        raise SourceError(
            f"{host} does not answer as node_exporter does; hint: its collectors cpu, stat and time must be on"
        ) from None


def parse(text: str, at_s: float) -> Counters:
    """Parses the few samples of a scrape that matter; KeyError or ValueError where one of the clocks or the CPUs is
    missing."""
    single: dict[str, float] = {}
    room: dict[str, int] = {}
    logins: int | None = None
    disks: dict[str, list[int]] = {}
    cpus: set[str] = set()
    busy = every = 0.0
    for name, labels, value in _samples(text.splitlines()):
        if name == _CPU:
            cpus.add(labels["cpu"])
            every += value
            busy += 0 if labels["mode"] in _NOT_USE else value
        elif name in _SINGLE:
            single[name] = value
        elif name == _ROOM:
            room[labels["mountpoint"]] = int(value)
        elif name == _SESSIONS:
            logins = (logins or 0) + (int(value) if labels["class"] == "user" else 0)
        else:
            disks.setdefault(labels["device"], [0, 0])[name in _BYTES] += int(value)
    if not cpus:
        raise KeyError(_CPU)
    rpcs = single.get("node_nfsd_server_rpcs_total")
    return Counters(
        at_s=at_s,
        clock_s=single["node_time_seconds"],
        wall_s=single["node_time_seconds"],
        booted_s=single["node_boot_time_seconds"],
        cpus=len(cpus),
        cpu_busy_s=busy,
        cpu_all_s=every,
        disks={device: (ops, moved) for device, (ops, moved) in disks.items()},
        rpcs=None if rpcs is None else int(rpcs),
        io_waiting_s=single.get("node_pressure_io_waiting_seconds_total"),
        paged=_both(single.get("node_vmstat_pswpin"), single.get("node_vmstat_pswpout")),
        host=Host(
            run_15s=queue(single.get("node_procs_running")),
            run_1m=single.get("node_load1"),
            run_15m=single.get("node_load15"),
            logins=logins,
            # Where /tmp is no file system of its own it is on that of the root.
            tmp_free_bytes=room.get("/tmp", room.get("/")),
            swap_free_bytes=_whole(single.get("node_memory_SwapFree_bytes")),
            memory_free_bytes=_whole(single.get("node_memory_MemAvailable_bytes")),
        ),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _both(one: float | None, other: float | None) -> int | None:
    return None if one is None or other is None else int(one) + int(other)


def _samples(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, str], float]]:
    # A scrape has a thousand lines of which a few dozen matter: the cheap test first.
    for line in lines:
        if line.startswith(_NAMES) and (found := _SAMPLE.fullmatch(line)) and found[1] in _NAMES:
            value = float(found[3])
            # What a collector cannot tell is NaN; none of these counts can be below 0 or beyond what a computer counts.
            if 0 <= value < _MOST:
                yield found[1], dict(_LABEL.findall(found[2] or "")), value
