"""``tonnage serve``: the live page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.commands.load import HEADINGS, cells, problems
from tonnage.cli.shared_options import SITE
from tonnage.cli.stage.list_movers import statuses
from tonnage.cli.stage.status_text import details, progress_line, share_done, totals_text
from tonnage.command_line import Command
from tonnage.command_option import Option, parse_port
from tonnage.dashboard.pages import Board, Row, RowKind, Table
from tonnage.errors import RequestError
from tonnage.printable_text import one_line

if TYPE_CHECKING:
    from tonnage.placement.server_load import LoadReader
    from tonnage.placement.watch.watch import State, Watch
    from tonnage.placement.watch.watch_history import History
    from tonnage.staging.mover_status import Status

COMMAND = Command(
    "serve",
    "show runs, file servers and drains on a live page",
    "Serves a web page that lists the runs below each DIR, running and finished, with live progress, figures "
    "and findings, reports and comparisons, the load of the site's file servers, and this user's movers. "
    "Prints the address to open. The page is read-only.",
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
            "address or name to listen on; if other hosts can reach it, viewers need the token in the printed address",
            "HOST",
            "127.0.0.1",
        ),
        Option(("--token",), "require the token on this host too, where other users could open the page"),
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
            "the same, encrypted",
        ),
    ),
    loads=("tonnage.placement.watch", "tonnage.dashboard.server"),
)

HOST = "127.0.0.1"
_SERVERS_S = 5.0
_DRAINS_S = 2.0
_MOST_DETAILS = 4


def run(arguments: Arguments) -> int:
    """Exit code; Ctrl-C is how one leaves it."""
    from tonnage.dashboard.server import ServeRequest, serve

    boards = [board for board in (servers_board(Path.cwd(), arguments.site), drains_board()) if board]
    request = ServeRequest(
        roots=[Path(directory).absolute() for directory in arguments.directories or ["."]],
        host=arguments.host or HOST,
        port=arguments.port or 0,
        token=arguments.token,
        certificate=_file(arguments.certificate),
        key=_file(arguments.key),
    )
    serve(request, boards, _announce)
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


def servers_board(directory: Path, site_file: str | None) -> Board | None:
    """The rows of ``tonnage load``; None where the site file names no server. RequestError where it cannot be read."""
    from tonnage.placement.server_load import LoadReader
    from tonnage.placement.site import load_site
    from tonnage.placement.watch.watch import Watch
    from tonnage.placement.watch.watch_history import History

    site = load_site(directory, Path(site_file) if site_file else None)
    if not site.server:
        return None
    columns = tuple(heading.lower() for heading in HEADINGS)
    empty = "No server answered."
    look = LoadReader(site, site.server, asks_who_sees=True, jobs_age_ns=int(_SERVERS_S * 1e9) // 2)
    history: History | None = None
    with suppress(RequestError):
        # Without one the page knows only what it has seen itself.
        history = History()
    watch = Watch(look, every_s=_SERVERS_S, history=history)
    return Board("servers", "File servers", columns, empty, _servers(look, watch), _SERVERS_S)


def _servers(look: LoadReader, watch: Watch) -> Callable[[], Table]:
    def ask() -> Table:
        found = watch.observe_only()
        return Table(tuple(map(_server, found)), (*problems([state.row for state in found]), *look.notes))

    return ask


def _server(state: State) -> Row:
    """Its bar is how much of its load line is used."""
    row = state.row
    room = row.head_room
    kind: RowKind = "dim" if row.stale else "" if room is None else "bad" if room < 0 else "warn" if room == 0 else ""
    share = row.running / row.line if row.line and row.running is not None else None
    kind = "bad" if state.above else kind
    return Row(tuple(cells(row)), None if share is None else min(1.0, share), kind, tuple(_there(state)))


def _there(state: State) -> Iterator[str]:
    """Since when it is above its line, and which users have jobs there."""
    from tonnage.cli.watch_lines import iso, span_text, users_text

    if state.since_s is not None and state.lasts_s is not None:
        known = "" if state.known else "; now it is not known"
        yield f"Above its load line since {iso(state.since_s)}, for {span_text(state.lasts_s)}{known}."
    there = state.seen.there
    if there is not None and there.users:
        yield one_line(f"{users_text(there)}.")


def drains_board() -> Board:
    """Makes the rows of ``tonnage stage list``."""
    columns = ("drain", "from", "to", "safe", "queue", "now")
    empty = "No mover of yours is known on this host: `tonnage stage start` starts one."
    return Board("drains", "Drains", columns, empty, _drains, _DRAINS_S)


def _drains() -> Table:
    return Table(tuple(map(_drain, statuses())))


def _drain(status: Status) -> Row:
    now = progress_line(status) if status["running"] else "does not run"
    queue = totals_text(status["queued"])
    names = (status["name"], status["from"], status["to"], totals_text(status["done"]), queue, now)
    left = not status["running"] and status["queued"]["files"] > 0
    kind: RowKind = "bad" if status["failed"]["files"] else "warn" if left else ""
    return Row(tuple(map(str, names)), share_done(status), kind, tuple(details(status)[:_MOST_DETAILS]))
