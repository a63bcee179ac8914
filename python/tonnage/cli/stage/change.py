"""``tonnage stage stop`` and ``tonnage stage limit``: what changes a running mover."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.entry import complain
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import find
from tonnage.cli.stage.words import RESUME, Limits, details, limits_text, totals_text
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
    if is_safe(status):
        return 0
    print("\n".join(details(status)), end="\n" if details(status) else "", file=sys.stderr)
    return complain(f"it had not come to its end: what was written since is not staged; {RESUME}", 1)


def limit(client: Client, limits: Limits) -> int:
    """Exit code."""
    client.ask("limit", bytes_per_s=limits.bytes_per_s, files_per_s=limits.files_per_s)
    status = client.status()
    print(f"mover {status['name']}: {limits_text(status) or 'no limit'}")
    return 0


def stop(client: Client, deadline_ns: int | None) -> int:
    """Exit code."""
    shown = view()
    client.ask("stop", deadline_ns=deadline_ns)
    try:
        status = watch(client, shown.show)
        shown.show(status)
        wait_until_gone(Path(status["state"]))
    finally:
        shown.close()
    print(f"{totals_text(status['done'])} safe in {status['to']}")
    if is_safe(status):
        return 0
    print("\n".join(details(status)), file=sys.stderr)
    told = [(status["queued"], "left"), (status["failed"], "failed")]
    left = ", ".join(f"{totals_text(total)} {what}" for total, what in told if total["files"])
    left = left or "it ended before its last scan, which would tell what was written since"
    return complain(f"{left}; hint: go on with `tonnage stage resume --state {status['state']}`", 1)
