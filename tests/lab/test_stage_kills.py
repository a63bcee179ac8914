"""kill -9 at any moment loses nothing: seeded kills of the mover, of the application and of both, each ending in a tree
compare. ``TONNAGE_KILL_SEEDS`` says how many (where it does not, 10 of 1,000, each day others), ``TONNAGE_KILL_SEED``
which one alone."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attack_share import count, seeds
from checkpoint_application import body
from stage_trees import (
    CLEARED,
    DONE,
    LAB,
    MIB,
    PATIENCE_S,
    PLACING,
    STATE,
    Found,
    Running,
    Stage,
    differences,
    digest,
    memory_directory,
    plant,
    tree,
)

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")

SEEDS = seeds("TONNAGE_KILL_SEEDS", 10, of=1000)
ALONE = os.environ.get("TONNAGE_KILL_SEED")
PER_TEST = 10
AT_ONCE = 3
IN_FLIGHT_BYTES = 3 * MIB
"""What a mover writes besides the data: journal, manifest, log."""


class Trial:
    """One seed: a tree, movers that are killed, and one that is not."""

    def __init__(self, seed: int, work: Path) -> None:
        self.rng = random.Random(seed)
        options = {
            "clear": self.rng.choice(("never", "done")),
            "check": self.rng.choice(("written", "written", "read-back")),
            "workers": self.rng.choice((1, 2, 4)),
            "order": self.rng.choice(("oldest", "smallest", "largest")),
        }
        self.stage = Stage(work, options)
        self.clears = options["clear"] == "done"
        self.ledger = work / "ledger"
        self.seed = seed
        plant(self.stage.source, self.rng)
        self.planted = tree(self.stage.source)
        self.inodes = {
            path: os.lstat(os.path.join(os.fsencode(self.stage.source), path)).st_ino for path in self.planted
        }

    def run(self) -> None:
        application = self.rng.random() < 0.5
        self.accompanied() if application else self.alone()
        left = self.left_bytes()
        status = self.stage.drained()
        assert application or status["copied_bytes"] <= left, f"{status['copied_bytes']} copied where {left} were left"
        assert (status["code"], status["queued"]["files"], status["failures"]) == (0, 0, []), status
        self.conclude(application)

    def alone(self) -> None:
        """The source stands still: each mover writes what is left, and what is in the journal not again."""
        for _ in range(self.rng.randint(1, 5)):
            left = self.left_bytes()
            with self.stage.mover() as mover:
                self.await_moment(mover)
                wrote = mover.kill()
            count("kills")
            self.nothing_is_lost()
            assert wrote is None or wrote <= left + IN_FLIGHT_BYTES, f"{wrote} bytes written where {left} were left"

    def accompanied(self) -> None:
        """Movers watch while an application writes; one of the two is killed, or both."""
        words = [
            sys.executable,
            "-I",
            "-S",
            LAB / "checkpoint_application.py",
            self.stage.source,
            str(self.seed),
            self.ledger,
        ]
        with subprocess.Popen(words) as application:
            try:
                for _ in range(self.rng.randint(1, 4)):
                    with self.stage.mover(drain=False) as mover:
                        self.await_moment(mover)
                        victim = self.rng.choice(("application", "mover", "both"))
                        if victim != "mover":
                            application.kill()
                            application.wait()
                        if victim == "application":
                            mover.drain()
                            self.await_moment(mover)
                        mover.kill()
                    count("kills", 2 if victim == "both" else 1)
                    self.nothing_is_lost()
            finally:
                application.kill()

    def await_moment(self, mover: Running) -> None:
        """Some moment of the mover's life, each kind of them often enough."""
        moment = self.rng.choice(("any", "temporary", "part of the files"))
        share = self.rng.random()
        until = time.monotonic() + 0.4
        while moment != "any" and not mover.ended() and time.monotonic() < until:
            if moment == "temporary" and self.stage.temporaries():
                break
            if moment == "part of the files" and len(tree_names(self.stage.to)) >= share * len(self.planted):
                break
        time.sleep(self.rng.uniform(0, 0.2 if moment == "any" else 0.02))

    def left_bytes(self) -> int:
        """Bytes of files that are not whole at the destination, but for their chunks that the journal knows."""
        known = {path: (state, chunks) for path, state, _, chunks in self.stage.journal()}
        left = 0
        for path, found in self.planted.items():
            state, chunks = known.get(path, (0, 0))
            if stat.S_ISREG(found.kind) and state not in (PLACING, DONE, CLEARED):
                left += found.size - chunks
        return left

    def nothing_is_lost(self) -> None:
        """Each planted file is whole at the source or at the destination; and there if the journal says so."""
        source, to = os.fsencode(self.stage.source), os.fsencode(self.stage.to)
        done = {path for path, state, *_ in self.stage.journal() if state in (DONE, CLEARED)}
        set_aside = (
            {entry.stat().st_ino for entry in os.scandir(self.stage.state / "cleared")} if self.has_cleared() else set()
        )
        for path, found in self.planted.items():
            if not stat.S_ISREG(found.kind):
                continue
            kept = os.path.lexists(os.path.join(source, path)) or self.inodes[path] in set_aside
            if path in done or not kept:
                self.is_whole(os.path.join(to, path), found)

    def has_cleared(self) -> bool:
        return (self.stage.state / "cleared").is_dir()

    def is_whole(self, path: bytes, found: Found) -> None:
        assert os.path.lexists(path), f"{path!r} is neither at the source nor at the destination"
        assert os.lstat(path).st_size == found.size, f"{path!r} is done and not whole"
        assert digest(path) == found.bytes, f"{path!r} is done and has other bytes"

    def conclude(self, application: bool) -> None:
        stage = self.stage
        left, found = tree(stage.source), tree(stage.to)
        assert stage.temporaries() == []
        if self.clears:
            assert [path for path, about in left.items() if stat.S_ISREG(about.kind)] == []
            assert not self.has_cleared() or os.listdir(stage.state / "cleared") == []
        elif application:
            assert differences(left, found) == []
        if not application:
            if self.clears:
                assert differences(unlinked(self.planted), unlinked(found)) == []
            else:
                assert differences(self.planted, left) == [], "the source is as it was"
                assert differences(self.planted, found) == []
        for line in self.ledger.read_text().splitlines() if self.ledger.exists() else []:
            name, seed, size = line.rsplit(" ", 2)
            assert (stage.to / name).read_bytes() == body(int(seed), int(size)), f"{name} was closed and is not whole"
        report = native.stage_verify(str(stage.to), 1, lambda *_: True)
        assert not any(report[key] for key in ("missing", "size_differs", "checksum_differs", "unreadable")), report


