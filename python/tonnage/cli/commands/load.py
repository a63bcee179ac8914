"""``tonnage load``: how busy each file server is, once, live, or for Prometheus."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from tonnage.cli.placement.load_table import LiveTable, drawn, problems, text
from tonnage.cli.placement.stop import not_too_often
from tonnage.cli.stream import is_plain
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.answers import load_answer
from tonnage.placement.server_load import NOTHING_READ, LoadReader, LoadRow, select_servers
from tonnage.placement.site import load_site

_EVERY_NS = 2 * 10**9


def run(arguments: Namespace) -> int:
    """Exit code: 1 where no index of any server could be read."""
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
    if all(row.age_s is None for row in found):
        raise TonnageError(NOTHING_READ)
    return 0


def _show_once(found: Sequence[LoadRow], notes: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print(_json(found, notes))
        return
    if is_plain(sys.stdout):
        print(text(found))
    else:
        from tonnage.cli.terminal import rich_console

        rich_console(sys.stdout).print(drawn(found, ()))
    for line in (*problems(found), *notes):
        print(f"tonnage: {line}", file=sys.stderr)


def _json(found: Sequence[LoadRow], notes: Sequence[str]) -> str:
    """One object on one line, so that those of ``--watch`` can be told apart."""
    return json.dumps(asdict(load_answer(found, notes)), ensure_ascii=False, allow_nan=False)


def _go_on(look: LoadReader, arguments: Namespace) -> int:
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
    from tonnage.endpoint import Endpoint
    from tonnage.placement.metrics import LoadCollector

    endpoint = Endpoint(port)
    stack.callback(endpoint.close)
    endpoint.serve_from(LoadCollector(lambda: tuple(latest)))
    print(f"tonnage: metrics on {endpoint.address}", file=sys.stderr, flush=True)


def _shower(stack: ExitStack, arguments: Namespace) -> Callable[[Sequence[LoadRow], Sequence[str]], None]:
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
