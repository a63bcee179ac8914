"""``tonnage load``: how busy each file server is, once, live, or for Prometheus."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tonnage.cli.command import Arguments
from tonnage.cli.output_stream import is_plain
from tonnage.cli.shared_options import JSON, METRICS, SERVER, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.printable_text import columns
from tonnage.units import parse_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tonnage.placement.server_load import LoadReader, LoadRow

COMMAND = Command(
    "load",
    "show how busy each file server is, and its head-room to the load line",
    "Shows for each file server of the site file: CPU, block device operations, NFS calls, I/O pressure, "
    "jobs that run and wait next to it, how many more tasks it carries, and how much of its load line is "
    "promised to submitted jobs, used by others, and left. Each index has its age; a stale one is marked.",
    (
        SERVER,
        Option(("--watch",), "update the display until Ctrl-C"),
        Option(("--every",), "interval between updates, with --watch or --metrics", "TIME", "2s", parse=parse_time),
        METRICS,
        SITE,
        JSON,
    ),
    (
        ("tonnage load", "once"),
        ("tonnage load --watch", "live, until Ctrl-C"),
        ("tonnage load --json rcss1", "one server, for a script"),
    ),
    loads=("tonnage.placement.server_load",),
)

_EVERY_NS = 2 * 10**9

HEADINGS = (
    "SERVER", "UT", "BIO", "RPC", "PRESSURE", "RUN", "WAIT", "LINE", "HEAD-ROOM", "PROMISED", "OTHERS", "LEFT", "AGE",
)  # fmt: skip
_UNKNOWN = "-"


def run(arguments: Arguments) -> int:
    """Exit code: 1 where no index of any server could be read, 2 where the site file names none."""
    from tonnage.cli.commands.watch import not_too_often
    from tonnage.placement.server_load import LoadReader, require_read, select_servers
    from tonnage.placement.site import load_site

    if arguments.every is not None and not arguments.watch and arguments.metrics is None:
        raise RequestError("--every is for looking more than once; hint: add --watch or --metrics PORT")
    if arguments.every is not None:
        not_too_often(arguments.every)
    site = load_site(Path(), Path(arguments.site) if arguments.site else None)
    look = LoadReader(site, select_servers(site, [arguments.server] if arguments.server else []))
    if arguments.watch or arguments.metrics is not None:
        return _go_on(look, arguments)
    found = look()
    _show_once(found, look.notes, as_json=arguments.json)
    require_read(found)
    return 0


def _show_once(found: Sequence[LoadRow], notes: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print(_json(found, notes))
        return
    if is_plain(sys.stdout):
        print(text(found))
    else:
        from tonnage.cli.terminal import rich_console

        console = rich_console(sys.stdout)
        console.print(drawn(found, (), console.width))
    for line in (*problems(found), *notes):
        print(f"tonnage: {line}", file=sys.stderr)


def _json(found: Sequence[LoadRow], notes: Sequence[str]) -> str:
    """One object on one line, so that those of ``--watch`` can be separated."""
    from tonnage.placement.answer_types import load_answer

    return json.dumps(asdict(load_answer(found, notes)), ensure_ascii=False, allow_nan=False)


def _go_on(look: LoadReader, arguments: Arguments) -> int:
    """Until Ctrl-C, which is how one leaves it."""
    every_s = (_EVERY_NS if arguments.every is None else arguments.every) / 1e9
    latest: list[LoadRow] = []
    with ExitStack() as stack:
        if arguments.metrics is not None:
            _serve(stack, arguments.metrics, latest)
        show = _shower(stack, arguments)
        try:
            while True:
                began_s = time.monotonic()
                latest[:] = look()
                show(latest, look.notes)
                time.sleep(max(0.0, every_s - (time.monotonic() - began_s)))
        except KeyboardInterrupt:
            return 0


def _serve(stack: ExitStack, port: int, latest: Sequence[LoadRow]) -> None:
    from tonnage.metrics_endpoint import Endpoint
    from tonnage.placement.server_metrics import LoadCollector

    endpoint = Endpoint(port)
    stack.callback(endpoint.close)
    endpoint.serve_from(LoadCollector(lambda: tuple(latest)))
    print(f"tonnage: metrics on {endpoint.address}", file=sys.stderr, flush=True)


def _shower(stack: ExitStack, arguments: Arguments) -> Callable[[Sequence[LoadRow], Sequence[str]], None]:
    """How each look is shown."""
    if arguments.json:
        return lambda found, notes: print(_json(found, notes), flush=True)
    if not arguments.watch:
        return lambda _found, _notes: None
    if is_plain(sys.stdout):
        return lambda found, notes: print("\n".join([text(found), *problems(found), *notes, ""]), flush=True)
    table = LiveTable(sys.stdout)
    stack.callback(table.close)
    return lambda found, notes: table.show(found, [*problems(found), *notes])


def cells(row: LoadRow) -> list[str]:
    """Returns one row, as texts under ``HEADINGS``."""
    reading = row.reading
    figures = [_UNKNOWN] * 4
    if reading is not None:
        figures = [
            _percent(reading.ut_permille),
            _per_s(reading.bio_per_s),
            _per_s(reading.rpc_per_s),
            _percent(reading.pressure_permille),
        ]
    tasks = (row.running, row.waiting, row.line, row.head_room)
    demand = (row.promised, row.others, row.left)
    return [
        row.server,
        *figures,
        *(_UNKNOWN if one is None else f"{one:,}" for one in tasks),
        *(_UNKNOWN if one is None else f"{one:,.1f}".removesuffix(".0") for one in demand),
        _age(row),
    ]


def problems(rows: Sequence[LoadRow]) -> list[str]:
    """One line for each server of which something is not known."""
    return [f"{row.server}: {row.problem}" for row in rows if row.problem]


def text(rows: Sequence[LoadRow]) -> str:
    """The table in plain text: names to the left, figures to the right."""
    return columns([HEADINGS, *(cells(row) for row in rows)], right=range(1, len(HEADINGS)))


def drawn(rows: Sequence[LoadRow], notes: Sequence[str], width: int = 1000) -> RenderableType:
    """The same for a terminal of ``width`` columns: what is stale is dim, what is over its line red; columns for which
    there is no room go on below."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from tonnage.report.columns import blocks_of
    from tonnage.report.figures.figure import Table as Plain
    from tonnage.report.figures.figure import text_column

    every = Plain.of((text_column(HEADINGS[0]), *HEADINGS[1:]), tuple(tuple(cells(row)) for row in rows))
    tables = []
    for block in blocks_of(every, width):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for number, heading in enumerate(block.headings):
            table.add_column(heading, justify="right" if number else "left", no_wrap=True)
        for row, told in zip(rows, block.rows, strict=True):
            styles = _styles(row)
            table.add_row(
                *(Text(cell, styles.get(heading, "")) for heading, cell in zip(block.headings, told, strict=True))
            )
        tables.append(table)
    return Group(*tables, *(Text(note, style="yellow") for note in notes))


