"""Waits for a mover in another process, from a fresh scan to the last file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tonnage.staging.control_socket import Client, NoMover, answers
from tonnage.staging.mover_host import ENDED, status_of
from tonnage.staging.mover_status import SET_NOT_WHOLE, Status

_LOOK_S = 0.05
"""Between two questions; the answer to a wait comes at most this much after the last file."""
_GONE_S = 3.0


def watch(client: Client, tell: Callable[[Status], None]) -> Status:
    """Tells the status four times a second until the mover has ended; its last status."""
    status = client.status()
    try:
        while status["progress"] not in ENDED:
            tell(status)
            time.sleep(0.25)
            status = client.status()
    except NoMover:
        return {**status_of(Path(status["state"])), "notes": status["notes"]}
    return status


def wait_until_gone(state: Path) -> None:
    """After the end of a mover, until it answers no more: then another can begin. Not longer than 3 s, since one whose
    application goes on keeps answering."""
    end = time.monotonic() + _GONE_S
    while answers(state) and time.monotonic() < end:
        time.sleep(_LOOK_S)


def _moves(status: Status) -> bool:
    """Whether anything is left that may become safe without somebody's help: a marker whose set has failures does
    not."""
    held = [one for one in status["waiting"] if one["reason"].startswith(SET_NOT_WHOLE)]
    return status["queued"]["files"] > len(held)


def wait_until_safe(client: Client, timeout_ns: int | None, tell: Callable[[Status], None]) -> tuple[Status, bool]:
    """Until a scan that begins now has found nothing that is not safe, given up, or the marker of a set with failures;
    False: the time was over before.

    The mover goes on after that. One that ends meanwhile ends the wait too.
    """
    end = None if timeout_ns is None else time.monotonic_ns() + timeout_ns
    status = client.status()
    try:
        scans = client.rescan() if status["progress"] not in ENDED else 0
        while status["progress"] not in ENDED and (status["scans"] < scans or _moves(status)):
            tell(status)
            if end is not None and time.monotonic_ns() > end:
                return status, False
            time.sleep(_LOOK_S)
            status = client.status()
    except NoMover:
        return status_of(Path(status["state"])), True
    return status, True
