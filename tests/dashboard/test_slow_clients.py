"""A connection that does not end its request is dropped; one that asks and listens stays."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import live_page
import pytest


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_half_a_request_is_dropped(runs: Path, sent: bytes) -> None:
    served = live_page.Served(runs)
    try:
        with socket.create_connection(("127.0.0.1", served.port), timeout=live_page.LIMIT_S) as connection:
            connection.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    finally:
        served.close()
