"""Stage-out: Tonnage's mover against the devices and its peers, interleaved, as ratios of one run.

``python bench/stage.py [--quick]`` as root; what it finds goes to ``bench/results/<date>-<machine>/``.
See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from child_processes import cleaned_up_on_signals, said_by
from run import host_facts, machine_name
from stage_bare_devices import Raw
from stage_carriers import Carried, Carrier, Mover, carriers, drive, plan
from stage_file_systems import EmptyDirectory, enter_namespace, evict
from stage_table import markdown

HERE = Path(__file__).resolve().parent
GIB, KIB = 1 << 30, 1 << 10
SMALL_BYTES = 16 * KIB
LARGE_FILES = 4


@dataclass(frozen=True, slots=True)
class Pair:
    """Two places, and where what backs them lies: ``memory`` (tmpfs) or ``disk``."""

    source: str
    source_on: str
    to: str
    to_on: str

    @property
    def title(self) -> str:
        def named(kind: str, on: str) -> str:
            return kind if kind == "tmpfs" else f"{kind} on {on}"

        return f"{named(self.source, self.source_on)} to {named(self.to, self.to_on)}"


PAIRS = (
    Pair("tmpfs", "memory", "ext4", "disk"),
    Pair("ext4", "memory", "xfs", "disk"),
    Pair("xfs", "disk", "ext4", "disk"),
    Pair("tmpfs", "memory", "tmpfs", "memory"),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure stage-out against the devices and its peers; as root.")
    parser.add_argument("--rounds", type=int, default=6, help="runs of each carrier in each cell (6 give 95 %%)")
    parser.add_argument("--gib", type=float, default=1.0, help="size of each of the 4 large files")
    parser.add_argument("--files", type=int, default=10_000, help="small files, of 16 KiB")
    parser.add_argument("--entries", type=int, default=1_000_000, help="empty files to scan")
    parser.add_argument("--only", nargs="+", choices=tuple(CELLS), default=list(CELLS), help="kinds of cells")
    parser.add_argument("--pairs", type=int, nargs="+", default=[0, 1, 2, 3], help="which pairs of places, from 0")
    parser.add_argument("--without", nargs="*", default=[], help="carriers to leave out, by name")
    parser.add_argument("--against", type=Path, help="another checkout, which is built: its mover is a carrier too")
    parser.add_argument("--quick", action="store_true", help="2 rounds of small cells: to see that it works")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), help="a directory on tmpfs")
    parser.add_argument("--disk", type=Path, default=Path("/var/tmp"), help="a directory on a disk")
    parser.add_argument(
        "--lock", type=Path, help="a file that is locked during each round, where others share the machine"
    )
    parser.add_argument("--machine", help="name of this machine in the results (default: from its CPU)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the carriers")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results' directory is made")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.gib, given.files, given.entries = 2, 0.0625, 1000, 10_000
    return given


class Bench:
    """What all cells share."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.order = random.Random(given.seed)
        self.backing = {"memory": given.tmpfs, "disk": given.disk}

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Keeps the machine for this bench, as far as others keep to the lock."""
        if self.given.lock is None:
            yield
            return
        with self.given.lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def places(self, pair: Pair, size_bytes: int) -> Iterator[tuple[EmptyDirectory, EmptyDirectory]]:
        with (
            EmptyDirectory(pair.source, self.backing[pair.source_on], size_bytes) as source,
            EmptyDirectory(pair.to, self.backing[pair.to_on], size_bytes) as to,
        ):
            yield source, to

    def carry(
        self,
        carrier: Carrier,
        tree: Path,
        source: EmptyDirectory,
        to: EmptyDirectory,
        *,
        cold: bool,
        check: bool = False,
    ) -> Carried:
        """One run into an empty directory, which is removed again, durably, before the next."""
        with tempfile.TemporaryDirectory(dir=to.path) as out, tempfile.TemporaryDirectory(dir=source.path) as work:
            if cold:
                evict(tree)
            source.sync()
            carried = carrier.carry(tree, Path(out), Path(work))
            if check:
                different = said_by(["diff", "-rq", "--exclude=.tonnage-stage", str(tree), out])
                if different.returncode != 0:
                    raise RuntimeError(
                        f"{carrier.name} did not copy it all: {different.stdout[:500]}{different.stderr[:500]}"
                    )
        to.sync()
        return carried

    def rounds(self, one: dict[str, Callable[[], Any]]) -> dict[str, list[Any]]:
        """Runs each once a round, in an order drawn anew."""
        found: dict[str, list[Any]] = {name: [] for name in one}
        for _ in range(self.given.rounds):
            with self.quiet():
                for name in self.order.sample(list(one), len(one)):
                    found[name].append(one[name]())
        return found

    def race(
        self,
        who: list[Carrier],
        tree: Path,
        source: EmptyDirectory,
        to: EmptyDirectory,
        *,
        cold: bool,
        raw: Raw | None = None,
    ) -> dict[str, Any]:
        """All carriers and, where asked, the bare devices; the first run of each is compared and does not count."""
        one: dict[str, Callable[[], Any]] = {}
        for carrier in who:
            with self.quiet():
                self.carry(carrier, tree, source, to, cold=cold, check=True)
            one[carrier.name] = lambda carrier=carrier: asdict(self.carry(carrier, tree, source, to, cold=cold))
        if raw is not None:
            one["raw read"], one["raw write"] = raw.read, raw.write
            with self.quiet():
                raw.warm_up()
        return self.rounds(one)

    def here(self) -> list[Carrier]:
        found = carriers(os.cpu_count() or 1, self.given.against)
        return [carrier for carrier in found if carrier.name not in self.given.without]

    def chosen_pairs(self) -> list[Pair]:
        return [PAIRS[number] for number in self.given.pairs]


def large(bench: Bench) -> list[dict[str, Any]]:
    """Compares four large files with the least of the bare devices."""
    file_bytes = round(bench.given.gib * GIB)
    cells = []
    for pair in bench.chosen_pairs():
        say(f"large files, {pair.title}")
        with (
            bench.places(pair, 7 * file_bytes + GIB) as (source, to),
            Raw(source, to, file_bytes, bench.given.disk) as raw,
        ):
            tree = large_tree(source.path, file_bytes)
            runs = bench.race(bench.here(), tree, source, to, cold=True, raw=raw)
            cells.append(
                {"kind": "large", "title": pair.title, "bytes": LARGE_FILES * file_bytes, "raw": raw.how, "runs": runs}
            )
    return cells


def workers(bench: Bench) -> list[dict[str, Any]]:
    """Measures the same with fixed numbers of workers and with the mover's own."""
    pair, file_bytes = bench.chosen_pairs()[0], round(bench.given.gib * GIB)
    say(f"workers, {pair.title}")
    who: list[Carrier] = [Mover(f"{count} workers", workers=count) for count in (1, 2, 4, 8)]
    with bench.places(pair, 7 * file_bytes + GIB) as (source, to):
        tree = large_tree(source.path, file_bytes)
        runs = bench.race([*who, Mover("its own number")], tree, source, to, cold=True)
    return [{"kind": "workers", "title": pair.title, "bytes": LARGE_FILES * file_bytes, "runs": runs}]


