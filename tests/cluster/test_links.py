"""A short look at the way between two hosts, over the loopback interface."""

from __future__ import annotations

import contextlib
import platform
import socket

import pytest
from tonnage.cluster.remote import links
from tonnage.errors import TonnageError


def test_what_arrives_is_counted_and_round_trips_are_timed() -> None:
    waits = links.listen()
    assert waits["addresses"][0] == platform.node() and waits["addresses"][-1].startswith("127.")
    told = links.attempt(["127.0.0.1"], waits["port"], waits["word"], 0.1)
    assert told["address"] == "127.0.0.1" and 0 < told["round_trip_ns"] <= told["median_round_trip_ns"] < 10**9
    assert told["bytes"] > 1_000_000 and 10**7 < told["elapsed_ns"] < 5 * 10**9


def test_addresses_are_tried_in_turn_and_each_failure_is_told() -> None:
    waits = links.listen()
    told = links.attempt(["no-such-host.invalid", "127.0.0.1"], waits["port"], waits["word"], 0.05)
    assert told["address"] == "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TonnageError, match=r"no connection to port \d+ \(127.0.0.1: Connection refused; ::1: "):
        links.attempt(["127.0.0.1", "::1"], port, waits["word"])


def test_a_stranger_gets_nothing_and_does_not_end_the_wait() -> None:
    waits = links.listen()
    for said in (b"x" * len(waits["word"]), b"GET / HTTP/1.0\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", waits["port"]), timeout=5) as stranger:
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
    assert links.attempt(["127.0.0.1"], waits["port"], waits["word"], 0.05)["bytes"]
