"""The campaign kind ``kv-cache`` and the search ``[users]``: settings, what they refuse, and runs of them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tonnage.analysis.load_line.largest_number import NumberSearch
from tonnage.analysis.summary import schema
from tonnage.campaign.campaign_file import parse_campaign, probe_campaign
from tonnage.campaign.execute.kv_cache import phase_spec
from tonnage.campaign.kinds.kv_cache import KvCacheSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.number_probe import user_probe
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, describe, make_plan
from tonnage.campaign.run_lifecycle import resume_run, run_campaign
from tonnage.cli import main
from tonnage.errors import RequestError
from tonnage.published.kv_cache_models import kv_cache_models
from tonnage.records import Run

from .interrupting import InterruptingObserver

OWN = 'token_size = "1KiB"\nturn_tokens = 16\ncontext = 64\nthink = "20ms"\n'


def kv_cache(text: str, rest: str = "") -> Campaign:
    return parse_campaign(f'target = "sim:knee=4"\n[workload]\nkind = "kv-cache"\n{text}{rest}', "c.toml")


def setting_of(campaign: Campaign) -> KvCacheSetting:
    (found,) = campaign.settings()
    assert isinstance(found, KvCacheSetting)
    return found


def test_a_token_of_a_published_model_has_its_keys_and_values() -> None:
    """Llama 3.1: 8 heads of 128 values for keys, as many for values, two bytes each, in 32 or 80 layers."""
    models = kv_cache_models()
    assert models["llama3.1-8b"].token_bytes == 32 * 2 * 8 * 128 * 2 == 131072
    assert models["llama3.1-70b-instruct"].token_bytes == 80 * 2 * 8 * 128 * 2
    assert models["deepseek-v3"].token_bytes == 61 * (512 + 64) * 2
    setting = setting_of(kv_cache('model = "llama3.1-8b"\nusers = 3\n'))
    assert (setting.turns, setting.turn_bytes, setting.conversation_bytes) == (8, 512 * 131072, 4096 * 131072)
    assert (setting.tasks, setting.slots, setting.space_bytes) == (3, 3, 3 << 29)


def test_a_scale_makes_tokens_smaller_and_a_turn_whole_pages() -> None:
    campaign = kv_cache('model = "llama3.1-8b"\nusers = 1\n').model_copy(update={"scale": 0.01})
    setting = setting_of(campaign)
    assert (setting.token_size, setting.turn_bytes, setting.turn_bytes % 4096) == (1311, 671744, 0)


def test_a_setting_is_what_the_engine_gets() -> None:
    text = 'users = 3\ncapacity = "128KiB"\nduration = "2s"\n'
    setting = setting_of(kv_cache(OWN + text))
    spec = phase_spec(setting, "0001-serve", 7)
    assert (spec["tasks"], spec["limit"]) == ({"first": 0, "here": 3, "total": 3}, {"time_ns": 4 * 10**9})
    assert spec["work"] == {
        "kind": "kv-cache",
        "step": "serve",
        "turn_bytes": 16384,
        "turns": 4,
        "slots": 2,
        "laid_out": 0,
        "think_ns": 20_000_000,
        "serve_ns": 2 * 10**9,
        "transfer_size": 1 << 20,
        "cache": "drop",
    }
    laid_out = phase_spec(setting, "0001-write", 7, laid_out=1)
    assert (laid_out["tasks"]["here"], laid_out["limit"]) == (4, {"time_ns": None})


@pytest.mark.parametrize(
    ("text", "rest", "told"),
    [
        ("", "", "c.toml:2: without a model, kv-cache needs token_size; hint: give it, or a model"),
        ('model = "gpt"\n', "", "there is no model 'gpt'; hint: they are tiny-1b, "),
        (OWN.replace("64", "8"), "", "a context of 8 tokens has no turn of 16"),
        (OWN + 'transfer_size = "5KiB"\n', "", "is no multiple of 4KiB up to 1GiB"),
        (OWN.replace("20ms", "0s"), "", "workload.think: 0 is no time; hint: write it like"),
        (OWN + 'time_limit = "1s"\n', "", "time_limit ends before the last turns are due"),
        (OWN + "users = 3\n", "[users]\n", "[users] says the users; hint: leave users out, or [users]"),
        (OWN, '[users]\np95 = "0s"\n', "users.p95: 0 is no time; hint: write it like"),
        (OWN, '[users]\nbudget = "3s"\n', "is too short for 10 trials of 1s; hint: give at least 10s"),
        (OWN, "[users]\n[search]\n", "[search] and [users] are two searches; hint: keep one of them"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(text: str, rest: str, told: str) -> None:
    with pytest.raises(RequestError) as error:
        kv_cache(text, rest)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_search_looks_at_one_of_each_factor() -> None:
    with pytest.raises(RequestError, match=r"a search looks at one context; hint: give one context"):
        kv_cache(OWN.replace("context = 64", "context = [32, 64]"), "[users]\n")
    with pytest.raises(RequestError, match=r'about one workload of kind kv-cache; hint: set kind = "kv-cache"'):
        parse_campaign('target = "sim:"\n[users]\n', "c.toml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kv-cache", "gpt"], "there is no model 'gpt'; hint: they are tiny-1b"),
        (["--p95", "1s"], "--p95 is about --kv-cache; hint: give --kv-cache llama3.1-8b, or leave it out"),
        (["--users", "3"], "--users is about --kv-cache"),
        (["--scale", "0.5"], "--scale is about --training and --kv-cache"),
        (["--kv-cache", "tiny-1b", "--surface"], "--surface has no meaning with --kv-cache; hint: leave one of them"),
        (["--kv-cache", "tiny-1b", "--beside", "drain"], "--beside has no meaning with --kv-cache"),
        (["--kv-cache", "tiny-1b", "--p99", "1s"], "--p99 has no meaning with --kv-cache"),
        (["--kv-cache", "tiny-1b", "--training", "unet3d-h100"], "--kv-cache has no meaning with --training"),
        (["--kv-cache", "tiny-1b", "--accelerators", "2"], "--accelerators is about --training"),
        (["--kv-cache", "tiny-1b", "--budget", "3s"], "a budget of 3s is too short for 10 trials of 12s"),
        (["--kv-cache", "tiny-1b", "--p95", "0s"], "a p95 of 0s cannot be met, for no turn takes no time"),
    ],
)
def test_options_of_a_probe_that_are_wrong_are_told_in_one_line(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", *words, "--out", str(tmp_path / "run"), "sim:"]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_plan_says_what_is_looked_for_and_takes_no_more_space_than_the_capacity() -> None:
    campaign = probe_campaign("sim:", {"kv_cache": "llama3.1-8b", "users": 20, "space": "4GiB", "p95_ns": 10**8})
    lines = describe(campaign, make_plan(campaign))
    assert (
        "search    users served within 100ms at p95, up to 20: llama3.1-8b, "
        "conversations of 512 MiB, room for 8 of them"
    ) in lines
    assert make_plan(campaign).space_bytes == 4 << 30


def test_a_cache_without_room_for_one_conversation_is_refused() -> None:
    campaign = kv_cache(OWN + 'capacity = "60KiB"\nusers = 2\n')
    with pytest.raises(RequestError, match=r"60KiB have no room for one conversation of 64KiB; hint: give more"):
        check(campaign, make_plan(campaign))


def test_trials_of_a_search_double_until_turns_are_late_and_repeat() -> None:
    campaign = kv_cache(OWN, '[users]\nmost = 32\np95 = "100ms"\n')
    search, lines, tried = user_probe(campaign, 1), [], []
    while (trial := search.next(lines, len(lines) * 10**9)) is not None and len(tried) < 200:
        users = trial.setting.users  # type: ignore[attr-defined]
        tried.append(users)
        p95_ns = round(users / 10.5 * 100_000_000 * (0.99 if len(tried) % 2 else 1.01))
        lines.append(
            {
                "trial": len(lines), "phase": "serve", "purpose": "measure", "status": "ok",
                "setting": {"users": users, "think_ns": 10**9}, "kv_cache": {"users": users, "p95_ns": p95_ns},
                "operations": users, "elapsed_ns": 10**9,
            }
        )  # fmt: skip
        assert trial.setting.time_limit_ns == trial.setting.duration_ns + 200_000_000  # type: ignore[attr-defined]
    assert tried[:5] == [1, 2, 4, 8, 16]
    assert {10, 11} <= set(tried) and len(tried) < 60, tried
    assert set(search.stopped(lines, "budget").values()) == {"known"}


@pytest.mark.parametrize("p95", ["2s", "20s"])
def test_no_more_users_are_served_than_the_device_keeps_up_with_however_long_they_may_wait(
    p95: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's turn moves 302 MB and comes every 300 ms: 20 GB/s are 19.9 users."""
    device, run = "sim:knee=4,plateau=20GB/s,noise=0%", str(tmp_path / "run")
    probe = ["probe", device, "--kv-cache", "llama3.1-8b", "--p95", p95, "--budget", "400s"]
    assert main([*probe, "--out", run, "--json"]) == 0
    (served,) = json.loads(capsys.readouterr().out)["kv_cache"]
    assert served["answer"]["users"] <= 20 and served["answer"]["high"] <= 21


