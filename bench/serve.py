"""What the live page costs a measurement on the same host: the same trial with viewers and without, interleaved.

``python bench/serve.py [--quick]``. Worst case: as many tasks as processors on a storage that costs nothing, so that
what the server uses is taken from the measurement. Writes what it finds where ``--out`` says. See ``bench/README.md``.
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
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from children import cleaned_up_on_signals
from run import host_facts, machine_name
from spread import spread
from tonnage.dashboard.finder import identifier_of

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
"""
PATIENCE_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What the live page costs a measurement on the same host.")
    parser.add_argument("--rounds", type=int, default=12, help="trials with viewers and without (6 give 95 %%)")
    parser.add_argument("--seconds", type=int, default=8, help="length of a trial")
    parser.add_argument("--viewers", type=int, default=8, help="half look at the list, half at the run")
    parser.add_argument("--tasks", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--target", default="null:", help="what is measured")
    parser.add_argument("--transfer", default="64KiB", help="bytes of one operation")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order")
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 3 s: to see that it works, not to quote")
    parser.add_argument("--out", type=Path, help="where the results' directory is made; nothing is written without it")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.seconds = 2, 3
    return given


def environment() -> dict[str, str]:
    """This checkout's package for the children too."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "python"), "NO_COLOR": "1"}


@contextmanager
def served(place: Path) -> Iterator[tuple[int, int]]:
    """A server of the runs in a directory: its process and its port."""
    process = subprocess.Popen(
        [*COMMAND, "serve", str(place)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.pid, int(urlsplit(process.stdout.readline().strip()).port or 0)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)


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


def cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def trial(given: argparse.Namespace, place: Path, name: str, port: int, *, watched: bool) -> tuple[float, int]:
    """Operations a second of one trial, and the bytes that viewers were told."""
    file, out = place / f"{name}.toml", place / name
    file.write_text(CAMPAIGN.format(**vars(given)))
    words = [*COMMAND, "run", str(file), "--no-report", "--out", str(out)]
    viewers = Viewers(port, identifier_of(out), given.viewers) if watched else None
    if viewers is None:
        subprocess.run(words, env=environment(), check=True, capture_output=True)
    else:
        with viewers:
            subprocess.run(words, env=environment(), check=True, capture_output=True)
    line = json.loads((out / "trials.jsonl").read_text().splitlines()[-1])
    return line["operations_per_s"], viewers.received_bytes if viewers else 0


def measure(given: argparse.Namespace, place: Path) -> dict[str, Any]:
    """All rounds: rates with and without, the ratio of each pair, and what the server used."""
    order = random.Random(given.seed)
    rates: dict[bool, list[float]] = {True: [], False: []}
    told_bytes, used_s, watched_s = 0, 0.0, 0.0
    with served(place) as (pid, port):
        for number in range(given.rounds + 1):
            for watched in order.sample((True, False), 2):
                began_s, before_s = time.monotonic(), cpu_s(pid)
                rate, told = trial(
                    given, place, f"{number:03d}-{'watched' if watched else 'alone'}", port, watched=watched
                )
                if not number:
                    continue  # warm: the analysis is loaded, memory touched
                rates[watched].append(rate)
                if watched:
                    used_s, watched_s = used_s + cpu_s(pid) - before_s, watched_s + time.monotonic() - began_s
                    told_bytes += told
                print(
                    f"round {number}: {'watched' if watched else 'alone  '} {rate:,.0f} operations/s", file=sys.stderr
                )
    ratios = [one / other for one, other in zip(rates[True], rates[False], strict=True)]
    return {
        "viewers": given.viewers,
        "tasks": given.tasks,
        "target": given.target,
        "seconds": given.seconds,
        "rounds": given.rounds,
        "watched_per_s": rates[True],
        "alone_per_s": rates[False],
        "ratio": asdict(spread(ratios)),
        "server_cpu_share": used_s / watched_s,
        "told_bytes_per_s": told_bytes / watched_s,
    }


def main() -> int:
    given = arguments()
    host = host_facts()
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(prefix="tonnage-bench-serve-") as place:
        found = {"date": datetime.date.today().isoformat(), "host": host, **measure(given, Path(place))}
    ratio = found["ratio"]
    print(
        f"with {given.viewers} viewers {ratio['median']:.4f} of the rate without "
        f"[{ratio['low']:.4f}, {ratio['high']:.4f}] at {100 * ratio['confidence']:.1f} %; the server used "
        f"{100 * found['server_cpu_share']:.2f} % of one processor"
    )
    if given.out is not None:
        place = given.out / f"{found['date']}-{given.machine or machine_name(host)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "serve.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
