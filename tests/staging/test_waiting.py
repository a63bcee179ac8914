"""Waiting for a mover elsewhere: for a fresh scan, not for an old one, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tonnage.staging.control_socket import Client, Server
from tonnage.staging.wait_for_mover import wait_until_safe, watch

from .mover_status import status


class Scripted:
    """Answers with one status after the other; the last one stays."""

    def __init__(self, *statuses: dict[str, Any]) -> None:
        self.left, self.asked = list(statuses), []

    def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(request["do"])
        if request["do"] == "rescan":
            return {"scans": 5}
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def served(tmp_path: Path, *statuses: dict[str, Any]) -> Iterator[tuple[Client, Scripted]]:
    script = Scripted(*statuses)
    server = Server(tmp_path, script)
    with Client(tmp_path) as client:
        yield client, script
    server.close()


def test_a_queue_that_is_empty_before_the_fresh_scan_does_not_end_the_wait(tmp_path: Path) -> None:
    script = (status(scans=4), status(scans=4), status(scans=5, queued=(1, 1)), status(scans=5, done=(1, 1)))
    for client, scripted in served(tmp_path, *script):
        found, in_time = wait_until_safe(client, None, lambda _: None)
        assert in_time and found["done"]["files"] == 1 and scripted.asked.count("rescan") == 1


def test_a_wait_ends_in_time_and_says_what_is_left(tmp_path: Path) -> None:
    for client, _ in served(tmp_path, status(scans=5, queued=(1, 1))):
        began = time.monotonic()
        found, in_time = wait_until_safe(client, 10**8, lambda _: None)
        assert not in_time and found["queued"]["files"] == 1 and 0.1 <= time.monotonic() - began < 5


@pytest.mark.parametrize("progress", ["finished", "stopped"])
def test_a_mover_that_has_ended_ends_the_wait_and_the_watch(tmp_path: Path, progress: str) -> None:
    script = (status(scans=5, queued=(2, 2)), status(scans=5, queued=(1, 1), progress=progress))
    for client, _ in served(tmp_path, *script):
        found, in_time = wait_until_safe(client, None, lambda _: None)
        assert in_time and found["progress"] == progress
        assert watch(client, lambda _: None)["progress"] == progress