def small(bench: Bench) -> list[dict[str, Any]]:
    """Measures many small files, just written."""
    count, cells = bench.given.files, []
    for pair in bench.chosen_pairs():
        say(f"small files, {pair.title}")
        with bench.places(pair, 4 * count * SMALL_BYTES + GIB) as (source, to):
            tree = source.path / "tree"
            for number in range(count):
                directory = tree / f"{number // 1000:04}"
                if number % 1000 == 0:
                    directory.mkdir(parents=True)
                (directory / f"{number:07}").write_bytes(random.Random(number).randbytes(SMALL_BYTES))
            runs = bench.race(bench.here(), tree, source, to, cold=False)
        cells.append({"kind": "small", "title": pair.title, "files": count, "bytes": count * SMALL_BYTES, "runs": runs})
    return cells


def scan(bench: Bench) -> list[dict[str, Any]]:
    """Measures a first scan of empty files, with copying paused."""
    count = bench.given.entries
    say(f"scan of {count} empty files")
    with EmptyDirectory("tmpfs", bench.given.tmpfs, 0) as source, EmptyDirectory("tmpfs", bench.given.tmpfs, 0) as to:
        tree = source.path / "tree"
        for number in range(count):
            if number % 1000 == 0:
                (directory := tree / f"{number // 1000:04}").mkdir(parents=True)
                handle = os.open(directory, os.O_PATH)
            os.close(os.open(f"{number:07}", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=handle))
            if number % 1000 == 999 or number == count - 1:
                os.close(handle)

        def once() -> dict[str, Any]:
            with tempfile.TemporaryDirectory(dir=bench.given.disk, prefix="tonnage-bench-") as state:
                said = drive("scan", plan(tree, to.path, Path(state), limit_files_per_s=0, limit_bytes_per_s=0))
            if said["status"]["queued"]["files"] < count:
                raise RuntimeError(f"{said['status']['queued']['files']} of {count} files were found")
            return said

        runs = bench.rounds({"Tonnage": once})
    return [{"kind": "scan", "title": "journal on disk", "files": count, "runs": runs}]


def large_tree(place: Path, file_bytes: int) -> Path:
    """Files that nobody can make smaller."""
    (tree := place / "tree").mkdir()
    for number in range(LARGE_FILES):
        with (tree / f"checkpoint.{number}").open("wb") as file:
            noise = random.Random(number)
            for _ in range(max(1, file_bytes >> 20)):
                file.write(noise.randbytes(1 << 20))
    return tree


CELLS: dict[str, Callable[[Bench], list[dict[str, Any]]]] = {
    "large": large,
    "workers": workers,
    "small": small,
    "scan": scan,
}


def keep(results: dict[str, Any], parent: Path) -> None:
    out = parent / f"{results['date']}-{results['machine']}"
    out.mkdir(parents=True, exist_ok=True)
    (out / "stage.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "stage.md").write_text(markdown(results))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    given = arguments()
    enter_namespace()
    host = host_facts()
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(), "machine": given.machine or machine_name(host), "host": host,
        "rounds": given.rounds, "seed": given.seed, "cells": [],
    }  # fmt: skip
    with cleaned_up_on_signals():
        bench = Bench(given)
        for kind in given.only:
            results["cells"] += CELLS[kind](bench)
            if not given.quick:
                # After each kind: what was measured in an hour is kept if the rest fails.
                keep(results, given.out)
    print(markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
