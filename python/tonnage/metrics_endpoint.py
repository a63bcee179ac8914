"""A page for Prometheus on the loopback interface."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tonnage.errors import RequestError
from tonnage.http_origin import own_names, refusal

NAMES = "TONNAGE_METRICS_NAMES"
"""The variable that has further names, between commas, under which a scraper may ask: through a proxy, say."""


class Endpoint:
    """Bound when it is made, so that a port that is taken is refused before anything begins."""

    def __init__(self, port: int) -> None:
        """``port`` 0: any free one. RequestError where it is taken, or prometheus-client is not installed."""
        try:
            from prometheus_client.exposition import ThreadingWSGIServer, make_wsgi_app
            from prometheus_client.registry import CollectorRegistry
        except ImportError:
            raise RequestError(
                "--metrics needs the package prometheus-client; hint: pip install 'tonnage[stage]'"
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
        self._server.set_app(_guarded(make_wsgi_app(self._registry)))
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


def _guarded(page: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The page for a scraper or a browser's user, and not for the page of another site."""
    names = own_names(*(name.strip() for name in os.environ.get(NAMES, "").split(",")))

    def answer(environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        heads = ((name, value) for name, value in environment.items() if name.startswith("HTTP_"))
        found = {name.removeprefix("HTTP_").lower().replace("_", "-"): str(value) for name, value in heads}
        refused = refusal(found, names)
        if refused is None:
            return page(environment, start)
        status, words = refused
        start(f"{status} {'Misdirected Request' if status == 421 else 'Forbidden'}", [("Content-Type", "text/plain")])
        return [f"{words}\n".encode()]

    return answer
