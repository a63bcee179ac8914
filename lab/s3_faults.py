"""A faulty S3 service: a proxy that answers 503 or truncates an answer, every so many requests."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>please reduce your rate</Message></Error>"


class Faults:
    """Stands before a service, as a context. ``counts`` says what it did: ``slow``, ``cut``, ``passed``."""

    def __init__(self, endpoint: str, *, slow_every: int = 0, cut_every: int = 0) -> None:
        self.upstream = urlsplit(endpoint).netloc
        self.slow_every = slow_every
        self.cut_every = cut_every
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()
        faults = self

        class Handler(_Handler):
            proxy = faults

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Faults:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fate(self, kind: str) -> str:
        """What becomes of the next request of its kind; only answers with an object's bytes are cut.

        Kinds are counted apart: so many reads, or parts of an upload, always meet their share.
        """
        with self.lock:
            self.counts[kind] += 1
            fate = "passed"
            if self.slow_every and self.counts[kind] % self.slow_every == 0:
                fate = "slow"
            elif kind == "reads" and self.cut_every and self.counts[kind] % self.cut_every == 0:
                fate = "cut"
            self.counts[fate] += 1
            return fate


class _Handler(BaseHTTPRequestHandler):
    proxy: Faults
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.upstream = http.client.HTTPConnection(self.proxy.upstream, timeout=60)

    def finish(self) -> None:
        self.upstream.close()
        super().finish()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fate = self.proxy.fate(self._kind())
        if fate == "slow":
            self._answer(503, [("Content-Type", "application/xml")], SLOW_DOWN, len(SLOW_DOWN))
            return
        # The host is part of the signature, so it stays the proxy's.
        self.upstream.request(self.command, self.path, body or None, dict(self.headers))
        answer = self.upstream.getresponse()
        data = answer.read()
        length = int(answer.headers.get("Content-Length", len(data)))
        kept = ("ETag", "Content-Range", "Content-Type")
        headers = [(name, answer.headers[name]) for name in kept if name in answer.headers]
        if fate == "cut" and data:
            self.close_connection = True
            data = data[: len(data) // 2]
        self._answer(answer.status, headers, data, length)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def _kind(self) -> str:
        if "Range" in self.headers:
            return "reads"
        return "parts" if "partNumber=" in self.path else "others"

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, length: int) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the terminal."""
