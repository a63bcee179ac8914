"""What the live page shows beside runs: the file servers of the site, and this user's movers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tonnage.cli.placement.load_table import HEADINGS, cells, problems
from tonnage.cli.placement.watch_lines import iso, span_text, users_text
from tonnage.cli.stage.look import statuses
from tonnage.cli.stage.words import Status, details, progress_line, share_done, totals_text
from tonnage.dashboard.boards import Board, Row, Table
from tonnage.errors import RequestError
from tonnage.placement.server_load import LoadReader
from tonnage.placement.site import load_site
from tonnage.placement.watch.history import History
from tonnage.placement.watch.watch import State, Watch
from tonnage.plain import one_line

_SERVERS_S = 5.0
_DRAINS_S = 2.0
_MOST_DETAILS = 4


def servers_board(directory: Path, site_file: str | None) -> Board | None:
    """The rows of ``tonnage load``; None where the site file names no server. RequestError where it cannot be read."""
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
        found = watch.glance()
        return Table(tuple(map(_server, found)), (*problems([state.row for state in found]), *look.notes))

    return ask


def _server(state: State) -> Row:
    """Its bar is how much of its load line is used."""
    row = state.row
    room = row.head_room
    kind = "dim" if row.stale else "" if room is None else "bad" if room < 0 else "warn" if room == 0 else ""
    share = row.running / row.line if row.line and row.running is not None else None
    kind = "bad" if state.above else kind
    return Row(tuple(cells(row)), None if share is None else min(1.0, share), kind, tuple(_there(state)))


def _there(state: State) -> Iterator[str]:
    """Since when it is above its line, and who is there."""
    if state.since_s is not None and state.lasts_s is not None:
        known = "" if state.known else "; now it is not known"
        yield f"Above its load line since {iso(state.since_s)}, for {span_text(state.lasts_s)}{known}."
    there = state.seen.there
    if there is not None and there.users:
        yield one_line(f"{users_text(there)}.")


def drains_board() -> Board:
    """The rows of ``tonnage stage list``."""
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
    kind = "bad" if status["failed"]["files"] else "warn" if left else ""
    return Row(tuple(map(str, names)), share_done(status), kind, tuple(details(status)[:_MOST_DETAILS]))
