"""``tonnage watch``: when a server's load passes its load line, since when, and whose jobs are there."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import METRICS, SERVER, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError, TonnageError
from tonnage.units import format_time, parse_time

if TYPE_CHECKING:
    from tonnage.placement.watch.watch import Watch

COMMAND = Command(
    "watch",
    "note when a file server's load passes its load line, since when, and whose jobs are there",
    "Checks each file server of the site file at an interval. Prints a line when the load rises above the "
    "load line, when it falls back, and when either is unknown: the time, the load, the line, since when, "
    "and the users whose jobs run there, as far as the scheduler reports them. The observations are kept; "
    "`tonnage history --servers` shows them. `tonnage explain watch` defines when an episode begins and ends.",
    (
        SERVER,
        Option(("--every",), "interval between checks", "TIME", "30s", parse=parse_time),
        METRICS,
        Option(("--once",), "check once, print the state of each server, and keep nothing"),
        SITE,
        Option(("--json",), "print one JSON object a line for each event, and nothing else on stdout"),
    ),
    (
        ("tonnage watch", "all servers, until Ctrl-C"),
        ("tonnage watch --json --metrics 9402", "for a log, and for Prometheus"),
        ("tonnage watch --once rcss1", "is it above its line now, and since when"),
    ),
    loads=("tonnage.placement.server_load", "tonnage.placement.watch.watch", "tonnage.cli.watch_lines"),
)

EVERY_NS = 30 * 10**9
_SHORTEST_NS = 10**8
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(arguments: Arguments) -> int:
    """Exit code: 0 also after Ctrl-C, which is how one leaves it."""
    from tonnage.placement.server_load import JOBS_NS, LoadReader, select_servers
    from tonnage.placement.site import load_site
    from tonnage.placement.watch.watch import Watch
    from tonnage.placement.watch.watch_history import History

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
        stack.enter_context(watch.locked())
        _go_on(watch, every_ns / 1e9, as_json=arguments.json)
    return 0


def _once(watch: Watch, *, as_json: bool) -> int:
    """What one look says; an episode is one that another watch keeps. Writes nothing."""
    from tonnage.cli.watch_lines import of_state, state_lines

    states = watch.observe_only()
    now_s = time.time()
    for line in state_lines([of_state(state, now_s) for state in states], json_wanted=as_json):
        print(line)
    if all(state.seen.above is None for state in states):
        raise TonnageError("of no server it can be told; hint: `tonnage doctor` tells what is wrong")
    return 0


def _go_on(watch: Watch, every_s: float, *, as_json: bool) -> None:
    from tonnage.cli.watch_lines import of_event, state_lines

    with Stop() as stop:
        try:
            watch.resume()
            _narrate(f"watching {', '.join(watch.servers)}, every {every_s:g} s, until Ctrl-C")
            while True:
                began_s = time.monotonic()
                with stop.open():
                    rows, seen = watch.observe()
                    risen = watch.raise_caps()
                before = watch.problem
                for line in state_lines([of_event(event) for event in watch.record(rows, seen)], json_wanted=as_json):
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
    from tonnage.metrics_endpoint import Endpoint
    from tonnage.placement import server_metrics
    from tonnage.placement.server_metrics import WatchCollector

    endpoint = Endpoint(port)
    stack.callback(endpoint.close)
    rows = server_metrics.LoadCollector(lambda: [state.row for state in watch.states])
    endpoint.serve_from(rows, WatchCollector(lambda: watch.states))
    _narrate(f"metrics on {endpoint.address}")


def _narrate(text: str) -> None:
    print(f"tonnage: {text}", file=sys.stderr, flush=True)


def not_too_often(every_ns: int) -> None:
    """RequestError for looks that would follow each other without end."""
    if every_ns < _SHORTEST_NS:
        raise RequestError(
            f"--every {format_time(every_ns)} is too often; hint: give at least {format_time(_SHORTEST_NS)}"
        )


class Stop:
    """While entered, a signal ends what is done within ``open`` at once, and all else when it is done."""

    def __init__(self) -> None:
        self.asked = False
        self._is_open = False
        self._before: dict[signal.Signals, Callable[..., Any] | int | None] = {}

    def __enter__(self) -> Stop:
        for number in _SIGNALS:
            # nohup ignores SIGHUP on purpose.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def open(self) -> Iterator[None]:
        """What a signal may end: KeyboardInterrupt, also for one that came before."""
        self._is_open = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._is_open = False

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        if self._is_open:
            self._is_open = False  # a second one asks for nothing more
            raise KeyboardInterrupt