def _styles(row: LoadRow) -> dict[str, str]:
    """By heading."""
    found = dict.fromkeys((*HEADINGS[1:5], HEADINGS[-1]), "dim") if row.stale else {}
    if row.head_room is not None:
        found["HEAD-ROOM"] = "green" if row.head_room > 0 else "yellow" if row.head_room == 0 else "red"
    return found


class LiveTable:
    """Redrawn in place; it stays on the screen at the end."""

    def __init__(self, stream: TextIO) -> None:
        from rich.live import Live

        from tonnage.cli.terminal import rich_console

        self._live = Live(console=rich_console(stream), auto_refresh=False)
        self._started = False

    def show(self, rows: Sequence[LoadRow], notes: Sequence[str]) -> None:
        """Replaces what was shown."""
        from tonnage.cli.terminal import Shown

        if not self._started:
            self._started = True
            self._live.start()
        self._live.update(Shown(drawn(rows, notes, self._live.console.width)), refresh=True)

    def close(self) -> None:
        """Gives the terminal back."""
        with suppress(OSError):
            self._live.stop()


def _percent(permille: int | None) -> str:
    return _UNKNOWN if permille is None else f"{permille / 10:.0f}%"


def _per_s(rate: float | None) -> str:
    return _UNKNOWN if rate is None else f"{rate:,.0f}/s"


def _age(row: LoadRow) -> str:
    if row.age_s is None:
        return _UNKNOWN
    return f"{row.age_s:.0f}s{' stale' if row.stale else ''}"
