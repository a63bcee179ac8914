"""``tonnage stage stop`` and ``tonnage stage limit``: what changes a running mover."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.entry import complain
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import find
from tonnage.cli.stage.words import Limits, details, limits_text, totals_text
from tonnage.errors import RequestError
from tonnage.staging.control import Client, NoMover
from tonnage.staging.host import is_safe, status_of
from tonnage.staging.waiting import wait_until_gone, watch


def run(arguments: Namespace) -> int:
    """Exit code: of a stop, 1 where files are left."""
    state = find(arguments)
    try:
        with Client(state) as client:
            return stop(client, arguments.deadline) if arguments.action == "stop" else limit(client, arguments.limit)
    except NoMover:
        if arguments.action == "limit":
            raise RequestError(f"no mover runs with the state {state}; hint: see `tonnage stage list`") from None
        status = status_of(state)
    print(f"the mover does not run; {totals_text(status['done'])} safe, {totals_text(status['queued'])} left")
    return 0 if is_safe(status) else 1


def limit(client: Client, limits: Limits) -> int:
    """Exit code."""
    client.ask("limit", bytes_per_s=limits.bytes_per_s, files_per_s=limits.files_per_s)
    status = client.ask("status")
    print(f"mover {status['name']}: {limits_text(status) or 'no limit'}")
    return 0


def stop(client: Client, deadline_ns: int | None) -> int:
    """Exit code."""
    shown = view()
    client.ask("stop", deadline_ns=deadline_ns)
    try:
        status = watch(client, shown.show)
        wait_until_gone(Path(status["state"]))
    finally:
        shown.close()
    print(f"{totals_text(status['done'])} safe in {status['to']}")
    if is_safe(status):
        return 0
    print("\n".join(details(status)), file=sys.stderr)
    left = totals_text(status["queued"]) + " left"
    if status["failed"]["files"]:
        left += f", {totals_text(status['failed'])} failed"
    return complain(f"{left}; hint: go on with `tonnage stage resume --state {status['state']}`", 1)
