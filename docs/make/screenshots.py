"""All screenshots of the docs by one command: ``python docs/make/screenshots.py``.

Takes a picture of kinds of pages (``sample_pages.py``) into ``docs/images/pages``: the first screen, or a section. The
fonts are the host's. Needs Chromium at /usr/bin/chromium, or where ``CHROMIUM`` says, and playwright. With names, only
these pictures are made. Every kind of page, to be looked at: ``layout_check.py``.
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
from sample_pages import checkpoints, crossover, load_line, over_time, settings, staging, storage

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images" / "pages"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--font-render-hinting=none"]
WIDTH, HEIGHT = 1000, 680
MOST_BYTES = 1_500_000
"""Of all pictures of the docs together."""


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
LIVE_DRAWN = "body:has(#ended tbody tr):has(#drains .empty:not([hidden]))"
"""Both that runs are listed and that no mover is."""
LISTED = (load_line, settings)


@contextmanager
def served(place: Path) -> Iterator[str]:
    """The address of a live page of the runs in ``place``."""
    # By a name that is the same each time: the page shows it.
    command = [sys.executable, "-m", "tonnage.cli", "serve", "."]
    # Movers of whoever takes the picture are not on it.
    own = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
    server = subprocess.Popen(command, cwd=place, env=own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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
                    shoot(browser, address, file, None, "light", LIVE_DRAWN)
                    print(file.relative_to(ROOT), file.stat().st_size)
        finally:
            browser.close()
    total = sum(file.stat().st_size for file in (ROOT / "docs" / "images").rglob("*.png"))
    print(f"{total} bytes in all pictures of the docs")
    return 0 if total <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
