"""A page for Prometheus on the loopback interface."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from tonnage.errors import RequestError


class Endpoint:
    """Bound when it is made, so that a port that is taken is refused before anything begins."""

    def __init__(self, port: int) -> None:
        """``port`` 0: any free one. RequestError where it is taken, or prometheus-client is not installed."""
        try:
            from prometheus_client.exposition import ThreadingWSGIServer, make_wsgi_app
            from prometheus_client.registry import CollectorRegistry
        except ImportError:
            raise RequestError(
                "--metrics needs the package prometheus-client; hint: install it, or tonnage with its extra `stage`"
            ) from None
        from wsgiref.simple_server import WSGIRequestHandler

        class Silent(WSGIRequestHandler):
            """Says nothing of each scrape."""

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._registry = CollectorRegistry()
        try:
            self._server = ThreadingWSGIServer(("127.0.0.1", port), Silent)
        except OSError as error:
            raise RequestError(
                f"cannot listen on 127.0.0.1:{port}: {error.strerror}; hint: give --metrics another port, 0 for any"
            ) from None
        self._server.set_app(make_wsgi_app(self._registry))
        self._serving = False

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._server.server_address[1]
        return port

    @property
    def address(self) -> str:
        """What a scrape asks for."""
        return f"http://127.0.0.1:{self.port}/metrics"

    def serve_from(self, *collectors: Any) -> None:
        """Answers in a thread of its own; ``collect()`` of each gives the metric families of each scrape."""
        for collector in collectors:
            self._registry.register(collector)
        self._serving = True
        # The interval is how long a close may take.
        serve = partial(self._server.serve_forever, poll_interval=0.1)
        threading.Thread(target=serve, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Frees the port."""
        if self._serving:
            self._server.shutdown()
        self._server.server_close()