def test_a_number_whose_trials_lie_at_the_objective_is_passed_by() -> None:
    search = NumberSearch(64, 200.0, "seed")
    measured = {1: [10.0], 2: [20.0], 4: [50.0], 8: [215.0, 205.0]}
    assert search.next(measured) != 16
    measured[8].append(190.0)
    assert search.next(measured) == 16
    measured[16] = [900.0]
    assert search.next(measured) in range(5, 13)
    assert NumberSearch(8, 200.0, "seed").next({8: measured[8], 4: [50.0]}) != 16


def test_an_interrupted_search_goes_on_where_it_stood(tmp_path: Path) -> None:
    campaign = kv_cache(OWN, '[users]\nmost = 16\nbudget = "60s"\n').model_copy(update={"seed": 3})
    out = str(tmp_path / "run")
    ended = run_campaign(campaign, text=None, command_line=["test"], out=out, observer=InterruptingObserver(3))
    assert ended.state == "interrupted"
    before = Run.open(out).trials()
    assert resume_run(out, observer=Observer()).state == "complete"
    after = Run.open(out).trials()
    assert [one["setting"] for one in after[: len(before)]] == [one["setting"] for one in before]
    assert len(after) > len(before) and Run.open(out).manifest["users"]["p95_ns"] == 200_000_000


