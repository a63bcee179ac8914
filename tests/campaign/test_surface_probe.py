"""How a search over transfer sizes spends its budget, and what the command makes of it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tonnage.analysis.summary import schema
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.run_lifecycle import resume_run, run_campaign
from tonnage.campaign.search_bounds import SearchSpace, _fit_surface
from tonnage.campaign.surface_probe import SurfaceProbe
from tonnage.cli import main
from tonnage.errors import RequestError
from tonnage.records import Run

from .interrupting import InterruptingObserver
from .test_probe import line

MODEL = "sim:call=300us,task-speed=200MB/s,operations=20000,plateau=2GB/s,noise=5%"


def surface_probe(**search: Any) -> SurfaceProbe:
    given = {"budget_ns": 120 * 10**9, "surface": (4 << 10, 16 << 20), **search}
    campaign = build_campaign({"target": "/x", "search": given}, stored=True)
    return SurfaceProbe(campaign, 1, SearchSpace(8 << 30), device=True)


def test_equal_cells_are_one_setting_and_every_block_holds_whole_transfers_of_every_size() -> None:
    search, lines, spent = surface_probe(), [], 0
    while (trial := search.next(lines, spent)) is not None:
        setting = trial.setting
        rate = min(setting.tasks * setting.transfer_size * 2000, 10**9)
        lines.append({**line(len(lines), trial, bandwidth=rate), "loop_bytes_per_s": rate})
        spent += setting.time_limit_ns or 0
        assert setting.block_size % (16 << 20) == 0
        assert setting.block_size * setting.tasks <= 8 << 30
        assert len(lines) < 400
    assert 100 * 10**9 < spent < 140 * 10**9, "the whole budget"
    settings: dict[Any, set[Any]] = defaultdict(set)
    for one in lines:
        setting = one["setting"]
        key = one["phase"], setting["tasks"], setting["transfer_size"]
        settings[key].add((setting["time_limit_ns"], setting["block_size"] if one["phase"] == "read" else 0))
    assert all(len(several) == 1 for several in settings.values())
    assert {one["phase"] for one in lines} == {"write", "read"}


def test_a_cell_that_gave_no_rate_does_not_take_the_budget_of_the_others() -> None:
    search, lines, spent = surface_probe(op=("write",)), [], 0
    while (trial := search.next(lines, spent)) is not None:
        setting = trial.setting
        slow = setting.transfer_size == 16 << 20
        rate = 0 if slow else min(setting.tasks * setting.transfer_size * 2000, 10**9)
        lines.append({**line(len(lines), trial, bandwidth=rate), "loop_bytes_per_s": rate or None})
        spent += setting.time_limit_ns or 0
    silent = [
        (one["setting"]["tasks"], one["setting"]["transfer_size"]) for one in lines if not one["loop_bytes_per_s"]
    ]
    assert silent and len(silent) == len(set(silent)), "each once"
    assert len(lines) > 3 * len(silent)


def test_where_no_cell_gives_a_rate_all_of_the_first_are_tried() -> None:
    search, lines = surface_probe(op=("write",)), []
    for _ in range(40):
        trial = search.next(lines, 0)
        assert trial is not None
        lines.append({**line(len(lines), trial, bandwidth=0), "loop_bytes_per_s": None})
    cells = {(one["setting"]["tasks"], one["setting"]["transfer_size"]) for one in lines}
    assert len(cells) > 12


def test_no_trial_follows_one_that_failed() -> None:
    search = surface_probe(op=("write",))
    trial = search.next([], 0)
    assert trial is not None
    assert search.next([line(0, trial, status="failed")], 10**9) is None


def test_where_there_is_little_space_the_largest_transfers_are_left_out() -> None:
    campaign = build_campaign(
        {"target": "/x", "search": {"surface": (4 << 10, 16 << 20), "budget_ns": 10**11}}, stored=True
    )
    search = campaign.search
    assert search is not None and search.surface is not None
    fitted, largest = _fit_surface(search, search.surface, SearchSpace(100 << 20))
    assert fitted.surface == (4 << 10, largest)
    assert (1 << 20) <= largest < (4 << 20)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ({"surface": ["4KiB", "8KiB"]}, "cannot be measured"),
        ({"surface": ["1MiB", "4KiB"]}, "cannot be measured"),
        ({"surface": ["4KiB", "16MiB"], "p99": "20ms"}, "ask for one of them"),
        ({"surface": ["4KiB", "16MiB"], "max_tasks": 3}, "at least 4 tasks"),
        ({"surface": ["4KiB", "16MiB"], "budget": "5s"}, "too short"),
        ({"surface": ["4KiB"]}, "surface"),
        ({"surface": ["100kB", "1MB"]}, "cannot be measured"),
        ({"surface": ["1MiB", "2GiB"]}, "cannot be measured"),
    ],
)
def test_what_cannot_be_a_surface_is_refused(search: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        build_campaign({"target": "sim:", "search": search})


def test_the_workload_of_a_surface_says_no_transfer_size() -> None:
    with pytest.raises(RequestError, match="leave transfer_size out"):
        build_campaign(
            {"target": "sim:", "workload": {"transfer_size": "1MiB"}, "search": {"surface": ["4KiB", "16MiB"]}}
        )


def test_the_command_tells_the_lines_of_all_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = ["probe", MODEL, "--surface", "--op", "write,read", "--budget", "40s", "--seed", "3", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, schema())
    assert [one["op"] for one in told["surfaces"]] == ["write", "read"]
    assert all(len(one["sizes"]) == 13 for one in told["surfaces"])
    named = [(one["op"], one["group"]) for one in told["load_lines"]]
    assert len(named) == len(set(named)), "one answer a size"
    assert {one["group"] for one in told["load_lines"]} >= {"transfer_size 4KiB", "transfer_size 16MiB"}
    assert main(["verify", str(out)]) == 0
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    screen = capsys.readouterr().out
    assert "reach 95 % of the plateau; more only wait" in screen
    assert len([row for row in screen.splitlines() if row.lstrip().startswith(("4 KiB", "16 MiB"))]) == 2
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count('id="surface"') == 1
    assert "load-line-write" not in page, "one map, not a curve for each size"


def test_an_interrupted_search_goes_on_where_it_stood(tmp_path: Path) -> None:
    given = {"surface": (4 << 10, 16 << 20), "budget_ns": 30 * 10**9, "op": ("write",)}
    campaign = build_campaign({"target": MODEL, "seed": 3, "search": given}, stored=True)
    out = str(tmp_path / "run")
    ended = run_campaign(campaign, text=None, command_line=["test"], out=out, observer=InterruptingObserver(10))
    assert ended.state == "interrupted"
    before = Run.open(out).trials()
    assert resume_run(out, observer=Observer()).state == "complete"
    after = Run.open(out).trials()
    assert [one["setting"] for one in after[: len(before)]] == [one["setting"] for one in before]
    assert len(after) > 50, "the whole budget"


@pytest.mark.parametrize("more", [[], ["--surface"]])
def test_no_time_is_no_budget(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", MODEL, *more, "--budget", "0s"]) == 2
    assert "0 is no time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "number"), [(["64KiB"], "is 1"), ("4KiB", "is 1"), ([], "are 0"), ([1, 2, 3], "are 3")]
)
def test_a_surface_that_has_not_two_ends_is_told_in_words_of_the_house(given: object, number: str) -> None:
    with pytest.raises(RequestError, match=f"a surface is between two sizes, and here {number}; hint: write") as told:
        build_campaign({"target": "/x", "search": {"surface": given}})
    assert "tuple" not in str(told.value)
