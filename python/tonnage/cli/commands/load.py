"""``tonnage load``: how busy each file server is, once, live, or for Prometheus."""

from __future__ import annotations

import json
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tonnage.cli.placement.load_table import LiveTable, drawn, problems, text
from tonnage.cli.stream import is_plain
from tonnage.cluster.scheduler import Job
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.indices import fresh_indices
from tonnage.placement.lines import all_lines, line_of
from tonnage.placement.load import Row, rows
from tonnage.placement.site import Server, Site, load_site

_WAIT_NS = 3 * 10**9
"""For a server's answer, where a person waits for the table."""
_EVERY_NS = 2 * 10**9
_JOBS_NS = 5 * 10**9
"""The list of all jobs costs a large site's scheduler more than an index costs a server: asked no more often."""


def run(arguments: Namespace) -> int:
    """Exit code: 1 where no index of any server could be read."""
    site = load_site(Path.cwd(), Path(arguments.site) if arguments.site else None)
    servers = _asked_for(site, arguments.server)
    look = _Look(site, servers)
    if arguments.watch or arguments.metrics is not None:
        return _go_on(look, arguments)
    found = look()
    _show_once(found, look.notes, as_json=arguments.json)
    if all(row.age_s is None for row in found):
        raise TonnageError("no index of any server could be read; hint: `tonnage doctor` tells what is wrong")
    return 0


def _asked_for(site: Site, name: str | None) -> tuple[Server, ...]:
    if not site.server:
        raise RequestError("no file server is known; hint: name them in tonnage.toml, as docs/site-file.md says")
    if name is None:
        return site.server
    server = site.named(name)
    if server is None:
        known = ", ".join(server.name for server in site.server)
        raise RequestError(f"there is no file server {name!r}; hint: the site file has {known}")
    return (server,)


class _Look:
    """One look at everything; what went wrong beside the servers is in ``notes`` after it."""

    def __init__(self, site: Site, servers: Sequence[Server]) -> None:
        self._site, self._servers = site, servers
        self._jobs: list[Job] | None = None
        self._jobs_ns: int | None = None
        self.notes: list[str] = []

    def __call__(self) -> list[Row]:
        site = self._site
        # A daemon: Ctrl-C does not wait for a scheduler that hangs.
        asking = threading.Thread(target=self._ask_scheduler, name="jobs", daemon=True)
        asking.start()
        readings = fresh_indices(self._servers, wait_ns=_WAIT_NS)
        kept = all_lines(site)[0]
        found = ((server.name, line_of(site, server, None, among=kept)) for server in self._servers)
        lines = {name: line.tasks for name, line in found if line}
        asking.join()
        only = self._servers[0].name if len(self._servers) == 1 else None
        return rows(site, readings, self._jobs, lines, now_s=time.time(), only=only)

    def _ask_scheduler(self) -> None:
        now_ns = time.monotonic_ns()
        if self._jobs_ns is not None and now_ns - self._jobs_ns < _JOBS_NS:
            return
        self.notes = []
        try:
            self._jobs = scheduler(self._site.scheduler, timeout_s=self._site.policy.scheduler_timeout / 1e9).jobs()
        except TonnageError as error:
            self._jobs = None
            self.notes = [f"jobs are not known: {error}"]
        self._jobs_ns = time.monotonic_ns()


def _show_once(found: Sequence[Row], notes: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print(_json(found, notes))
        return
    if is_plain(sys.stdout):
        print(text(found))
    else:
        from rich.console import Console

        Console(highlight=False).print(drawn(found, ()))
    for line in (*problems(found), *notes):
        print(f"tonnage: {line}", file=sys.stderr)


def _json(found: Sequence[Row], notes: Sequence[str]) -> str:
    """One object on one line, so that those of ``--watch`` can be told apart."""
    told = {"at_s": round(time.time(), 3), "servers": [row.as_dict() for row in found], "notes": list(notes)}
    return json.dumps(told, ensure_ascii=False, allow_nan=False)


def _go_on(look: _Look, arguments: Namespace) -> int:
    """Until Ctrl-C, which is how one leaves it."""
    every_s = (arguments.every or _EVERY_NS) / 1e9
    latest: list[Row] = []
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


def _serve(stack: ExitStack, port: int, latest: Sequence[Row]) -> None:
    from tonnage.endpoint import Endpoint
    from tonnage.placement.metrics import Collector

    endpoint = Endpoint(port)
    stack.callback(endpoint.close)
    endpoint.serve_from(Collector(lambda: tuple(latest)))
    print(f"tonnage: metrics on {endpoint.address}", file=sys.stderr, flush=True)


def _shower(stack: ExitStack, arguments: Namespace) -> Callable[[Sequence[Row], Sequence[str]], None]:
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
