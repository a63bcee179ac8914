"""Tonnage against libnfs's copy tools on a real NFS server of version 3, as root: writes and reads of one file.

``python bench/nfs.py [--quick]``. The server is nfs-ganesha on a tmpfs, so that no disk takes part; both contenders run
on another host. A round is one write and one read of a file of the same size by each of them, in an order drawn anew,
and ratios are of the same round. All write ``UNSTABLE`` and end with a COMMIT, in transfers of 1 MiB. Of ``nfs-cp`` and
``nfs-cat`` a figure is the process's time less what it takes for an empty file (the median of all rounds); its source
is all holes, which costs it the least. Of Tonnage it is the phase's, with opening, payload, COMMIT and closing in it.

A first round, which is not counted, touches the memory of the server's file system. Prints a table. See
``bench/README.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

# The checkout's lab.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

import nfs as lab
from hosts import Host, hosts
from round_medians import Spread, spread

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SOURCE, EMPTY = "/run/source", "/run/empty"
DEPTHS = (1, 8)
FILES = 6
"""Room for so many: two of each that writes, as a server gives space back when it likes."""
LIMIT_S = 60.0
PEER = {"write": "nfs-cp", "read": "nfs-cat"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Tonnage against nfs-cp and nfs-cat, over NFS version 3; as root.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=210.0, help="no round begins later than this")
    parser.add_argument("--mib", type=int, default=256, help="size of the file")
    parser.add_argument("--quick", action="store_true", help="shows that it works")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.mib = 2, 32
    return asked


class Libnfs:
    """``nfs-cp`` and ``nfs-cat`` on the client's host."""

    def __init__(self, client: Host, server: lab.Server, size: int) -> None:
        self.client, self.server, self.runs = client, server, 0
        client.run("truncate", "-s", str(size), SOURCE)
        client.run("touch", EMPTY)
        self._cp(SOURCE, "copy")
        self._cp(EMPTY, "empty")

    def _cp(self, source: str, name: str) -> float:
        return self._timed("nfs-cp", source, f"{self.server.uri}/{name}")

    def _timed(self, *argv: str) -> float:
        began = time.monotonic()
        self.client.run(*argv, timeout_s=LIMIT_S)
        return time.monotonic() - began

    def write(self, source: str) -> float:
        """Seconds of a copy to a name that is not there, which it wants."""
        self.runs += 1
        name = f"anew-{self.runs}"
        took = self._cp(source, name)
        # The server keeps files open: without this it would keep their bytes as well.
        os.truncate(self.server.directory / name, 0)
        (self.server.directory / name).unlink()
        return took

    def read(self, source: str) -> float:
        """Measures the seconds of a copy to nowhere."""
        name = "copy" if source == SOURCE else "empty"
        return self._timed("sh", "-c", 'exec nfs-cat "$1" >/dev/null', "sh", f"{self.server.uri}/{name}")


@contextlib.contextmanager
def tonnage(client: Host, size: int, scratch: Path) -> Iterator[Callable[[str, int], float]]:
    """Measures the seconds of a write or read at a depth."""
    for room in ("series", "heat", "latency", "operations"):
        (scratch / room).mkdir()
    export = json.dumps({"server": "server", "path": lab.EXPORT})
    words = client.command_line([sys.executable, HERE / "nfs_driver.py", export, scratch, str(size)], HERE)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        asked, answers = process.stdin, process.stdout
        assert asked and answers

        def ask(op: str, depth: int) -> float:
            print(op, depth, file=asked, flush=True)
            answer = answers.readline()
            if not answer:
                raise RuntimeError(f"the driver ended with status {process.wait()}")
            return int(answer) / 1e9

        try:
            yield ask
        finally:
            asked.close()


class Bench:
    """What was measured, one figure a round."""

    def __init__(self, libnfs: Libnfs, ask: Callable[[str, int], float]) -> None:
        self.libnfs, self.ask = libnfs, ask
        self.seconds: dict[str, list[float]] = {}

    def _add(self, name: str, seconds: float) -> None:
        self.seconds.setdefault(name, []).append(seconds)

    def round(self) -> None:
        """Each contender once, and what starting libnfs's tools takes."""
        peers = {"write": self.libnfs.write, "read": self.libnfs.read}
        turns: list[Callable[[], None]] = [
            *(lambda op=op: self._add(PEER[op], peers[op](SOURCE)) for op in peers),
            *(lambda op=op: self._add(f"{PEER[op]}, empty", peers[op](EMPTY)) for op in peers),
            *(lambda depth=depth: self._both(depth) for depth in DEPTHS),
        ]
        for turn in random.sample(turns, len(turns)):
            turn()

    def _both(self, depth: int) -> None:
        for op in PEER:
            self._add(f"Tonnage {op}, depth {depth}", self.ask(op, depth))

    def rates(self, size: int) -> dict[str, list[float]]:
        """Returns MiB per second."""
        found = {}
        for name, seconds in self.seconds.items():
            if not name.endswith("empty"):
                start = median(self.seconds.get(f"{name}, empty", [0.0]))
                found[name] = [size / MIB / (each - start) for each in seconds]
        return found


def table(rates: dict[str, list[float]]) -> list[str]:
    def said(of: Spread, digits: int) -> str:
        return f"{of.median:7.{digits}f} [{of.low:.{digits}f}, {of.high:.{digits}f}]"

    lines = []
    for name, ours in sorted(rates.items()):
        line = f"{name:26} {said(spread(ours), 0)}"
        if name.startswith("Tonnage"):
            peer = rates[PEER["write" if " write" in name else "read"]]
            ratio = spread([mine / theirs for mine, theirs in zip(ours, peer, strict=True)])
            line += f"   {said(ratio, 2)}"
        lines.append(line)
    return lines


def main() -> int:
    """Prints medians, and the ratios of the same rounds."""
    asked = arguments()
    size = asked.mib * MIB
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tonnage-bench-")))
        site = stack.enter_context(hosts(["server", "client"]))
        server = stack.enter_context(lab.server(site["server"], size=FILES * size, memory=True))
        libnfs = Libnfs(site["client"], server, size)
        bench = Bench(libnfs, stack.enter_context(tonnage(site["client"], size, scratch)))
        bench.round()
        bench.seconds.clear()
        began, done = time.monotonic(), 0
        while done < asked.rounds and time.monotonic() - began < asked.seconds:
            bench.round()
            done += 1
    print(f"{done} rounds of {asked.mib} MiB; medians [low, high] in MiB/s, ratios to libnfs of the same round")
    print("\n".join(table(bench.rates(size))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
