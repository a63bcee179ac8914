"""A real HTTP server that answers as a test wants: well, badly, late or never."""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[["Exporter", socket.socket], None]


class Exporter(socketserver.ThreadingTCPServer):
    """Listens on a free port of the loopback interface; ``answer`` says what a client gets."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None) -> None:
        self.answer, self.tls = answer, tls
        self.asked = 0
        self.over = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.server_address[1]}/metrics"


class _Handler(socketserver.BaseRequestHandler):
    server: Exporter

    def handle(self) -> None:
        self.server.asked += 1
        client, tls = self.request, self.server.tls
        try:
            client = tls.wrap_socket(client, server_side=True) if tls else client
            request = b""
            while b"\r\n\r\n" not in request:
                request += (piece := client.recv(4096))
                if not piece:
                    return
            assert request.startswith(b"GET /metrics HTTP/1.")
            self.server.answer(self.server, client)
        except OSError:
            return  # the client left, as some tests want
        finally:
            client.close()


def tells(text: Callable[[], str]) -> Answer:
    """Makes a good answer, without a length, as node_exporter gives to HTTP/1.0."""

    def answer(_server: Exporter, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n" + text().encode())

    return answer


def sends(raw: bytes) -> Answer:
    """Sends these bytes and closes the connection."""

    def answer(_server: Exporter, client: socket.socket) -> None:
        client.sendall(raw)

    return answer


def late(seconds: float, then: Answer) -> Answer:
    """Gives the answer after a time."""

    def answer(server: Exporter, client: socket.socket) -> None:
        server.over.wait(seconds)
        then(server, client)

    return answer


def when_set(let: threading.Event, then: Answer) -> Answer:
    """Gives the answer once the test sets ``let``."""

    def answer(server: Exporter, client: socket.socket) -> None:
        while not let.wait(0.02):
            if server.over.is_set():
                return
        then(server, client)

    return answer


def hangs(server: Exporter, _client: socket.socket) -> None:
    """Sends no byte, as long as the test runs."""
    server.over.wait()


def trickles(server: Exporter, client: socket.socket) -> None:
    """Sends a byte now and then: no single wait is long."""
    while not server.over.wait(0.02):
        client.sendall(b"H")


@contextmanager
def exporter(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Exporter]:
    """Serves until the block ends."""
    with Exporter(answer, tls) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()
