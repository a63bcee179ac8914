"""Who carries a tree from one place to another: Tonnage's mover, and what people use instead."""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from children import said_by

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Carried:
    """One run. Times in nanoseconds."""

    returned_ns: int
    """When the program said it was done."""
    durable_ns: int
    """When everything was on the device: the same for Tonnage, after ``sync -f`` for the others."""
    cpu_ns: int
    """User and system time of the process tree."""
    peak_rss_bytes: int | None = None
    """Tonnage: most memory at once, the interpreter's included."""
    workers: int | None = None
    """Tonnage: threads that copied at the end."""


class Carrier(Protocol):
    """Somebody who carries ``source`` into ``to``, which is empty; ``work`` is empty, on the source's file system."""

    name: str

    def carry(self, source: Path, to: Path, work: Path) -> Carried: ...


class Peer:
    """A program of the system. Its start counts: it is some milliseconds."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name, self.command = name, command

    def carry(self, source: Path, to: Path, work: Path) -> Carried:
        command = [word.format(source=source, to=to, work=work) for word in self.command]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
        done = said_by(command)
        returned = time.monotonic_ns()
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
        said_by(["sync", "-f", str(to)])
        durable, after = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Carried(returned - began, durable - began, round(cpu * 1e9))


class Mover:
    """Tonnage's mover in a process of its own. Clock and CPU run from its making to its end, without the interpreter's
    start."""

    def __init__(self, name: str = "Tonnage", **options: Any) -> None:
        self.name, self.options = name, options

    def carry(self, source: Path, to: Path, work: Path) -> Carried:
        said = drive("drain", plan(source, to, work / "state", **self.options))
        return Carried(
            said["elapsed_ns"], said["elapsed_ns"], said["cpu_ns"], said["peak_rss_bytes"], said["status"]["workers"]
        )


def plan(source: Path, to: Path, state: Path, **options: Any) -> str:
    """Options of a mover as JSON: the command line's defaults, but nobody to give way to."""
    from tonnage.staging.plan import make_plan

    return make_plan(source, to, state=state, name="bench", **{"gentle": "off", **options}).options()


def drive(what: str, options: str) -> dict[str, Any]:
    """What ``stage_driver.py`` says of one mover."""
    command = [sys.executable, str(HERE / "stage_driver.py"), what, options]
    done = said_by(command)
    if done.returncode != 0:
        raise RuntimeError(f"the mover failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def carriers(processors: int) -> list[Carrier]:
    """Whoever is here."""
    found: list[Carrier] = [Mover(), Mover("Tonnage, no checksum", check="none")]
    known = {
        "cp": ["cp", "-r", "{source}/.", "{to}"],
        "rsync": ["rsync", "-a", "{source}/", "{to}/"],
        "rclone": ["rclone", "--config", "/dev/null", "copy", "{source}", "{to}"],
        "fpsync": ["fpsync", "-n", str(processors), "-t", "{work}/fpsync", "{source}/", "{to}/"],
        "dcp": ["dcp", "{source}", "{to}"],
    }
    titles = {"cp": "cp -r", "rsync": "rsync -a", "rclone": "rclone copy"}
    for program, command in known.items():
        if shutil.which(program):
            found.append(Peer(titles.get(program, program), command))
    return found
