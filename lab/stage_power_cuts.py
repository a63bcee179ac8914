"""Power cuts at every flush of the devices below a mover: every file that the mover called done must be complete after
it.

As a program, to be run in namespaces of its own as ``apart`` does, so that nothing stays mounted however it ends::

    python lab/stage_power_cuts.py ext4 EMPTY-DIRECTORY --points 100 --seed 1

The source with the mover's state lies on one device, the destination on another; all that is written to both is
recorded while files are written, staged, changed and staged again. Then the recording is replayed up to each flush, and
a little further: on the device that loses power, any subset of the unflushed writes may be present. The last line is
the result as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorded_disk import MARK, Cut, records
from stage_trees import LAB, MIB, Found, Stage, memory_directory
from stage_truth import Truth, plant, wrong_at_once, wrong_at_the_end

SIZES = {"ext4": 96 * MIB, "xfs": 304 * MIB}
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-K"],
}
NAMES = ("far", "near")
FAR, NEAR = range(2)
"""The devices, in the order of their images' names: the destination's and the source's."""
CUTS = {"both": (NEAR, FAR), "destination": (FAR,), "source": (NEAR,)}
"""Whose power goes. The other device has all that was written to it."""


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout}")


@dataclass
class Round:
    """What the application had written, and synced, at one moment."""

    source: dict[bytes, Found]
    attributes: dict[bytes, dict[bytes, bytes]]
    whole: dict[bytes, set[bytes]]


class Machine:
    """Two file systems on recorded devices, and the trees on them."""

    def __init__(self, work: Path, kind: str, options: dict[str, Any]) -> None:
        self.work, self.kind = work, kind
        self.images, self.served, self.log = work / "images", work / "served", work / "log"
        self.points = [work / name for name in NAMES]
        for directory in (self.images, self.served, *self.points):
            directory.mkdir()
        for name in NAMES:
            with (self.images / name).open("xb") as stream:
                stream.truncate(SIZES[kind])
            run(*MAKE[kind], self.images / name)
        self.options = {"workers": 1, "settle_ns": 0, "attempts": 3, **options}

    def stage(self) -> Stage:
        """The trees, which are made where they are not."""
        stage = Stage(self.work, self.options)
        for left in (stage.source, stage.to):
            left.rmdir()
        stage.source, stage.to = self.points[NEAR] / "from", self.points[FAR] / "to"
        stage.source.mkdir(exist_ok=True)
        stage.to.mkdir(exist_ok=True)
        stage.state = stage.source / ".tonnage-stage"
        return stage

    @contextlib.contextmanager
    def mounted(self, images: list[Path]) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for image, point in zip(images, self.points, strict=True):
                run("mount", "-o", "loop,noatime", image, point)
                stack.callback(run, "umount", point)
            yield

    @contextlib.contextmanager
    def recorded(self) -> Iterator[list[Path]]:
        """The images, each write to which goes to the log."""
        words = [sys.executable, LAB / "recorded_disk.py", self.images, self.served, self.log]
        with subprocess.Popen(words) as server:
            try:
                until = time.monotonic() + 30
                while not os.path.ismount(self.served):
                    if server.poll() is not None or time.monotonic() > until:
                        raise RuntimeError("no FUSE here")
                    time.sleep(0.01)
                yield [self.served / name for name in NAMES]
                run("umount", self.served)
                server.wait(30)
            finally:
                server.kill()

    def mark(self, text: str) -> None:
        with (self.served / MARK).open("wb", buffering=0) as out:
            out.write(text.encode())


def write_and_stage(machine: Machine, rounds: int) -> list[Round]:
    """Files are written, synced and staged, and again. Between two marks only the mover writes."""
    # The images as they are before the recording are where it is played on.
    for name in NAMES:
        run("cp", "--sparse=always", machine.images / name, machine.work / f"{name}.base")
    known = []
    with machine.recorded() as images, machine.mounted(images):
        stage = machine.stage()
        plant(stage.source)
        truth = Truth(stage)
        for number in range(rounds):
            if number:
                change(stage, number)
                before = truth.source, truth.attributes
                truth.observe()
                # What was taken off the source is still expected at the destination.
                truth.source = {**before[0], **truth.source}
                truth.attributes = {**before[1], **truth.attributes}
            os.sync()
            known.append(Round(truth.source, truth.attributes, {path: set(all_) for path, all_ in truth.whole.items()}))
            machine.mark(f"begin {number}")
            status = stage.drained()
            if status["code"]:
                raise RuntimeError(f"without a cut: {status}")
            machine.mark(f"end {number}")
    return known


