"""Services: a short test of the network between two hosts, by a TCP connection.

One host waits for the other (``link-listen``) and says under which addresses; the other one (``link-try``) connects,
sends the given secret word, exchanges small messages, then sends as much as possible for a moment. The receiver counts
the bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import platform
import secrets
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import TypedDict

from tonnage.errors import TonnageError

WAIT_S = 30.0
"""For the other host to come."""
_STEP_S = 5.0
"""For each message."""
_CONNECT_S = 2.0
"""For each address."""
_ROUND_TRIPS = 50
_SENT, _ROOM = 1 << 17, 1 << 20
"""Bytes at once: little enough to be through a slow link in time, and enough for a fast one."""
_PING, _DATA = b"p", b"d"
_SIOCGIFADDR = 0x8915
_COUNTED = struct.Struct("!QQ")
"""Bytes that arrived, and nanoseconds from the first to the last."""


class Listening(TypedDict):
    """Where a host waits for another, and for which word."""

    port: int
    word: str
    addresses: list[str]


class Tried(TypedDict):
    """A way that was tried; bytes and time as they arrived."""

    address: str
    round_trip_ns: int
    median_round_trip_ns: int
    bytes: int
    elapsed_ns: int


def listen() -> Listening:
    """Service ``link-listen``: waits in the background for one other host, 30 s at most. ``{"port", "word",
    "addresses"}``."""
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    server = socket.create_server(("", 0), family=family, backlog=8, dualstack_ipv6=family == socket.AF_INET6)
    word = secrets.token_hex(16)
    threading.Thread(target=_attend, args=(server, word), name="link", daemon=True).start()
    return {"port": server.getsockname()[1], "word": word, "addresses": [platform.node(), *_addresses()]}


def attempt(addresses: Sequence[str], port: int, word: str, duration_s: float = 0.3) -> Tried:
    """Service ``link-try``: connects to the first of ``addresses`` where the other host is.

    ``{"address", "round_trip_ns" (the shortest), "median_round_trip_ns", "bytes", "elapsed_ns"}``, the last two as they
    arrived. TonnageError with the reason at each address.
    """
    failures = []
    for address in dict.fromkeys(addresses):
        try:
            with socket.create_connection((address, port), timeout=_CONNECT_S) as link:
                link.settimeout(_STEP_S)
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.sendall(word.encode("ascii"))
                _exactly(link, 1)
                shortest_ns, median_ns = _round_trips(link)
                counted, elapsed_ns = _transfer(link, duration_s)
                return Tried(
                    address=address,
                    round_trip_ns=shortest_ns,
                    median_round_trip_ns=median_ns,
                    bytes=counted,
                    elapsed_ns=elapsed_ns,
                )
        except (OSError, UnicodeError) as error:
            failures.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise TonnageError(f"no connection to port {port} ({'; '.join(failures)})")


def _round_trips(link: socket.socket) -> tuple[int, int]:
    """The shortest, and the median, in nanoseconds."""
    took = []
    for _ in range(_ROUND_TRIPS):
        began_ns = time.monotonic_ns()
        link.sendall(_PING)
        _exactly(link, 1)
        took.append(time.monotonic_ns() - began_ns)
    took.sort()
    return took[0], took[len(took) // 2]


def _transfer(link: socket.socket, duration_s: float) -> tuple[int, int]:
    """Bytes that arrived, and in how many nanoseconds."""
    chunk = bytes(_SENT)
    link.sendall(_DATA)
    until_s = time.monotonic() + duration_s
    while time.monotonic() < until_s:
        link.sendall(chunk)
    link.shutdown(socket.SHUT_WR)
    # Some MB may still be on their way.
    link.settimeout(WAIT_S)
    counted, elapsed_ns = _COUNTED.unpack(_exactly(link, _COUNTED.size))
    return counted, elapsed_ns


def _attend(server: socket.socket, word: str) -> None:
    until_s = time.monotonic() + WAIT_S
    with server:
        while (left_s := until_s - time.monotonic()) > 0:
            server.settimeout(left_s)
            with contextlib.suppress(OSError):
                link, _ = server.accept()
                with link:
                    link.settimeout(_STEP_S)
                    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    # A connection without the secret word does not end the wait.
                    if hmac.compare_digest(_exactly(link, len(word)), word.encode("ascii")):
                        link.sendall(_PING)
                        _serve(link)
                        return


def _serve(link: socket.socket) -> None:
    while _exactly(link, 1) == _PING:
        link.sendall(_PING)
    room = bytearray(_ROOM)
    counted, began_ns, last_ns = 0, 0, 0
    while got := link.recv_into(room):
        last_ns = time.monotonic_ns()
        # Bytes that came with the first message are not counted: the clock had not started.
        counted, began_ns = (counted + got, began_ns) if began_ns else (0, last_ns)
    link.sendall(_COUNTED.pack(counted, last_ns - began_ns))


def _exactly(link: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        more = link.recv(size - len(got))
        if not more:
            raise ConnectionError("it hung up")
        got += more
    return got


def _addresses() -> list[str]:
    """This host's own, IPv4; its loopback last, which leads others to themselves and shows them no word."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, interface in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = struct.pack("256s", interface.encode()[:15])
                found.append(socket.inet_ntoa(fcntl.ioctl(any_socket, _SIOCGIFADDR, asked)[20:24]))
    return sorted(found, key=lambda address: address.startswith("127."))