def test_slots_are_laid_out_once_and_nothing_stays_of_them(tmp_path: Path) -> None:
    (place := tmp_path / "data").mkdir()
    text = 'users = [1, 3]\nduration = "200ms"\n[repeat]\ncount = 2\n'
    campaign = kv_cache(OWN, text).model_copy(update={"seed": 3, "target": str(place)})
    out = str(tmp_path / "run")
    assert run_campaign(campaign, text=None, command_line=["t"], out=out, observer=Observer()).state == "complete"
    assert list(place.iterdir()) == []
    lines = Run.open(out).trials()
    written = [line["bytes"] for line in lines if line["phase"] == "write"]
    assert sum(written) == 3 * 4 * 16384, "what is there is not written again"
    served = [line for line in lines if line["phase"] == "serve"]
    assert sorted(line["kv_cache"]["users"] for line in served) == [1, 1, 3, 3]
    for line in served:
        told = line["kv_cache"]
        assert line["bytes"] == told["read_bytes"] + told["write_bytes"] and told["found"] == told["returning"]
        assert line["cache"]["read_bytes"] == told["read_bytes"]
    # Other turns in each trial: their figures must not be those of one draw.
    assert len({line["kv_cache"]["turns"] for line in served if line["kv_cache"]["users"] == 3}) > 0


def test_a_cache_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    campaign = kv_cache('token_size = "1GiB"\nusers = 400\ncapacity = "1800TB"\n')
    campaign = campaign.model_copy(update={"target": str(tmp_path)})
    with pytest.raises(RequestError, match=r"hint: use a smaller capacity, context or scale"):
        run_campaign(campaign, text=None, command_line=["test"], out=str(tmp_path / "run"), observer=Observer())
    assert list(tmp_path.iterdir()) == []


def test_a_probe_says_how_many_users_are_served_and_its_json_keeps_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["probe", "--kv-cache", "llama3.1-8b", "--p95", "200ms", "--no-keep", "--out", str(tmp_path / "run")]
    assert main([*words, "--seed", "3", "--json", "sim:knee=1,plateau=20GB/s,noise=2%"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema())
    (served,) = found["kv_cache"]
    answer = served["answer"]
    assert answer["shown"] and 1 <= answer["low"] <= answer["users"] <= answer["high"]
    assert {one["device_share"] for one in served["points"]} == {1.0}
    assert [one["code"] for one in found["findings"]].count("cache-read") == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    said = f"serves {answer['users']} users [{answer['low']}, {answer['high']}] within 200 ms at p95, llama3.1-8b"
    assert said in " ".join(capsys.readouterr().out.split())
    assert "Users served" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert main(["verify", str(tmp_path / "run")]) == 0
