"""Tonnage against libnfs's copy tools on a real NFS server of version 3, as root: writes and reads of one file.

``python bench/nfs.py [--quick]``. The server is nfs-ganesha over memory, on a host of the lab; both contenders run on
another host, one after the other in an order drawn anew for each round. A figure is bytes over the time of the copy:
of ``nfs-cp`` and ``nfs-cat`` the process's, less what the same process takes for an empty file; of Tonnage the phase's,
with opening, COMMIT and closing in it. Prints a table. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# The checkout's own package, wherever the interpreter comes from, and its lab.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import nfs as lab
from hosts import Host, hosts
from spread import spread
from tonnage.records import Run

MIB = 1 << 20
GIB = 1 << 30
SOURCE = "/run/source"
COPY = "copy"
DEPTHS = (1, 8)
LIMIT_S = 600.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Tonnage against nfs-cp and nfs-cat, over NFS version 3; as root.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--mib", type=int, default=512, help="size of the file")
    parser.add_argument("--quick", action="store_true", help="shows that it works")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.mib = 1, 32
    return asked


class Contenders:
    """Both of them, on the client's host."""

    def __init__(self, client: Host, server: lab.Server, size: int, scratch: Path) -> None:
        self.client, self.server, self.size, self.scratch = client, server, size, scratch
        self.runs = 0
        client.run("dd", "if=/dev/urandom", f"of={SOURCE}", "bs=1M", f"count={size // MIB}")
        client.run("touch", "/run/empty")
        self._cp(SOURCE, self._url(COPY))
        self._cp("/run/empty", self._url("empty"))

    def _url(self, name: str) -> str:
        return f"{self.server.uri}/{name}"

    def _timed(self, *argv: str) -> float:
        """Seconds of a program."""
        began = time.monotonic()
        self.client.run(*argv, timeout_s=LIMIT_S)
        return time.monotonic() - began

    def _cp(self, source: str, target: str) -> float:
        return self._timed("nfs-cp", source, target)

    def _cp_anew(self, source: str) -> float:
        """To a name that is not there, which it wants."""
        self.runs += 1
        name = f"anew-{self.runs}"
        took = self._cp(source, self._url(name))
        (self.server.directory / name).unlink()
        return took

    def _cat(self, name: str) -> float:
        return self._timed("sh", "-c", 'exec nfs-cat "$1" >/dev/null', "sh", self._url(name))

    def cp_write(self) -> float:
        """Bytes per second."""
        return self.size / (self._cp_anew(SOURCE) - self._cp_anew("/run/empty"))

    def cat_read(self) -> float:
        """Bytes per second."""
        return self.size / (self._cat(COPY) - self._cat("empty"))

    def tonnage(self, depth: int) -> dict[str, float]:
        """Bytes per second of its write and its read."""
        self.runs += 1
        run, file = self.scratch / f"run-{self.runs}", self.scratch / "campaign.toml"
        file.write_text(
            f'target = "{self.server.uri}"\n[repeat]\ncount = 1\n[workload]\nop = ["write", "read"]\n'
            f'tasks = 1\ntransfer_size = "1MiB"\nblock_size = "{self.size // MIB}MiB"\nqueue_depth = {depth}\n'
        )
        words = [sys.executable, "-m", "tonnage.cli", "run", str(file), "--out", str(run), "--no-report"]
        self.client.run(*words, environment={"PYTHONPATH": os.pathsep.join(sys.path)}, timeout_s=LIMIT_S)
        trials = [line for line in Run.open(run).trials() if line["purpose"] == "measure"]
        return {line["phase"]: line["bandwidth_bytes_per_s"] for line in trials}


def measured(contenders: Contenders, rounds: int) -> dict[str, list[float]]:
    """Rates by what was measured, one a round."""
    found: dict[str, list[float]] = {}

    def add(name: str, rate: float) -> None:
        found.setdefault(name, []).append(rate)

    def own(depth: int) -> None:
        for phase, rate in contenders.tonnage(depth).items():
            add(f"tonnage {phase}, depth {depth}", rate)

    turns: list[Callable[[], None]] = [
        lambda: add("nfs-cp write", contenders.cp_write()),
        lambda: add("nfs-cat read", contenders.cat_read()),
        *(lambda depth=depth: own(depth) for depth in DEPTHS),
    ]
    for _ in range(rounds):
        for turn in random.sample(turns, len(turns)):
            turn()
    return found


def main() -> int:
    """Prints medians, and the ratios of the same rounds."""
    asked = arguments()
    with (
        tempfile.TemporaryDirectory(prefix="tonnage-bench-") as scratch,
        hosts(["server", "client"]) as site,
        lab.server(site["server"], size=4 * GIB) as server,
    ):
        contenders = Contenders(site["client"], server, asked.mib * MIB, Path(scratch))
        found = measured(contenders, asked.rounds)
    print(f"{asked.rounds} rounds of {asked.mib} MiB; medians [low, high] in MiB/s, ratios to libnfs of the same round")
    for name, rates in sorted(found.items()):
        rate = spread([rate / MIB for rate in rates])
        line = f"{name:28} {rate.median:8.0f} [{rate.low:.0f}, {rate.high:.0f}]"
        if name.startswith("tonnage"):
            peer = found["nfs-cp write" if " write" in name else "nfs-cat read"]
            ratio = spread([ours / theirs for ours, theirs in zip(rates, peer, strict=True)])
            line += f"   {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
