"""The page in a real browser: figures drew, nothing was loaded, nothing overlaps; light and dark, wide and narrow."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import report_sample as sample
import sizes_sample
import workflow_sample
from answers_sample import answers
from tonnage.analysis import analyse
from tonnage.report.page import render, write_answer
from tonnage.report.page_data import Source

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}; set CHROMIUM to its path")

# Boxes of texts that must not cover each other: titles of axes, the legend, ticks, names of lines, the colour bar.
_TEXTS = """plot => {
  const boxes = [];
  const add = (kind, node) => {
    const box = node.getBoundingClientRect();
    if (box.width && box.height) boxes.push({kind, text: node.textContent.slice(0, 40),
      left: box.left, right: box.right, top: box.top, bottom: box.bottom});
  };
  for (const [kind, selector] of [["title", ".xtitle, .ytitle"], ["legend", ".legend .legendtext"],
    ["tick", ".xtick, .ytick"], ["note", ".annotation-text-g"],
    ["bar", ".colorbar .cbaxis text, .colorbar .cbtitle text"]]) {
    for (const node of plot.querySelectorAll(selector)) add(kind, node);
  }
  return boxes;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


def _open(browser: Any, path: Path, *, width: int = 1280, theme: str = "light") -> tuple[Any, list[str]]:
    """The page, and what went wrong on it: messages, errors, requests."""
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("request", lambda request: trouble.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    # What is folded is drawn when it is opened.
    page.evaluate("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true; })")
    page.wait_for_function(
        "[...document.querySelectorAll('.fold .figures')].every((one) => one.querySelector('.main-svg'))"
    )
    return page, trouble


def _overlaps(boxes: list[dict[str, Any]]) -> list[str]:
    slack = 1.0
    return [
        f"{a['kind']} {a['text']!r} covers {b['kind']} {b['text']!r}"
        for position, a in enumerate(boxes)
        for b in boxes[position + 1 :]
        if a["left"] < b["right"] - slack
        and b["left"] < a["right"] - slack
        and a["top"] < b["bottom"] - slack
        and b["top"] < a["bottom"] - slack
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 800])
def test_every_figure_draws_and_no_text_covers_another(
    browser: Any, page_file: Callable[[str, str], Path], page_text: str, width: int, theme: str
) -> None:
    page, trouble = _open(browser, page_file("whole", page_text), width=width, theme=theme)
    plots = page.query_selector_all(".plot")
    assert len(plots) == 11
    _look_at(page, plots, width)
    assert trouble == []
    page.close()


_DRAWN = "p => p.querySelectorAll('.scatterlayer .trace path, .barlayer .trace path, .heatmaplayer image').length"


def _look_at(page: Any, plots: list[Any], width: int) -> None:
    """Each plot drew, within the page, and no text of it covers another."""
    for plot in plots:
        drawn = plot.evaluate(_DRAWN)
        assert drawn > 0, plot.get_attribute("id")
        assert _overlaps(plot.evaluate(_TEXTS)) == [], plot.get_attribute("id")
        box = plot.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


_TURNED = """plot => [...plot.querySelectorAll(".xtick text")].map((text) => text.getAttribute("transform") ?? "")
  .filter((how) => /rotate\\((?!0[,)])/.test(how))"""


@pytest.mark.parametrize("name", ["history", "crossover-of-long-names", "project", "compare"])
def test_on_a_telephone_nothing_is_cut_and_ticks_stay_upright(browser: Any, tmp_path: Path, name: str) -> None:
    page, trouble = _open(browser, write_answer(answers()[name], tmp_path / "answer.html"), width=400)
    (plot,) = page.query_selector_all(".plot")
    _look_at(page, [plot], 400)
    assert plot.evaluate(_TURNED) == []
    place = plot.bounding_box()
    for text in plot.evaluate(_TEXTS):
        assert place["x"] - 1 <= text["left"] and text["right"] <= place["x"] + place["width"] + 1, text["text"]
    assert trouble == []
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (800, "dark")])
@pytest.mark.parametrize("name", ["history", "history-undated", "crossover", "project"])
def test_answers_about_several_runs_draw_and_their_names_stay_text(
    browser: Any, tmp_path: Path, name: str, width: int, theme: str
) -> None:
    page, trouble = _open(browser, write_answer(answers()[name], tmp_path / "answer.html"), width=width, theme=theme)
    plots = page.query_selector_all(".plot")
    assert len(plots) == 1
    _look_at(page, plots, width)
    assert page.query_selector("main b") is None and (name == "crossover" or "<b>run</b>" in page.inner_text("body"))
    assert trouble == []
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 800])
def test_every_kind_of_workload_draws_beside_published_figures(
    browser: Any, page_file: Callable[[str, str], Path], kinds_page: str, width: int, theme: str
) -> None:
    page, trouble = _open(browser, page_file("kinds", kinds_page), width=width, theme=theme)
    plots = page.query_selector_all(".plot")
    assert len(plots) == 21
    _look_at(page, plots, width)
    assert page.inner_text("#published").count("this run") >= 2
    assert trouble == []
    page.close()


