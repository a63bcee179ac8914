"""Every kind of page as a whole, to be looked at: ``python docs/make/layout_check.py DIRECTORY [NAME...]``.

Takes each page of ``sample_pages.py``, and the live page, from top to bottom, on a telephone, a laptop and a wide
screen, and dark on a laptop, into DIRECTORY, and tells what overlaps or leaves the page. The runs stay in
DIRECTORY/made, and are not made again. Ends with 1 where something was told. Needs what ``screenshots.py`` needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from sample_pages import PAGES
from screenshots import ARGUMENTS, CHROMIUM, LIVE_DRAWN, served

SCREENS = ((400, "light"), (1280, "light"), (1280, "dark"), (1920, "light"))
HEIGHT = 900
LIVE = "live"

FAULTS = r"""() => {
  const told = [];
  const wide = document.scrollingElement.scrollWidth - window.innerWidth;
  if (wide > 0) told.push(`the page is ${wide} px wider than the screen`);
  const box = (e) => e.getBoundingClientRect();
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    if (!box(plot).width) continue;
    const name = plot.closest("section")?.id ?? "";
    const frame = box(plot);
    const texts = [...plot.querySelectorAll("text")].filter((e) => e.textContent.trim() && box(e).width);
    for (const text of texts) {
      const at = box(text);
      if (at.left < frame.left - 1 || at.right > frame.right + 1 || at.bottom > frame.bottom + 2)
        told.push(`${name}: cut: ${text.textContent}`);
    }
    // The box around an oblique text is larger than the text.
    const level = texts.filter((e) => !/rotate\((?!0[,)])/.test(e.getAttribute("transform") ?? ""));
    const boxes = level.map(box);
    for (let i = 0; i < level.length; i++)
      for (let j = i + 1; j < level.length; j++)
        if (over(boxes[i], boxes[j]))
          told.push(`${name}: overlap: ${level[i].textContent} | ${level[j].textContent}`);
    if (!plot.closest("[aria-label], [role=img], figure")) told.push(`${name}: a figure without a text in its place`);
  }
  return [...new Set(told)];
}"""


def check_page(browser: Any, address: str, name: str, directory: Path, drawn: str) -> Iterator[str]:
    """Takes the pictures; yields what is wrong, for each width."""
    for width, theme in SCREENS:
        page = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
        page.goto(address)
        page.wait_for_selector(drawn, state="attached")
        if theme == "light":
            yield from (f"{name} at {width} px: {fault}" for fault in page.evaluate(FAULTS))
        page.screenshot(path=directory / f"{name}-{width}-{theme}.png", full_page=True)
        page.close()


def main() -> int:
    """Makes what is named, or all."""
    if len(sys.argv) < 2:
        print(f"usage: python docs/make/layout_check.py DIRECTORY [{'|'.join([*PAGES, LIVE])}]...", file=sys.stderr)
        return 2
    directory = Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:] or [*PAGES, LIVE]
    place = directory / "made"
    place.mkdir(parents=True, exist_ok=True)
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name in wanted:
            if name == LIVE:
                with served(place) as address:
                    told = list(check_page(browser, address, name, directory, LIVE_DRAWN))
            else:
                kept = place / f"{name}.page"
                if not kept.exists():
                    kept.write_text(str(PAGES[name](place)))
                told = list(check_page(browser, Path(kept.read_text()).as_uri(), name, directory, "html[data-drawn]"))
            print(f"{name} is taken", *told, sep="\n", flush=True)
            faults += told
        browser.close()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
