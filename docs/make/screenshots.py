"""All screenshots of the docs by one command: ``python docs/make/screenshots.py``.

Makes a run of each kind, on models where the kind has one, writes the pages by the commands, as a user would, and
takes a picture of each kind of page into ``docs/images/pages``: its first screen, or a section. Seeds are fixed, so
that the same version draws the same curves; times of day, what takes place on real files (``stage``) and the fonts of
the host are not. Needs Chromium at /usr/bin/chromium, or where ``CHROMIUM`` says, and playwright. With names, only
these pictures are made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images" / "pages"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--font-render-hinting=none"]
WIDTH, HEIGHT = 1000, 680
MOST_BYTES = 1_500_000
"""Of all pictures of the docs together."""

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


@dataclass(frozen=True)
class Picture:
    """A page, and what of it is shown."""

    page: Callable[[Path], Path]
    section: str | None = None
    """The identifier of its section; None: its first screen."""
    theme: str = "light"


PICTURES = {
    "load-line": Picture(load_line),
    "over-time": Picture(over_time, "over-time"),
    "settings": Picture(settings, "settings", "dark"),
    "checkpoints": Picture(checkpoints),
    "staging": Picture(staging, "staging"),
    "crossover": Picture(crossover, "crossing"),
    "storage": Picture(storage),
}
LIVE = "live"
"""The list of runs of ``tonnage serve``, of all that was made for the others, and of …"""
LISTED = (load_line, settings)


@contextmanager
def served(place: Path) -> Iterator[str]:
    """The address of a live page of the runs in ``place``."""
    # By a name that is the same each time: the page shows it.
    command = [sys.executable, "-m", "tonnage.cli", "serve", "."]
    server = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        for line in server.stdout:
            if found := re.search(r"https?://\S+", line):
                yield found[0]
                return
        raise SystemExit("tonnage serve did not print its address")
    finally:
        server.terminate()
        server.wait()


def shoot(browser: Any, address: str, picture: Path, section: str | None, theme: str, drawn: str) -> None:
    """Writes a picture once ``drawn`` is there."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
    page.goto(address)
    page.wait_for_selector(drawn, state="attached")
    if section is None:
        page.screenshot(path=picture)
    else:
        page.add_style_tag(content=f"#{section} {{ padding: 12px; }} .bar {{ position: static; }}")
        page.locator(f"#{section}").screenshot(path=picture)
    page.close()


def main() -> int:
    """Makes the pictures that are named, or all."""
    wanted = sys.argv[1:] or [*PICTURES, LIVE]
    if unknown := set(wanted) - {*PICTURES, LIVE}:
        print(
            f"no such picture: {', '.join(sorted(unknown))}; there are {', '.join([*PICTURES, LIVE])}", file=sys.stderr
        )
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        place, made = Path(scratch), {}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            for name, one in PICTURES.items():
                if name in wanted:
                    if one.page not in made:
                        made[one.page] = one.page(place)
                    file = IMAGES / f"{name}.png"
                    shoot(browser, made[one.page].as_uri(), file, one.section, one.theme, "html[data-drawn]")
                    print(file.relative_to(ROOT), file.stat().st_size)
            if LIVE in wanted:
                for page in set(LISTED) - set(made):
                    page(place)
                with served(place) as address:
                    file = IMAGES / f"{LIVE}.png"
                    shoot(browser, address, file, None, "light", "#ended tbody tr")
                    print(file.relative_to(ROOT), file.stat().st_size)
        finally:
            browser.close()
    total = sum(file.stat().st_size for file in (ROOT / "docs" / "images").rglob("*.png"))
    print(f"{total} bytes in all pictures of the docs")
    return 0 if total <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