def test_workflows_and_their_verdicts_draw(browser: Any, page_file: Callable[[str, str], Path], tmp_path: Path) -> None:
    run = workflow_sample.write(tmp_path / "run", {"mm": (1.0, 1.1), "epouta": (3.0, 3.1), "mm2-epouta1": (1.0, 1.1)})
    page, trouble = _open(browser, page_file("workflow", render(analyse(run), Source.of(run))), width=800)
    plots = page.query_selector_all("#workflow .plot, #compared .plot")
    assert len(plots) == 2
    _look_at(page, plots, 800)
    assert trouble == []
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (800, "dark")])
def test_roofs_and_the_map_of_sizes_draw_and_a_cell_names_its_records(
    browser: Any, page_file: Callable[[str, str], Path], width: int, theme: str
) -> None:
    text = render(*sizes_sample.whole(ceilings=(sizes_sample.LINK, sizes_sample.MEMORY, sizes_sample.FAR)))
    page, trouble = _open(browser, page_file("sizes", text), width=width, theme=theme)
    plots = page.query_selector_all("#transfer-sizes .plot")
    assert len(plots) == 2
    _look_at(page, plots, width)
    firsts = ((".scatterlayer .points path", "4 KiB, 1 task"), (".heatmaplayer image", "1 MiB, 1 task"))
    for plot, (layer, where) in zip(plots, firsts, strict=True):
        plot.scroll_into_view_if_needed()
        place = plot.query_selector(layer).bounding_box()
        page.mouse.move(place["x"] + min(5, place["width"] / 2), place["y"] + min(5, place["height"] / 2))
        told = page.wait_for_selector(f"#{plot.get_attribute('id')} .hovertext", timeout=10_000)
        assert re.search(rf"{where}median.*record \d+-write", told.text_content()), told.text_content()
    assert trouble == []
    page.close()


def test_the_theme_follows_the_system_and_the_button(
    browser: Any, page_file: Callable[[str, str], Path], page_text: str
) -> None:
    page, trouble = _open(browser, page_file("theme", page_text), theme="light")
    colour = "getComputedStyle(document.querySelector('#load-line-write-0-plot .xtitle')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-drawn=dark]", state="attached")
    dark = page.evaluate(colour)
    assert dark != light
    page.click("#theme")
    page.wait_for_selector("html[data-drawn=light]", state="attached")
    assert page.evaluate(colour) == light
    assert page.inner_text("#theme") == "Theme: light"
    page.click("#theme")
    page.wait_for_selector("html[data-drawn=dark]", state="attached")
    assert page.evaluate(colour) == dark
    assert trouble == []
    page.close()


def test_a_choice_shows_another_trial_and_its_table(
    browser: Any, page_file: Callable[[str, str], Path], page_text: str
) -> None:
    page, trouble = _open(browser, page_file("choice", page_text))
    label = page.evaluate("[...document.querySelectorAll('#trial option')].find(o => o.text.includes('stalls')).text")
    page.select_option("#trial select", label=label)
    page.wait_for_selector("#trial-0-plot .shapelayer path", state="attached")
    assert "2 stalls at 1 time" in page.inner_text("#trial figcaption")
    page.click("#trial details summary")
    page.wait_for_selector("#trial details table tbody tr")
    assert "3, 4" in page.inner_text("#trial details table")
    assert _overlaps(page.query_selector("#trial-0-plot").evaluate(_TEXTS)) == []
    assert trouble == []
    page.close()


def test_every_figure_saves_its_table_as_csv(
    browser: Any, page_file: Callable[[str, str], Path], page_text: str
) -> None:
    page, trouble = _open(browser, page_file("saved", page_text))
    plots = page.query_selector_all(".plot")
    assert len(page.query_selector_all("figure .save")) == len(plots)
    with page.expect_download() as saving:
        page.click("#load-line-write .save")
    assert saving.value.suggested_filename == "load-line-write-0.csv"
    with Path(saving.value.path()).open(encoding="utf-8-sig", newline="") as file:
        saved = list(csv.reader(file))
    data = json.loads(page.text_content("#report-data"))
    table = data["load-line-write"]["variants"][0]["figures"][0]["table"]
    assert saved == [table["columns"], *table["rows"]]
    assert trouble == []
    page.close()


def test_a_saved_table_quotes_what_would_break_it(browser: Any, page_file: Callable[[str, str], Path]) -> None:
    odd = 'a "quoted", name\nof two lines'
    builder = sample.Builder()
    for tasks in (1, 4):
        builder.point("write", tasks, odd)
    page, _ = _open(browser, page_file("odd", render(sample.analysis(builder, ()), builder.source(Path("/x"), {}))))
    made = page.evaluate("text => Figures.csvOf({columns: ['name', 'n'], rows: [[text, '1']]})", odd)
    assert list(csv.reader(io.StringIO(made.removeprefix("\ufeff"), newline=""))) == [["name", "n"], [odd, "1"]]
    page.close()


def test_hostile_strings_do_not_run(browser: Any, page_file: Callable[[str, str], Path]) -> None:
    hostile = "<img src=x onerror='window.pwned=1'><a href='javascript:window.pwned=1'>x</a>"
    builder = sample.Builder()
    for tasks in (1, 4):
        builder.point("write", tasks, hostile)
    ceiling = {"name": hostile, "bytes_per_s": 9_000_000_000, "source": hostile}
    analysis = sample.analysis(builder, (sample.line("write", hostile),), ceilings=(ceiling,))
    manifest = sample.manifest(target={"name": hostile}, host={"hostname": hostile})
    path = page_file("hostile", render(analysis, builder.source(Path("/x"), manifest)))
    page, trouble = _open(browser, path)
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.querySelectorAll('main img, main a, svg a').length") == 0
    assert trouble == []
    page.close()


def test_a_script_that_is_not_of_the_page_is_refused(
    browser: Any, page_file: Callable[[str, str], Path], page_text: str
) -> None:
    path = page_file("injected", page_text.replace("<main>", "<main><script>window.pwned=1</script>"))
    page, trouble = _open(browser, path)
    assert page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in message for message in trouble)
    page.close()


@pytest.mark.parametrize("state", ["interrupted", "failed"])
def test_a_run_without_figures_opens_too(browser: Any, page_file: Callable[[str, str], Path], state: str) -> None:
    page, trouble = _open(browser, page_file(state, render(*sample.empty(state))))
    assert page.is_visible(".banner")
    assert trouble == []
    page.close()
