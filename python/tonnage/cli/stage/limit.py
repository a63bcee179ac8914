"""``tonnage stage limit``: changes the bounds of a running mover."""

from __future__ import annotations

from tonnage.cli.command import Arguments
from tonnage.cli.stage.shared_options import WHICH
from tonnage.cli.stage.status_text import limits_text, parse_limit
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError

COMMAND = Command(
    "limit",
    "change a mover's bounds while it runs",
    "Sets the bounds of a mover: 200MB/s, 100files/s, both with a comma between, 0 (pause), none. A bound "
    "that is not given no longer holds.",
    (Option(("limit",), "the bounds", "RATE", parse=parse_limit), *WHICH),
    (
        ("tonnage stage limit 200MB/s", "at most this rate from now on"),
        ("tonnage stage limit 0", "pause"),
        ("tonnage stage limit none --name run7", "full speed"),
    ),
    loads=("tonnage.cli.stage.find_mover",),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.cli.stage.find_mover import find
    from tonnage.staging.control_socket import Client, NoMover

    state, limits = find(arguments), arguments.limit
    try:
        with Client(state) as client:
            client.ask("limit", bytes_per_s=limits.bytes_per_s, files_per_s=limits.files_per_s)
            status = client.status()
    except NoMover:
        raise RequestError(f"no mover runs with the state {state}; hint: see `tonnage stage list`") from None
    print(f"mover {status['name']}: {limits_text(status) or 'no limit'}")
    return 0
