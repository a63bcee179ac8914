"""``tonnage serve``: the live page."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.command import Command
from tonnage.cli.shared_options import SITE
from tonnage.option import Option, parse_port

COMMAND = Command(
    "serve",
    "show runs, file servers and drains on a live page",
    "Serves a page that lists the runs below each DIR, under way and done, with their progress, figures and findings "
    "as they come, their reports and comparisons, the load of the site's file servers and the drains of this user. "
    "Prints the address to open. Nothing on the page changes anything.",
    (
        Option(
            ("directories",),
            "directory that holds runs, or one run",
            "DIR",
            "the current directory",
            optional=True,
            repeats=True,
            completes="directory",
        ),
        Option(("--port",), "where to listen, 0 for any free port", "PORT", "0", parse=parse_port),
        Option(
            ("--host",),
            "address or name to listen on; one that other hosts reach asks viewers for a token, which is in the "
            "printed address",
            "HOST",
            "127.0.0.1",
        ),
        Option(("--token",), "ask for a token on this host too, where other users could look"),
        Option(
            ("--certificate",),
            "serve https (TLS 1.2 or newer) with this certificate (PEM)",
            "FILE",
            "plain text",
            completes="file",
        ),
        Option(
            ("--key",),
            "the certificate's private key (PEM, without a password), which others may not read",
            "FILE",
            "in the certificate's file",
            completes="file",
        ),
        SITE,
    ),
    (
        ("tonnage serve", "the runs below this directory"),
        (
            "tonnage serve --port 8080 /scratch/me/runs /project/runs",
            "of several directories, on a port of your choice",
        ),
        ("tonnage serve --host 0.0.0.0", "for colleagues: they open the printed address with its token"),
        (
            "tonnage serve --host 0.0.0.0 --certificate login1.pem --key login1.key",
            "the same, unreadable for others on the network",
        ),
    ),
    loads=("tonnage.cli.boards", "tonnage.dashboard.server"),
)

HOST = "127.0.0.1"


def run(arguments: Namespace) -> int:
    """Exit code; Ctrl-C is how one leaves it."""
    from tonnage.cli.boards import drains_board, servers_board
    from tonnage.dashboard.server import Wish, serve

    boards = [board for board in (servers_board(Path.cwd(), arguments.site), drains_board()) if board]
    wish = Wish(
        roots=[Path(directory).absolute() for directory in arguments.directories or ["."]],
        host=arguments.host or HOST,
        port=arguments.port or 0,
        token=arguments.token,
        certificate=_file(arguments.certificate),
        key=_file(arguments.key),
    )
    serve(wish, boards, _announce)
    return 0


def _file(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _announce(address: str, is_plain: bool) -> None:
    print(address, flush=True)
    if is_plain:
        print(
            "tonnage: what this serves, the token too, is plain text that anybody on the way can read; "
            "hint: --certificate FILE serves https",
            file=sys.stderr,
            flush=True,
        )
    print("tonnage: open this address in a browser; Ctrl-C ends the server", file=sys.stderr, flush=True)
