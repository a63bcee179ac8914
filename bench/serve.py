"""What the live page costs a measurement on the same host: trials with the page and without, interleaved in one run.

``python bench/serve.py [--quick]``. Worst case: as many tasks as processors on a storage that costs nothing, so that
what the server uses is taken from the measurement. For a trial without it, the server is stopped (SIGSTOP) where it
stands, and goes on for the next one with it: the two differ in nothing else. Writes what it finds where ``--out``
says. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from child_processes import cleaned_up_on_signals
from round_medians import spread
from run import host_facts, machine_name
from tonnage.dashboard.run_files import identifier_of

COMMAND = [sys.executable, "-m", "tonnage.cli"]
CAMPAIGN = """\
target = "{target}"
seed = 1
[workload]
tasks = [{tasks}]
op = ["write"]
transfer_size = "{transfer}"
block_size = "64MiB"
time_limit = "{seconds}s"
wrap = true
sync = "none"
[repeat]
count = {count}
"""
WARM = 2
"""First trials, with the page: the server loads what judges, and memory is touched."""
PATIENCE_S = 60.0
_LOOK_S = 0.01
_TICKS = os.sysconf("SC_CLK_TCK")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What the live page costs a measurement on the same host.")
    parser.add_argument("--pairs", type=int, default=60, help="trials with the page and without (6 give 95 %%)")
    parser.add_argument("--seconds", type=int, default=2, help="length of a trial; short ones drift less apart")
    parser.add_argument("--viewers", type=int, default=8, help="half look at the list, half at the run")
    parser.add_argument("--tasks", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--target", default="null:", help="what is measured")
    parser.add_argument("--transfer", default="64KiB", help="bytes of one operation")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order within the pairs")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--quick", action="store_true", help="2 pairs of 1 s: to see that it works, not to quote")
    parser.add_argument("--out", type=Path, help="where the results' directory is made; nothing is written without it")
    given = parser.parse_args()
    if given.quick:
        given.pairs, given.seconds = 2, 1
    return given


def environment() -> dict[str, str]:
    """Returns an environment in which children too use this checkout's package."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "python"), "NO_COLOR": "1"}


class Page:
    """A server of the runs in a directory, and what it used while it was not stopped."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process, self.port = process, port

    def goes_on(self, on: bool) -> None:
        """Stops it where it stands, or lets it go on."""
        self._process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)

    def used_s(self) -> float:
        """Returns the processor time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Asks a program to end, also one that is stopped, and waits for it."""
    try:
        yield
    finally:
        for number in (signal.SIGCONT, signal.SIGINT):
            process.send_signal(number)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def served(place: Path) -> Iterator[Page]:
    """Serves the page of a directory."""
    process = subprocess.Popen(
        [*COMMAND, "serve", str(place)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with ended(process):
        assert process.stdout is not None
        yield Page(process, int(urlsplit(process.stdout.readline().strip()).port or 0))


class Viewers:
    """Connections that read what they are told and throw it away, in one thread."""

    def __init__(self, port: int, run: str, count: int) -> None:
        self.received_bytes = 0
        self._port, self._run, self._count = port, run, count
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Viewers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        with selectors.DefaultSelector() as listening:
            for number in range(self._count):
                query = f"?run={self._run}" if number % 2 and self._is_known() else ""
                viewer = socket.create_connection(("127.0.0.1", self._port))
                viewer.sendall(f"GET /events{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                listening.register(viewer, selectors.EVENT_READ)
            while not self._ended.is_set():
                for key, _ in listening.select(0.2):
                    self.received_bytes += len(key.fileobj.recv(1 << 18))  # type: ignore[union-attr]
            for key in list(listening.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]

    def _is_known(self) -> bool:
        """Waits until the server has found the run, which the list's viewers make it look for."""
        until = time.monotonic() + PATIENCE_S
        while not self._ended.is_set() and time.monotonic() < until:
            with socket.create_connection(("127.0.0.1", self._port)) as asking:
                asking.sendall(f"HEAD /run/{self._run} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                if b" 200 " in asking.recv(64):
                    return True
            time.sleep(0.1)
        return False


@dataclass
class Found:
    """Operations a second of the trials with the page (True) and without, and what the page did in those with it."""

    rates: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    used_s: float = 0.0
    told_bytes: int = 0
    watched_s: float = 0.0


def plan(pairs: int, seed: int) -> list[bool]:
    """Of each trial whether the page goes on: pair by pair, in an order of chance."""
    order = random.Random(seed)
    return [True] * WARM + [watched for _ in range(pairs) for watched in order.sample((True, False), 2)]


def measure(given: argparse.Namespace, place: Path) -> Found:
    """One run, whose trials have the page and have it not."""
    file, out = place / "serve.toml", place / "run"
    turns = plan(given.pairs, given.seed)
    file.write_text(CAMPAIGN.format(**vars(given), count=len(turns)))
    words = [*COMMAND, "run", str(file), "--no-report", "--out", str(out)]
    found = Found()
    with served(place) as page:
        run = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with ended(run), Viewers(page.port, identifier_of(out), given.viewers) as viewers:
            lines = records(run, out / "trials.jsonl")
            for number, watched in enumerate(turns):
                page.goes_on(watched)
                began_s, before_s, before_bytes = time.monotonic(), page.used_s(), viewers.received_bytes
                rate = next(lines)["operations_per_s"]
                if number < WARM:
                    continue
                found.rates[watched].append(rate)
                if watched:
                    found.used_s += page.used_s() - before_s
                    found.watched_s += time.monotonic() - began_s
                    found.told_bytes += viewers.received_bytes - before_bytes
                print(f"{'with   ' if watched else 'without'} {rate:,.0f} operations/s", file=sys.stderr)
    return found


def records(run: subprocess.Popen[Any], trials: Path) -> Iterator[dict[str, Any]]:
    """Of each trial its line, once it is there."""
    while not trials.exists() and run.poll() is None:
        time.sleep(_LOOK_S)
    rest = ""
    with trials.open() as file:
        while True:
            over = run.poll() is not None
            rest += file.readline()
            if rest.endswith("\n"):
                yield json.loads(rest)
                rest = ""
            elif over:
                raise SystemExit(f"the run ended with {run.returncode} before its last trial")
            else:
                time.sleep(_LOOK_S)


def kept(given: argparse.Namespace, found: Found) -> dict[str, Any]:
    """What is kept of it."""
    ratios = [one / other for one, other in zip(found.rates[True], found.rates[False], strict=True)]
    asked = ("viewers", "tasks", "target", "transfer", "seconds", "pairs", "seed")
    return {
        **{name: getattr(given, name) for name in asked},
        "watched_per_s": found.rates[True],
        "alone_per_s": found.rates[False],
        "ratio": asdict(spread(ratios)),
        "server_cpu_share": found.used_s / found.watched_s,
        "told_bytes_per_s": found.told_bytes / found.watched_s,
    }


def main() -> int:
    given = arguments()
    host = host_facts()
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(prefix="tonnage-bench-serve-") as place:
        found = {"date": datetime.date.today().isoformat(), "host": host, **kept(given, measure(given, Path(place)))}
    ratio = found["ratio"]
    print(
        f"with the page and {given.viewers} viewers {ratio['median']:.4f} of the rate without "
        f"[{ratio['low']:.4f}, {ratio['high']:.4f}] at {100 * ratio['confidence']:.1f} %, of {given.pairs} pairs; "
        f"the server used {100 * found['server_cpu_share']:.2f} % of one processor"
    )
    if given.out is not None:
        place = given.out / f"{found['date']}-{given.machine or machine_name(host)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "serve.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
