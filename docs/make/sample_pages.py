"""Makes a page of each kind, on models where the kind has one, by the commands, as a user would.

Seeds are fixed, so that the same version draws the same curves; times of day, and what takes place on real files
(``stage``, ``io500``), are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

STREAM = """\
name = "{name}"
target = "{target}"
seed = 3
[repeat]
count = {count}
[workload]
op = ["write", "read"]
transfer_size = "1MiB"
block_size = "64MiB"
time_limit = "1s"
{more}
"""
CHECKPOINT = """\
name = "checkpoints"
target = "sim:snapshot=1s,noise=20%"
seed = 3
[repeat]
count = 5
[workload]
kind = "checkpoint"
snapshot = ["none", "auto"]
tasks = [1, 4, 16]
transfer_size = ["4KiB", "1MiB"]
transfers = [1, 10]
rounds = 3
"""
STAGE = """\
name = "staging"
target = ["fast", "slow"]
seed = 3
[repeat]
count = 1
[workload]
kind = "stage"
from = 0
to = 1
by = ["mover", "copy"]
tasks = 4
transfer_size = "1MiB"
block_size = "128MiB"
"""

IO500 = """\
[global]
datadir = data
resultdir = io500
[debug]
stonewall-time = 1
[ior-easy]
transferSize = 64k
blockSize = 1m
[ior-hard]
segmentCount = 20
[mdtest-easy]
n = 40
[mdtest-hard]
n = 150
"""
FILES = """\
name = "files"
target = "small"
seed = 3
[repeat]
count = 3
[workload]
kind = "files"
items_per_directory = 100
file_size = "4KiB"
sync = ["none", "fsync-each"]
tasks = [1, 2, 4]
"""


MODEL = "sim:knee=4,plateau=1GB/s,noise=3%"


def tonnage(place: Path, *words: str) -> None:
    """Runs the command in ``place``; CalledProcessError where it fails."""
    command = [sys.executable, "-m", "tonnage.cli", *words]
    given = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=place, env=given, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        done.check_returncode()


def campaign(place: Path, name: str, text: str) -> Path:
    """Runs a campaign of this text; its page."""
    (place / f"{name}.toml").write_text(text)
    tonnage(place, "run", f"{name}.toml", "--out", name)
    return place / name / "report.html"


def stream(place: Path, name: str, target: str, more: str, count: int = 5) -> Path:
    return campaign(place, name, STREAM.format(name=name, target=target, more=more, count=count))


def load_line(place: Path) -> Path:
    tonnage(place, "probe", "sim:knee=8,plateau=2GB/s,noise=4%", "--seed", "5", "--no-keep", "--out", "probe")
    return place / "probe" / "report.html"


def over_time(place: Path) -> Path:
    more = "tasks = [2, 8]"
    return stream(place, "drift", "sim:knee=8,plateau=2GB/s,noise=3%,step=-18%,step-at=6s", more, 10)


def settings(place: Path) -> Path:
    more = 'tasks = 8\naccess = ["sequential", "random"]\nsync = ["none", "fsync-each"]'
    return stream(place, "settings", "sim:knee=8,plateau=2GB/s,noise=6%,fsync=4ms", more)


def checkpoints(place: Path) -> Path:
    return campaign(place, "checkpoints", CHECKPOINT)


def staging(place: Path) -> Path:
    for tier in ("fast", "slow"):
        (place / tier).mkdir()
    return campaign(place, "staging", STAGE)


def crossover(place: Path) -> Path:
    nodes = "tasks = [8, 16, 32, 64, 128, 256]\ntasks_per_node = 8"
    stream(place, "own", "sim:knee=4,plateau=500MB/s,noise=6%,name=nvme", "tasks = 8")
    stream(place, "shared", "sim:knee=8,plateau=8GB/s,node-plateau=1GB/s,noise=8%,name=scratch", nodes)
    tonnage(place, "crossover", "--shared", "shared", "own", "shared", "--out", "crossover.html")
    return place / "crossover.html"


def storage(place: Path) -> Path:
    for number, (size, plateau) in enumerate((("64KiB", 1), ("1MiB", 2), ("64KiB", 2), ("1MiB", 3))):
        target = f"sim:knee={6 + number},plateau={plateau}GB/s,noise=3%,name=scratch"
        words = ["--transfer", size, "--op", "write", "--budget", "20s", "--seed", "5", "--no-keep", "--no-report"]
        tonnage(place, "probe", target, *words, "--out", f"of/{number}")
    tonnage(place, "report", "--storage", "auto", "of", "--out", "storage.html")
    return place / "storage.html"


def _nightly(place: Path, name: str, plateau: float) -> None:
    for seed in range(1, 5):
        target = f"sim:knee=8,plateau={plateau}{seed}GB/s,noise=4%,name=scratch"
        text = STREAM.format(name="nightly", target=target, more="tasks = [1, 4, 16]", count=5)
        (place / "nightly.toml").write_text(text.replace("seed = 3", f"seed = {seed}"))
        tonnage(place, "run", "nightly.toml", "--out", f"{name}/{seed}", "--no-report")


def compare(place: Path) -> Path:
    _nightly(place, "before", 2.0)
    _nightly(place, "after", 1.5)
    tonnage(place, "compare", "before", "after", "--out", "compare.html")
    return place / "compare.html"


def history(place: Path) -> Path:
    """Of the runs that ``compare`` made."""
    tonnage(place, "history", "before", "after", "--out", "history.html")
    return place / "history.html"


def project(place: Path) -> Path:
    stream(place, "sweep", "sim:knee=40,plateau=2GB/s,noise=4%", "tasks = [1, 2, 4, 8, 16]")
    tonnage(place, "project", "sweep", "--tasks", "32", "--out", "project.html")
    return place / "project.html"


def io500(place: Path) -> Path:
    (place / "io500.ini").write_text(IO500)
    tonnage(place, "io500", "--tasks", "2", "--repeat", "6", "io500.ini")
    (page,) = (place / "io500").glob("*/report.html")
    return page


def sizes(place: Path) -> Path:
    """Makes a surface: transfer sizes by tasks."""
    more = "tasks = [1, 2, 4, 8, 16, 32]"
    text = STREAM.format(name="sizes", target="sim:knee=8,plateau=2GB/s,noise=4%", more=more, count=4)
    return campaign(place, "sizes", text.replace('"1MiB"', '["4KiB", "64KiB", "1MiB", "4MiB"]'))


def surface(place: Path) -> Path:
    """Makes the page of a load line over transfer sizes."""
    tonnage(place, "probe", "--surface", "--op", "read", "--seed", "1", "--no-keep", "--out", "surface", MODEL)
    return place / "surface" / "report.html"


def company(place: Path) -> Path:
    """Makes the matrix of who slows whom."""
    asked = ("company", MODEL, "stream-read", "metadata-storm", "checkpoint", "--share", "30%")
    tonnage(place, *asked, "--budget", "2m", "--seed", "1", "--out", "company")
    return place / "company" / "report.html"


def accelerators(place: Path) -> Path:
    """Makes the page of accelerators that a storage feeds."""
    fed = "sim:knee=4,plateau=35GB/s,noise=3%"
    tonnage(place, "probe", "--training", "unet3d-h100", "--seed", "1", "--out", "accelerators", fed)
    return place / "accelerators" / "report.html"


def users(place: Path) -> Path:
    """Makes the page of users that a storage serves."""
    fast = "sim:knee=4,plateau=20GB/s,noise=3%"
    tonnage(place, "probe", "--kv-cache", "llama3.1-8b", "--seed", "1", "--out", "users", fast)
    return place / "users" / "report.html"


def files(place: Path) -> Path:
    """Makes the page of small files, in a directory on the host."""
    (place / "small").mkdir()
    return campaign(place, "files", FILES)


PAGES: dict[str, Callable[[Path], Path]] = {
    "load-line": load_line,
    "over-time": over_time,
    "settings": settings,
    "sizes": sizes,
    "surface": surface,
    "company": company,
    "accelerators": accelerators,
    "users": users,
    "files": files,
    "checkpoints": checkpoints,
    "staging": staging,
    "crossover": crossover,
    "storage": storage,
    "compare": compare,
    "history": history,
    "project": project,
    "io500": io500,
}
"""Every kind of page, in an order in which what one makes serves the next."""