def change(stage: Stage, number: int) -> None:
    """The application goes on: new files, and new versions of old ones."""
    noise = random.Random(number).randbytes(200_000)
    for name, size in (("plain", 5000 + number), ("d/file", 60_000), (f"d/new-{number}", 100_000), ("empty", 7)):
        (stage.source / name).unlink(missing_ok=True)
        (stage.source / name).write_bytes(noise[:size])
    for each in range(8):
        (stage.source / f"many-{number}-{each}").write_bytes(noise[each * 100 : each * 1000])


@dataclass
class Examined:
    """What came of one cut."""

    where: str
    wrong: list[str]


class Examination:
    """The recording, played up to its crash points."""

    def __init__(self, machine: Machine, known: list[Round], rng: random.Random, liar: bool) -> None:
        self.machine, self.known, self.rng, self.liar = machine, known, rng, liar
        self.bases = [machine.work / f"{name}.base" for name in NAMES]
        self.left = [machine.work / f"{name}.cut" for name in NAMES]

    def points(self) -> list[int]:
        """Before each flush within a round, and after it: numbers of records that are done."""
        found, inside = [], False
        for number, record in enumerate(records(self.machine.log)):
            if record.kind == "mark":
                inside = record.data.startswith(b"begin")
            elif record.kind == "flush" and inside:
                found += [number, number + 1]
        return sorted(set(found))

    def examine(self, chosen: list[int]) -> Iterator[Examined]:
        cut, wanted, round_ = Cut(self.bases, self.rng if self.liar else None), set(chosen), 0
        for number, record in enumerate(records(self.machine.log)):
            if number in wanted:
                yield self.cut_power(cut, number, round_)
            if record.kind == "mark":
                round_ = int(record.data.split()[1])
            cut.add(record)

    def cut_power(self, cut: Cut, number: int, round_: int) -> Examined:
        """Cuts the power, mounts what is left, compares, and lets the mover go on."""
        whose = self.rng.choice(list(CUTS))
        share = self.rng.choice((0.0, 0.2, 0.5, 0.8))
        for device in (FAR, NEAR):
            cut.leave(device, self.left[device], self.rng, share if device in CUTS[whose] else 1)
        unflushed = "+".join(str(cut.unflushed(device)) for device in (FAR, NEAR))
        where = f"record {number}, round {round_}, power of {whose}, {share} of {unflushed} unflushed writes"
        try:
            with self.machine.mounted(self.left):
                return Examined(where, self.compare(round_))
        except (RuntimeError, OSError) as error:  # what is left cannot be mounted, or cannot be read
            return Examined(where, [f"BROKEN {error}"])

    def compare(self, round_: int) -> list[str]:
        stage = self.machine.stage()
        truth = Truth(stage)
        known = self.known[round_]
        truth.source, truth.attributes, truth.whole = known.source, known.attributes, known.whole
        truth.changed = True  # directories were removed from, and so have other times
        wrong = wrong_at_once(truth)
        if wrong:
            return wrong
        from tonnage import _native

        status = stage.drained()
        report = _native.stage_verify(str(stage.to), 1, lambda *_: True)
        clears = self.machine.options["clear"] == "done"
        return wrong_at_the_end(truth, status, clears, clears, report)


def power(given: argparse.Namespace) -> dict[str, Any]:
    """Records once and examines so many crash points, all without a number."""
    rng = random.Random(given.seed)
    machine = Machine(given.work, given.kind, {"clear": given.clear})
    known = write_and_stage(machine, given.rounds)
    examination = Examination(machine, known, rng, given.liar)
    found = examination.points()
    chosen = found if given.points is None else sorted(rng.sample(found, min(given.points, len(found))))
    wrong = {each.where: each.wrong for each in examination.examine(chosen) if each.wrong}
    writes = sum(record.kind == "write" for record in records(machine.log))
    return {"writes": writes, "points": len(found), "examined": len(chosen), "wrong": wrong}


def apart(kind: str, *words: str) -> dict[str, Any]:
    """This program in namespaces of its own, with a directory that is gone however it ends; its result."""
    with memory_directory() as work:
        return started(kind, os.fspath(work), *words)


def started(*words: str) -> dict[str, Any]:
    command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*command, sys.executable, __file__, *words], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the cuts ended with {done.returncode}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description="Power cuts below a mover, at every flush.")
    parser.add_argument("kind", choices=sorted(MAKE))
    parser.add_argument("work", type=Path, help="empty directory for the images")
    parser.add_argument("--points", type=int, help="how many crash points are examined (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3, help="how often files are written and staged")
    parser.add_argument("--clear", choices=("never", "done"), default="done")
    parser.add_argument("--liar", action="store_true", help="the devices lose some of what they were to flush")
    given = parser.parse_args()
    print(json.dumps(power(given)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
