"""How a search spends its budget, without any storage."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.probe import Probe
from tonnage.campaign.schedule import Trial
from tonnage.campaign.search_bounds import SearchSpace


def probe(*, space: int = 8 << 30, device: bool = True, **search: Any) -> Probe:
    campaign = build_campaign({"target": "/x", "search": {"budget_ns": 60 * 10**9, **search}}, stored=True)
    return Probe(campaign, 1, SearchSpace(space), device=device)


def line(
    number: int, trial: Trial, *, bandwidth: int = 10**9, direct: bool = True, status: str = "ok"
) -> dict[str, Any]:
    setting = trial.setting.as_dict()
    return {
        "trial": number,
        "phase": trial.setting.op,
        "purpose": trial.purpose,
        "status": status,
        "setting": setting,
        "repetition": trial.repetition,
        "bandwidth_bytes_per_s": bandwidth,
        "direct": direct,
        "wrapped": bandwidth * (setting["time_limit_ns"] or 0) > 10**9 * setting["block_size"] * setting["tasks"],
        "elapsed_ns": 10**9,
        "first_start_ns": 1,
    }


def play(search: Probe, *, wobble: float = 0.0, **keywords: Any) -> list[dict[str, Any]]:
    """A storage on which every trial takes its length; it saturates at four tasks. ``wobble``: by how much, at most,
    one trial is faster or slower than another."""
    lines: list[dict[str, Any]] = []
    spent = 0
    while (trial := search.next(lines, spent)) is not None:
        rate = min(trial.setting.tasks, 4) * 10**8 * (1 + wobble * (7 * len(lines) % 13 - 6) / 6)
        lines.append(line(len(lines), trial, bandwidth=round(rate), **keywords))
        spent += trial.setting.time_limit_ns or 0
        assert len(lines) < 200
    assert spent <= 62 * 10**9
    return lines


@pytest.mark.parametrize(("budget_s", "length_ms"), [(3, 250), (60, 477), (3600, 5000)])
def test_a_trial_is_a_share_of_the_budget_within_bounds(budget_s: int, length_ms: int) -> None:
    assert probe(budget_ns=budget_s * 10**9).trial_ns // 10**6 == length_ms


def test_writes_come_first_and_reads_get_their_turn() -> None:
    ops = [item["phase"] for item in play(probe())]
    assert ops == sorted(ops, reverse=True)
    assert {"write", "read"} == set(ops)


def test_files_never_need_more_than_the_space_given() -> None:
    for direct in (True, False):
        for item in play(probe(space=1 << 30), direct=direct):
            setting = item["setting"]
            files = 32 if setting["op"] == "read" else setting["tasks"]
            assert setting["block_size"] * files <= 1 << 30


def test_repetitions_are_of_one_setting() -> None:
    lines = play(probe(), direct=False)
    sizes: dict[tuple[str, int], set[int]] = {}
    for item in lines:
        sizes.setdefault((item["phase"], item["setting"]["tasks"]), set()).add(item["setting"]["block_size"])
    assert all(len(found) == 1 for found in sizes.values())


def test_through_the_page_cache_of_a_device_no_pass_is_repeated() -> None:
    assert all(not item["setting"]["wrap"] for item in play(probe(), direct=False)[1:])
    assert all(item["setting"]["wrap"] for item in play(probe(device=False), direct=False))
    assert all(item["setting"]["wrap"] for item in play(probe(), direct=True))


def test_an_operation_that_failed_is_given_up_and_the_other_still_measured() -> None:
    search = probe()
    first = search.next([], 0)
    assert first is not None
    second = search.next([line(0, first, status="failed")], 10**9)
    assert second is not None
    assert second.setting.op == "read"


def test_long_trials_on_the_plateau_come_last_and_have_their_share_of_the_time() -> None:
    lines = play(probe())
    for op in ("write", "read"):
        mine = [item for item in lines if item["phase"] == op]
        assert [item["purpose"] == "sustain" for item in mine[-4:]] == [False, True, True, True]
        for item in mine[-3:]:
            assert item["setting"]["tasks"] >= 4
            assert 2 * probe().trial_ns <= item["setting"]["time_limit_ns"] <= 5 * 10**9


@pytest.mark.parametrize(("space", "sustained"), [(8 << 30, 3), (2_000_000_000, 3), (800_000_000, 0)])
def test_a_long_trial_makes_no_second_pass_where_the_short_ones_made_none(space: int, sustained: int) -> None:
    """At 400 MB/s a short trial moves 380 MB, a long one that is six times as long 2.4 GB."""
    lines = play(probe(space=space, op=["write"]), wobble=0.06)
    assert [item["purpose"] for item in lines].count("sustain") == sustained
    assert not any(item["wrapped"] for item in lines)
    spent = sum(item["setting"]["time_limit_ns"] for item in lines)
    assert spent > 40 * 10**9, "time that no long trial can use goes to short ones"


def test_through_the_page_cache_nothing_is_sustained() -> None:
    assert {item["purpose"] for item in play(probe(), direct=False)} == {"measure"}
