"""``tonnage stage status``: where a mover stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON
from tonnage.cli.stage.shared_options import WHICH
from tonnage.cli.stage.status_text import report
from tonnage.command_line import Command
from tonnage.command_option import Option

if TYPE_CHECKING:
    from tonnage.staging.mover_status import Status

COMMAND = Command(
    "status",
    "say where a mover stands",
    "Prints what is safe, what waits and why, and what failed; for a mover that does not run, from its "
    "journal. Only `tonnage stage wait` and `verify` find what was removed at the destination afterwards. "
    "The exit code is 1 if files failed, or if a mover that does not run left some.",
    (*WHICH, JSON, Option(("--watch",), "update a progress panel until the mover ends")),
    (
        ("tonnage stage status", "the only mover, or that of PERSIST_DIR"),
        ("tonnage stage status --name run7 --json", "for a script"),
    ),
    loads=("tonnage.cli.stage.find_mover", "tonnage.staging.control_socket"),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where a file failed, or a mover that does not run left files."""
    from tonnage.cli.stage.find_mover import find
    from tonnage.staging.mover_host import is_safe

    status = status_now(find(arguments), watching=arguments.watch)
    print(json.dumps(status, ensure_ascii=False) if arguments.json else report(status))
    left = not status["running"] and not is_safe(status)
    return 1 if left or status["failed"]["files"] else 0


def status_now(state: Path, *, watching: bool = False) -> Status:
    """As the mover tells, or its journal; ``watching``: when it has ended, with a view until then."""
    from tonnage.cli.stage.mover_view import view
    from tonnage.staging.control_socket import Client, NoMover
    from tonnage.staging.mover_host import status_of
    from tonnage.staging.wait_for_mover import watch

    try:
        with Client(state) as client:
            if not watching:
                return client.status()
            shown = view()
            try:
                return watch(client, shown.show)
            finally:
                shown.close()
    except NoMover:
        return status_of(state)
