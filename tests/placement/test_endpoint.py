"""Figures for Prometheus: whose scrapes are answered."""

from __future__ import annotations

import platform
import socket
from collections.abc import Iterator

import pytest

pytest.importorskip("prometheus_client")
from tonnage.metrics_endpoint import NAMES, Endpoint


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv(NAMES, "scraper.example, Proxy.Example")
    found = Endpoint(0)
    found.serve_from()
    yield found
    found.close()


def status(endpoint: Endpoint, *heads: str) -> int:
    with socket.create_connection(("127.0.0.1", endpoint.port), 10) as connection:
        words = "".join(f"{head}\r\n" for head in ("GET /metrics HTTP/1.1", *heads, "Connection: close", ""))
        connection.sendall(words.encode())
        return int(connection.makefile().readline().split()[1])


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("[::1]:{port}", 200),
        (platform.node(), 200),
        ("proxy.example:443", 200),
        ("scraper.example", 200),
        ("attacker.invalid", 421),
        ("localhost.attacker.invalid:{port}", 421),
        ("", 421),
    ],
)
def test_a_scrape_under_a_name_that_was_made_to_point_here_is_refused(
    endpoint: Endpoint, host: str, answer: int
) -> None:
    assert status(endpoint, f"Host: {host.format(port=endpoint.port)}") == answer


def test_neither_two_names_nor_none_is_a_name(endpoint: Endpoint) -> None:
    assert status(endpoint, "Host: localhost", "Host: attacker.invalid") == 421
    assert status(endpoint) == 421


def test_scripts_of_other_pages_read_no_figures(endpoint: Endpoint) -> None:
    own = f"127.0.0.1:{endpoint.port}"
    assert status(endpoint, f"Host: {own}", "Origin: http://attacker.invalid") == 403
    assert status(endpoint, f"Host: {own}", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors") == 403
    assert status(endpoint, f"Host: {own}", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate") == 200
