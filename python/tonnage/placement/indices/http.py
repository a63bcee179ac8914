"""One GET, within one time limit, for text of a known kind.

Python's own client takes longer to import than a decision waits for indices, and its time limit is one for each piece
that arrives: a server that sends a byte now and then would hold it for ever.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from tonnage.placement.indices.source import Deadline, SourceError

_MOST_BYTES = 16 << 20
"""A scrape of a server with thousands of devices is a few MB."""


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
    # Where nobody asks for it, its import is not waited for.
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