def tree_names(root: Path) -> list[str]:
    return [name for where, _, names in os.walk(root) if STATE not in where for name in names]


def unlinked(found: dict[bytes, Found]) -> dict[bytes, Found]:
    """Without which names are the same file, and when a directory changed: a source that is cleared tells neither."""
    still = {}
    for path, about in found.items():
        mtime_ns = 0 if stat.S_ISDIR(about.kind) else about.mtime_ns
        still[path] = Found(about.kind, about.mode, about.size, mtime_ns, about.bytes, frozenset())
    return still


SHARES = [[int(ALONE)]] if ALONE else [list(SEEDS[at : at + PER_TEST]) for at in range(0, len(SEEDS), PER_TEST)]


@pytest.mark.parametrize("share", SHARES, ids=lambda share: f"{share[0]}-{share[-1]}")
def test_no_kill_loses_a_file_or_leaves_a_temporary(share: list[int]) -> None:
    # Each waits for processes and for moments most of its time, and knows nothing of the others.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one_trial, share))


def one_trial(seed: int) -> None:
    with memory_directory() as work:
        try:
            Trial(seed, work).run()
            count("losses", 0)
        except BaseException:
            count("losses")
            print(f"TONNAGE_KILL_SEED={seed} repeats it")
            raise


def test_what_was_copied_of_a_large_file_before_a_kill_is_not_copied_again() -> None:
    with memory_directory() as work:
        stage = Stage(work, {"limit_bytes_per_s": 100 * MIB, "workers": 1})
        (stage.source / "large").write_bytes(random.Random(1).randbytes(64 * MIB))

        def known() -> int:
            return sum(chunks for *_, chunks in stage.journal())

        with stage.mover() as mover:
            until = time.monotonic() + PATIENCE_S
            while not (before := known()) and time.monotonic() < until:
                time.sleep(0.01)
            mover.kill()
        assert 0 < before < 64 * MIB
        left = 64 * MIB - known()
        stage.options = {}
        status = stage.drained()
        assert status["copied_bytes"] == left and differences(tree(stage.source), tree(stage.to)) == []
