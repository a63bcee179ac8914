"""The page in a real browser: what it shows, that it goes on by itself, that nothing of a run becomes a part of it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import live_page
import pytest
from waiting import wait_until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}; set CHROMIUM to its path")
LIMIT_MS = live_page.LIMIT_S * 1000
LIVE = "#connection[data-state=live]"

Serving = Callable[..., live_page.Served]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


class Seen:
    """A page, and what went wrong on it."""

    def __init__(self, browser: Any, address: str, *, width: int = 1280, theme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
        self.page.set_default_timeout(LIMIT_MS)
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("request", lambda request: self._foreign(request.url, address))
        self.page.goto(address)

    def _foreign(self, url: str, address: str) -> None:
        if not url.startswith((address.partition("?")[0], "data:", "blob:")):
            self.trouble.append(f"asked elsewhere: {url}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_the_list_fits_and_needs_nothing_from_elsewhere(
    browser: Any, runs: Path, serving: Serving, width: int, theme: str
) -> None:
    seen = Seen(browser, serving(runs).address, width=width, theme=theme)
    seen.page.wait_for_selector(LIVE)
    seen.page.wait_for_selector("#ended tbody tr >> nth=1")
    assert seen.page.inner_text("#ended tbody").count("complete") == 2
    assert seen.page.is_visible("text=Nothing is being measured.")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (theme == "dark")
    assert seen.trouble == []
    seen.page.close()


def test_sentences_below_a_wide_table_wrap_at_what_is_seen_of_it(
    browser: Any, tmp_path: Path, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    site = f'scheduler = "local"\n[[server]]\nname = "fs1"\nholds = ["{tmp_path}"]\nhosts = ["{os.uname().nodename}"]\n'
    (tmp_path / "tonnage.toml").write_text(site)
    tonnage = functools.partial(
        subprocess.run, check=True, env=live_page.environment(), stdout=subprocess.PIPE, text=True
    )
    name = "align-" * 9
    said = tonnage([*live_page.COMMAND, "submit", "--json", "--name", name, "sleep", "600"]).stdout
    try:
        seen = Seen(browser, serving(tmp_path).address, width=420)
        sentence = seen.page.wait_for_selector(f"#servers tr.detail p:has-text('{name}')")
        box = sentence.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 420 and box["height"] > 30
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 420
        seen.page.close()
    finally:
        tonnage([*live_page.COMMAND, "cancel", json.loads(said)["job"]])


def test_a_run_under_way_appears_moves_and_ends_without_a_reload(
    browser: Any, tmp_path: Path, serving: Serving
) -> None:
    served = serving(tmp_path)
    seen = Seen(browser, served.address)
    seen.page.wait_for_selector(LIVE)
    process = live_page.campaign(tmp_path)
    try:
        seen.page.wait_for_selector(".card .state[data-state=running]")
        wait_until(lambda: "B/s" in seen.page.inner_text(".card .speed"), "the speed of this moment")
        seen.page.click(".card")
        seen.page.wait_for_selector("html[data-drawn='2']", state="attached")
        records = seen.page.locator("#latest tbody tr")
        first = records.count()
        wait_until(lambda: records.count() > first, "another record")
        drawn = ".js-plotly-plot .scatterlayer .trace path, .js-plotly-plot .heatmaplayer image"
        assert seen.page.locator(drawn).count() >= 2
        wait_until(lambda: "Not judged yet" not in seen.page.inner_text("#findings"), "a judgement")
    finally:
        live_page.end(process)
    seen.page.wait_for_selector("#now .state[data-state=interrupted]")
    seen.page.click("text=All runs")
    seen.page.wait_for_selector("#ended .state[data-state=interrupted]")
    assert seen.page.locator(".card").count() == 0
    assert seen.trouble == []
    seen.page.close()


def test_two_runs_are_compared_by_clicking_and_a_report_opens(browser: Any, runs: Path, serving: Serving) -> None:
    seen = Seen(browser, serving(runs).address)
    boxes = "#ended input[type=checkbox]"
    seen.page.wait_for_selector(f"{boxes} >> nth=1")
    seen.page.locator(boxes).nth(1).check()
    assert "Tick another run" in seen.page.inner_text("#choice")
    assert not seen.page.is_visible("#compare")
    seen.page.locator(boxes).nth(0).check()
    seen.page.click("#compare")
    seen.page.wait_for_selector("html[data-drawn]", state="attached")
    assert seen.page.locator(".plot .scatterlayer").count() >= 1
    seen.page.go_back()
    seen.page.click("#ended a:has-text('report') >> nth=0")
    seen.page.wait_for_selector("html[data-drawn]", state="attached")
    assert seen.page.locator("#load-line-write .plot").count() == 3
    assert seen.page.evaluate("self.origin") == "null"
    assert seen.trouble == []
    seen.page.close()


def test_two_runs_are_compared_without_a_mouse(browser: Any, runs: Path, serving: Serving) -> None:
    seen = Seen(browser, serving(runs).address)
    seen.page.wait_for_selector("#ended input[type=checkbox] >> nth=1")
    seen.page.focus("#filter")
    seen.page.keyboard.press("Tab")
    if seen.page.evaluate("document.activeElement.className") == "scroll":
        seen.page.keyboard.press("Tab")
    for steps in (0, 3):  # a row has its box, its name and its report
        for _ in range(steps):
            seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.type") == "checkbox"
        seen.page.keyboard.press("Space")
    seen.page.wait_for_selector("#compare:visible")
    for _ in range(10):
        if seen.page.evaluate("document.activeElement.id") == "compare":
            break
        seen.page.keyboard.press("Shift+Tab")
    assert seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("html[data-drawn]", state="attached")
    assert "/compare/" in seen.page.url
    assert seen.trouble == []
    seen.page.close()


def test_the_page_comes_back_after_the_server_started_anew(
    browser: Any, tmp_path: Path, runs: Path, serving: Serving
) -> None:
    shutil.copytree(runs / "base", tmp_path / "first")
    served = serving(tmp_path)
    seen = Seen(browser, served.address)
    seen.page.wait_for_selector("#ended tbody tr")
    served.end()
    seen.page.wait_for_selector("#connection[data-state=lost]")
    shutil.copytree(runs / "base", tmp_path / "second")
    serving(tmp_path, "--port", str(served.port))
    seen.page.wait_for_selector(LIVE)
    seen.page.wait_for_selector("#ended tbody tr >> nth=1")
    assert {
        line for line in seen.trouble if "ERR_CONNECTION_REFUSED" not in line and "ERR_INCOMPLETE" not in line
    } == set()
    seen.page.close()


def test_a_run_page_comes_back_too(browser: Any, runs: Path, serving: Serving) -> None:
    served = serving(runs)
    seen = Seen(browser, f"{served.address}run/{served.identifier('base')}")
    seen.page.wait_for_selector("#now .state[data-state=complete]")
    served.end()
    seen.page.wait_for_selector("#connection[data-state=lost]")
    serving(runs, "--port", str(served.port))
    seen.page.wait_for_selector(LIVE)
    seen.page.close()


HOSTILE = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script><a href='javascript:window.pwned=1'>x</a>"


def test_hostile_names_and_contents_do_not_run(browser: Any, tmp_path: Path, runs: Path, serving: Serving) -> None:
    run = tmp_path / HOSTILE.replace("/", "\\")
    shutil.copytree(runs / "base", run)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["target"] |= {"name": HOSTILE, "uri": HOSTILE}
    manifest["host"]["hostname"] = manifest["campaign"]["name"] = manifest["created"] = HOSTILE
    for one in manifest["summary"]["findings"] + [{}]:
        one["code"] = HOSTILE
    (run / "manifest.json").write_text(json.dumps(manifest))
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    lines[-1] |= {"status": "failed", "reason": HOSTILE}
    (run / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    served = serving(tmp_path)
    seen = Seen(browser, served.address)
    seen.page.wait_for_selector("#ended tbody tr")
    for step in ("#ended td.run a", "text=Open the report"):
        assert seen.page.evaluate("window.pwned") is None
        assert seen.page.locator("main img, main script, main a[href^='javascript']").count() == 0
        seen.page.click(step)
        seen.page.wait_for_selector("html[data-drawn]", state="attached")
    assert seen.page.evaluate("window.pwned") is None
    assert seen.trouble == []
    seen.page.close()


def test_a_hostile_run_under_way_does_not_run_either(
    browser: Any, tmp_path: Path, runs: Path, serving: Serving
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs / "base", run)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "state": "running"}))
    setting = {"tasks": 2, "workload": HOSTILE, "kind": HOSTILE}
    step = {"setting": setting, "phase": HOSTILE, "purpose": "measure", "trial": 1, "trials": 4, "elapsed_ns": 5}
    told = {"host": HOSTILE, "pid": 1, "job": None, "live": {"elapsed_ns": 5, "bandwidth_bytes_per_s": 7}}
    told |= {"samples": [[5, 1, 1, 1], [10, 9, 9, 9]], "notes": [HOSTILE], "step": step, "ended": None}
    (run / "progress.json").write_text(json.dumps(told))
    seen = Seen(browser, serving(tmp_path).address)
    seen.page.wait_for_selector(".card")
    assert HOSTILE in seen.page.inner_text(".card")
    seen.page.click(".card")
    seen.page.wait_for_selector("html[data-drawn='2']", state="attached")
    assert HOSTILE in seen.page.inner_text("#now")
    assert seen.page.locator("main img, main script, svg a, main a[href^='javascript']").count() == 0
    assert seen.page.evaluate("window.pwned") is None
    assert seen.trouble == []
    seen.page.close()


def test_the_printed_address_with_its_token_opens_and_the_token_goes_from_the_address(
    browser: Any, runs: Path, serving: Serving
) -> None:
    served = serving("--token", runs)
    seen = Seen(browser, served.address)
    seen.page.wait_for_selector("#ended tbody tr >> nth=1")
    assert "token" not in seen.page.url
    assert seen.page.evaluate("document.cookie") == ""
    assert seen.trouble == []
    seen.page.context.clear_cookies()
    wrong = seen.page.goto(f"http://{served.host}:{served.port}/?token=wrong")
    assert wrong.status == 403
    seen.page.close()


def test_a_hidden_page_lets_go_of_its_connection(browser: Any, runs: Path, serving: Serving) -> None:
    seen = Seen(browser, serving(runs).address)
    seen.page.wait_for_selector(LIVE)
    hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
    seen.page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", True)
    seen.page.wait_for_selector("#connection[data-state=paused]")
    seen.page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", False)
    seen.page.wait_for_selector(LIVE)
    seen.page.close()
