"""``tonnage stage list``: the movers of this host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.shared_options import JSON
from tonnage.cli.stage.status import status_now
from tonnage.cli.stage.status_text import totals_text
from tonnage.command_line import Command
from tonnage.errors import TonnageError
from tonnage.printable_text import one_line

if TYPE_CHECKING:
    from tonnage.staging.mover_status import Status

COMMAND = Command(
    "list",
    "list the movers of this host",
    "Prints the name, state and trees of each of your movers, also of those that ended with files left.",
    (JSON,),
    (("tonnage stage list", "all movers of yours"),),
    loads=("tonnage.staging.control_socket", "tonnage.staging.registered_movers"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    silent: list[str] = []
    found = statuses(silent.append)
    for one in silent:
        complain(one, 1)
    code = 1 if silent else 0
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
        return code
    for status in found:
        life = status["progress"] if status["running"] else "does not run"
        told = f"{totals_text(status['done'])} safe, {totals_text(status['queued'])} left"
        print(one_line(f"{status['name']:<16} {life:<13} {status['from']} → {status['to']}  {told}"))
    if not found and not silent:
        print("no movers")
    return code


def statuses(tell: Callable[[str], None] = lambda _: None) -> list[Status]:
    """Of all movers of this user on this host, those that do not run any more included. One that runs and cannot be
    asked is handed to ``tell``."""
    from tonnage.staging.control_socket import ControlError
    from tonnage.staging.registered_movers import registered

    found = []
    for entry in registered():
        try:
            found.append(status_now(entry.state))
        except ControlError as error:
            tell(f"{entry.name}: {error}")
        except (TonnageError, OSError):
            # Its trees went with a job's storage: there is nothing to resume.
            continue
    return found
