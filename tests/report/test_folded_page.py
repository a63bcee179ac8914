"""The page of a run of many settings: the answer once, and the rest folded until somebody opens it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import text_run
from tonnage.cli import main

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


def swept(sizes: int) -> list[dict[str, Any]]:
    return [
        text_run.trial(
            number,
            f"2026-03-02T08:{number // 60:02d}:{number % 60:02d}Z",
            (100 + number) * 10**6,
            text_run.setting(transfer_size=4096 << number % sizes),
        )
        for number in range(3 * sizes)
    ]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    run = text_run.write(tmp_path / "many", swept(12))
    assert main(["report", str(run)]) == 0
    return run / "report.html"


def test_a_page_of_many_settings_folds_what_is_no_answer_and_one_of_a_few_folds_nothing(
    many: Path, tmp_path: Path
) -> None:
    page = many.read_text()
    folded = [
        part.rpartition('<section id="')[2].partition('"')[0] for part in page.split('<details class="fold">')[:-1]
    ]
    assert folded[:2] == ["points", "over-time"] and "settings" not in folded
    assert "<summary>All 12 points</summary>" in page
    few = text_run.write(tmp_path / "few", swept(3))
    assert main(["report", str(few)]) == 0
    assert '<details class="fold">' not in (few / "report.html").read_text()


def test_what_a_snapshot_costs_is_said_once_and_by_no_caption_and_no_finding_again(tmp_path: Path) -> None:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    file = tmp_path / "campaign.toml"
    file.write_text(
        'target = "sim:snapshot=1s"\n[repeat]\ncount = 4\n[workload]\nkind = "checkpoint"\n'
        'snapshot = ["none", "auto"]\ntasks = [1, 2]\ntransfer_size = "64KiB"\ntransfers = 4\nrounds = 2\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "run")]) == 0
    page = (tmp_path / "run" / "report.html").read_text().replace("\u00a0", " ")
    visible = page[: page.index('<script type="application/json"')]
    assert visible.count("Each snapshot (model) adds") == 1
    assert "each snapshot adds" not in visible and "The answer above says it." in visible
    for figure in text_run.figures(tmp_path / "run" / "report.html")["snapshots"]["variants"][0]["figures"]:
        assert "adds" not in figure["caption"] and figure["alt"], "the words for who cannot see it stay"


def test_a_folded_figure_is_drawn_when_it_is_opened_by_a_click_by_a_link_or_for_paper(many: Path) -> None:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}; set CHROMIUM to its path")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        opened = {
            "click": lambda page: page.click("#over-time summary"),
            "link": lambda page: page.evaluate("location.hash = '#over-time'"),
            "paper": lambda page: page.evaluate("dispatchEvent(new Event('beforeprint'))"),
        }
        for way, act in opened.items():
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            trouble: list[str] = []
            page.on("pageerror", lambda error, kept=trouble: kept.append(str(error)))
            page.goto(many.as_uri())
            page.wait_for_selector("html[data-drawn]", state="attached")
            assert page.locator("#over-time .plot").count() == 0, way
            act(page)
            page.wait_for_selector("#over-time .plot .main-svg", state="visible")
            assert page.locator("#over-time .plot").first.bounding_box()["width"] > 300, way
            assert trouble == [], way
            page.close()
        browser.close()
