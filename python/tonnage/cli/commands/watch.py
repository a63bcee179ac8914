"""``tonnage watch``: when a server's load passes its load line, since when, and whose jobs are there."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from tonnage.cli.placement.stop import Stop, not_too_often
from tonnage.cli.placement.watch_lines import of_event, of_state, told
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.server_load import JOBS_NS, LoadReader, select_servers
from tonnage.placement.site import load_site
from tonnage.placement.watch.history import History
from tonnage.placement.watch.watch import Watch

EVERY_NS = 30 * 10**9


def run(arguments: Namespace) -> int:
    """Exit code: 0 also after Ctrl-C, which is how one leaves it."""
    if arguments.once and (arguments.every is not None or arguments.metrics is not None):
        raise RequestError("--once looks once; hint: leave --every and --metrics out")
    every_ns = EVERY_NS if arguments.every is None else arguments.every
    not_too_often(every_ns)
    site = load_site(Path(), Path(arguments.site) if arguments.site else None)
    servers = select_servers(site, [arguments.server] if arguments.server else [])
    # Two looks in a row are two lists of jobs, however often somebody wants to look.
    look = LoadReader(site, servers, asks_who_sees=True, jobs_age_ns=min(JOBS_NS, every_ns // 2))
    watch = Watch(look, every_s=every_ns / 1e9, history=History())
    if arguments.once:
        return _once(watch, as_json=arguments.json)
    with ExitStack() as stack:
        if arguments.metrics is not None:
            _serve(stack, arguments.metrics, watch)
        stack.enter_context(watch.held())
        _go_on(watch, every_ns / 1e9, as_json=arguments.json)
    return 0


def _once(watch: Watch, *, as_json: bool) -> int:
    """What one look says; an episode is one that another watch keeps. Writes nothing."""
    states = watch.glance()
    now_s = time.time()
    for line in told([of_state(state, now_s) for state in states], json_wanted=as_json):
        print(line)
    if all(state.seen.above is None for state in states):
        raise TonnageError("of no server it can be told; hint: `tonnage doctor` tells what is wrong")
    return 0


def _go_on(watch: Watch, every_s: float, *, as_json: bool) -> None:
    with Stop() as stop:
        try:
            watch.resume()
            _narrate(f"watching {', '.join(watch.servers)}, every {every_s:g} s, until Ctrl-C")
            while True:
                began_s = time.monotonic()
                with stop.open():
                    rows, seen = watch.look()
                    risen = watch.raise_caps()
                before = watch.problem
                for line in told([of_event(event) for event in watch.take(rows, seen)], json_wanted=as_json):
                    print(line, flush=True)
                for sentence in risen:
                    _narrate(sentence)
                if watch.problem and watch.problem != before:
                    _narrate(f"the history is not kept: {watch.problem}")
                with stop.open():
                    time.sleep(max(0.0, every_s - (time.monotonic() - began_s)))
        except KeyboardInterrupt:
            pass
        finally:
            watch.close()
    if watch.problem:
        raise TonnageError(f"the last of the history is not kept: {watch.problem}")


def _serve(stack: ExitStack, port: int, watch: Watch) -> None:
    from tonnage.endpoint import Endpoint
    from tonnage.placement import metrics
    from tonnage.placement.metrics import WatchCollector

    endpoint = Endpoint(port)
    stack.callback(endpoint.close)
    rows = metrics.LoadCollector(lambda: [state.row for state in watch.states])
    endpoint.serve_from(rows, WatchCollector(lambda: watch.states))
    _narrate(f"metrics on {endpoint.address}")


def _narrate(text: str) -> None:
    print(f"tonnage: {text}", file=sys.stderr, flush=True)
