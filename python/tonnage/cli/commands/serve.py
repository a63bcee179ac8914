"""``tonnage serve``: the live page."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.boards import drains_board, servers_board
from tonnage.dashboard.server import Wish, serve

HOST = "127.0.0.1"


def run(arguments: Namespace) -> int:
    """Exit code; Ctrl-C is how one leaves it."""
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
