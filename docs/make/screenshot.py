"""Pictures of one run's report: ``python docs/make/screenshot.py RUN DIRECTORY``; ``docs/make/screenshots.py`` makes
those of the docs.

Writes ``report.png`` and ``report-dark.png`` (the first screen) and ``report-whole.png`` (the page from top to bottom).
Needs Chromium at /usr/bin/chromium, or where ``CHROMIUM`` says, and playwright.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTH, HEIGHT, MARGIN = 1280, 1000, 16


def shoot(page_file: Path, directory: Path) -> list[Path]:
    """Opens a report in both themes and writes its pictures; their paths."""
    written = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            for theme, name in (("light", "report"), ("dark", "report-dark")):
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
                page.goto(page_file.resolve().as_uri())
                page.wait_for_selector("html[data-drawn]")
                written.append(directory / f"{name}.png")
                page.screenshot(path=written[-1])
                if theme == "light":
                    written.append(directory / f"{name}-whole.png")
                    page.screenshot(path=written[-1], full_page=True)
                page.close()
        finally:
            browser.close()
    return written


def shoot_section(page_file: Path, identifier: str, picture: Path) -> None:
    """Writes one section of a report, down to as much as fits on a screen. Playwright's error if it has no such."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(page_file.resolve().as_uri())
            page.wait_for_selector("html[data-drawn]")
            box = page.locator(f"#{identifier}").bounding_box()
            assert box, f"#{identifier} is not shown"
            height = min(box["height"], HEIGHT * 0.8)
            clip = {"x": 0, "y": box["y"] - MARGIN, "width": WIDTH, "height": height + 2 * MARGIN}
            page.screenshot(path=picture, full_page=True, clip=clip)
        finally:
            browser.close()


def main() -> int:
    """Writes the report of RUN to a temporary file and its pictures to DIRECTORY."""
    if len(sys.argv) != 3:
        print("usage: python docs/make/screenshot.py RUN DIRECTORY", file=sys.stderr)
        return 2
    from tonnage.report import write_report

    directory = Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        report = write_report(sys.argv[1], Path(scratch) / "report.html")
        for picture in shoot(report, directory):
            print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
