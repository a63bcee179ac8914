"""``tonnage stage stop``: ends a mover."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.stage.shared_options import WHICH
from tonnage.cli.stage.status_text import print_details, resume_hint, totals_text
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.units import parse_time

if TYPE_CHECKING:
    from tonnage.staging.control_socket import Client

COMMAND = Command(
    "stop",
    "end a mover",
    "Lets the mover copy by priority until the deadline, then ends it. Files that are left stay in its "
    "journal for `stage resume`; the exit code is then 1.",
    (
        *WHICH,
        Option(
            ("--deadline",),
            "time that it may continue; 0 ends it now",
            "TIME",
            "that of its start, or 20s",
            parse=parse_time,
        ),
    ),
    (
        ("tonnage stage stop", "at the end of a job, after `stage wait`"),
        ("tonnage stage stop --deadline 5m", "five minutes for the files of highest priority"),
    ),
    loads=("tonnage.cli.stage.find_mover", "tonnage.staging.control_socket"),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where files are left."""
    from tonnage.cli.stage.find_mover import find
    from tonnage.staging.control_socket import Client, NoMover
    from tonnage.staging.mover_host import is_safe, status_of

    state = find(arguments)
    try:
        with Client(state) as client:
            return stop(client, arguments.deadline)
    except NoMover:
        status = status_of(state)
    print(f"the mover does not run; {totals_text(status['done'])} safe, {totals_text(status['queued'])} left")
    if is_safe(status):
        return 0
    print_details(status, ())
    if status["progress"] == "finished":
        return complain(
            f"{totals_text(status['failed'])} failed; hint: mend what is named above; {resume_hint(state)}", 1
        )
    return complain(f"it had not come to its end: what was written since is not staged; {resume_hint(state)}", 1)


def stop(client: Client, deadline_ns: int | None) -> int:
    """Stops the mover and returns the exit code."""
    from tonnage.cli.stage.mover_view import view
    from tonnage.staging.mover_host import is_safe
    from tonnage.staging.wait_for_mover import wait_until_gone, watch

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
    print_details(status, shown.said)
    told = [(status["queued"], "left"), (status["failed"], "failed")]
    left = ", ".join(f"{totals_text(total)} {what}" for total, what in told if total["files"])
    left = left or "it ended before its last scan, which would tell what was written since"
    return complain(f"{left}; hint: go on with `tonnage stage resume --state {status['state']}`", 1)
