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

from child_processes import said_by

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

    def __init__(self, name: str = "Tonnage", checkout: Path = HERE.parent, **options: Any) -> None:
        self.name, self.checkout, self.options = name, checkout, options

    def carry(self, source: Path, to: Path, work: Path) -> Carried:
        if self.checkout == HERE.parent:
            options = plan(source, to, work / "state", **self.options)
        else:
            words = [str(source), str(to), str(work / "state"), json.dumps({"gentle": "off", **self.options})]
            options = said_by([python_of(self.checkout), "-c", PLAN_ELSEWHERE, *words]).stdout
        said = drive("drain", options, self.checkout)
        return Carried(
            said["elapsed_ns"], said["elapsed_ns"], said["cpu_ns"], said["peak_rss_bytes"], said["status"]["workers"]
        )


def plan(source: Path, to: Path, state: Path, **options: Any) -> str:
    """Returns the options of a mover as JSON: the command line's defaults, without an application to give way to."""
    from tonnage.staging.mover_plan import make_plan

    return make_plan(source, to, state=state, name="bench", **{"gentle": "off", **options}).options()


PLAN_ELSEWHERE = """import json, sys
from pathlib import Path
from tonnage.staging.mover_plan import make_plan
source, to, state, given = sys.argv[1:]
print(make_plan(Path(source), Path(to), state=Path(state), name="bench", **json.loads(given)).options())"""


def python_of(checkout: Path) -> str:
    return sys.executable if checkout == HERE.parent else str(checkout / ".venv/bin/python")


def drive(what: str, options: str, checkout: Path = HERE.parent) -> dict[str, Any]:
    """What ``stage_driver.py`` says of one mover."""
    command = [python_of(checkout), str(checkout / "bench/stage_driver.py"), what, options]
    done = said_by(command)
    if done.returncode != 0:
        raise RuntimeError(f"the mover failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def carriers(processors: int, against: Path | None = None) -> list[Carrier]:
    """Whoever is here; ``against``: another checkout, which is built."""
    found: list[Carrier] = [
        Mover(), Mover("Tonnage, no checksum", check="none"), Mover("Tonnage, read back", check="read-back"),
    ]  # fmt: skip
    if against is not None:
        found.append(Mover(f"Tonnage of {against.name}", against))
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
