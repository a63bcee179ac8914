"""``tonnage history``: runs over time, on simulated storages that are changed on a known day."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis.compare.history import Dated, History
from tonnage.cli import main
from tonnage.report.answers.history import answer

from tests.records.manifests import rewritten

from .json_output import answered, drawn

SLOWER_FROM = 6


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten runs, a day apart; from the seventh on with another kernel, 20 % slower."""
    directory = tmp_path_factory.mktemp("nightly")
    for number in range(10):
        plateau, kernel = ("2GB/s", "5.10") if number < SLOWER_FROM else ("1.6GB/s", "6.1")
        text = (
            f'target = "sim:knee=8,plateau={plateau},noise=3%"\nseed = {number + 1}\n[repeat]\ncount = 5\n'
            '[[workload]]\nop = ["write", "read"]\ntasks = [2, 8]\ntransfer_size = "1MiB"\nblock_size = "32MiB"\n'
        )
        (directory / "c.toml").write_text(text)
        # Names in no order, so that only the time can put them right.
        out = directory / f"run-{(number * 7) % 10}"
        assert main(["run", str(directory / "c.toml"), "--out", str(out), "--no-report"]) == 0
        alter(out, created=f"2026-10-{number + 1:02}T03:00:00Z", target={"name": "/scratch"}, host={"kernel": kernel})
    return directory


def alter(run: Path, **changes: Any) -> None:
    """Changes a manifest; ``sealed=False``: one without a seal, as older versions wrote it."""

    def change(manifest: dict[str, Any]) -> None:
        if changes.pop("sealed", True) is False:
            del manifest["seal"]
        for key, value in changes.items():
            manifest[key] = {**manifest[key], **value} if isinstance(value, dict) else value

    rewritten(run, change)


def history_of(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = answered(capsys, "history", *words, code=code)["history"]
    return found


def test_a_planted_change_is_found_with_its_day_and_what_the_manifests_say_changed(
    nightly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = history_of(capsys, nightly)
    assert [run["time"][:10] for run in found["runs"]] == [f"2026-10-{day:02}" for day in range(1, 11)]
    assert len(found["series"]) == 4
    for series in found["series"]:
        assert series["verdict"] == "slower"
        (change,) = series["changes"]
        assert change["low"] <= SLOWER_FROM <= change["high"] and change["after"] == change["low"] - 1
        assert change["ratio_low"] <= 0.8 <= change["ratio_high"] < 1 and not change["alone"]
    differences = [(number, one) for number, run in enumerate(found["runs"]) for one in run["differences"]]
    assert differences == [(SLOWER_FROM, {"key": "host.kernel", "base": "5.10", "other": "6.1"})]
    assert main(["history", str(nightly)]) == 0
    said = capsys.readouterr().out
    assert "4 settings over 10 runs: 0 faster, 4 slower at the newest change, 0 with no change shown." in said
    assert "after 2026-10-06 03:00 UTC, by 2026-10-07 03:00 UTC" in said
    assert "Changed then: host.kernel from 5.10 to 6.1." in said


def test_runs_before_the_change_show_none_and_fail_if_asks_for_the_newest(
    nightly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path for path in nightly.glob("run-*") if "5.10" in (path / "manifest.json").read_text())
    found = history_of(capsys, *before, "--fail-if", "changed")
    assert {series["verdict"] for series in found["series"]} == {"no change shown"}
    history_of(capsys, nightly, "--fail-if", "faster")
    history_of(capsys, nightly, "--fail-if", "slower", code=1)
    history_of(capsys, nightly, "--fail-if", "slower", "--threshold", "50%")


def test_a_run_without_a_time_stands_where_it_was_given_and_is_named(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [shutil.copytree(nightly / f"run-{number}", tmp_path / f"{number}") for number in range(4)]
    alter(runs[2], created=None, sealed=False)
    lines = [json.loads(line) | {"started": ""} for line in (runs[2] / "trials.jsonl").read_text().splitlines()]
    (runs[2] / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    order = [Path(run["run"]).name for run in history_of(capsys, *(runs[at] for at in (0, 2, 3, 1)))["runs"]]
    assert order[order.index("0") + 1] == "2"
    main(["history", *map(str, runs)])
    assert f"No time is known of {runs[2]}" in capsys.readouterr().out


def test_an_imported_run_takes_part(nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).parents[1] / "importers" / "recorded" / "fio" / "plus.json"
    assert main(["import", "fio", str(file), "--out", str(tmp_path / "theirs"), "--no-report"]) == 0
    found = history_of(capsys, nightly / "run-0", tmp_path / "theirs")
    assert len(found["runs"]) == 2 and any(len(series["levels"]) == 1 for series in found["series"])
    assert all(series["too_few"] for series in found["series"])


def test_a_run_that_is_named_beside_its_directory_counts_once(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "again").symlink_to(nightly / "run-3")
    found = history_of(capsys, nightly, nightly / "run-3", tmp_path / "again")
    assert len(found["runs"]) == 10
    assert main(["history", str(nightly / "run-3"), str(tmp_path / "again")]) == 2
    assert "there is one run" in capsys.readouterr().err


def test_a_damaged_run_of_a_directory_is_left_out_and_wrong_requests_are_one_line(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        shutil.copytree(nightly / f"run-{number}", tmp_path / f"{number}")
    (tmp_path / "1" / "trials.jsonl").write_text("not JSON\n")
    capsys.readouterr()
    assert main(["history", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert (
        "over 2 runs" in said.out
        and "left out" in said.err
        and "1: trials.jsonl was altered since the run was sealed" in said.err
    )
    alter(tmp_path / "1", sealed=False)
    assert main(["history", str(tmp_path)]) == 0
    assert "line 1 is not JSON" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    for words, why in (([nightly / "run-0"], "there is one run"), ([tmp_path / "empty"], "none is in it")):
        assert main(["history", *map(str, words)]) == 2
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1


def test_the_page_draws_levels_and_the_interval_of_the_date(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "history.html"
    found = history_of(capsys, nightly, "--out", page)
    variants = drawn(page)["history"]["variants"]
    assert len(variants) == len(found["series"])
    figure = variants[0]["figures"][0]
    change = found["series"][0]["changes"][0]
    (band,) = figure["layout"]["shapes"]
    days = [found["runs"][change[key]]["time"][:10] for key in ("after", "high")]
    assert [band["x0"][:10], band["x1"][:10]] == days
    assert figure["traces"][0]["x"].count(None) == 2, "two levels"
    axes = [[one["figures"][0]["layout"][axis] for axis in ("xaxis", "yaxis")] for one in variants]
    assert all(axis == axes[0] for axis in axes), "who changes the setting compares pictures, not numbers beside axes"
    first, last = (found["runs"][end]["time"].replace("T", " ") for end in (0, -1))
    assert axes[0][0]["range"][0] < first < last < axes[0][0]["range"][1]


def test_runs_within_a_minute_are_told_apart_by_their_seconds() -> None:
    times = ("2026-10-06T03:00:00+00:00", "2026-10-06T03:00:07.250000+00:00")
    facts = dict(answer(History(tuple(Dated("run", time) for time in times), (), 0.95)).facts)
    assert (facts["first"], facts["last"]) == ("2026-10-06 03:00 UTC", "2026-10-06 03:00:07 UTC")


def test_runs_of_two_storages_two_kinds_and_two_transfer_sizes_are_never_in_one_series(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [nightly / f"run-{number}" for number in range(10)]
    elsewhere = shutil.copytree(runs[0], tmp_path / "elsewhere")
    alter(elsewhere, run_id="other", target={"name": "/home"})
    other = {
        "small": "[[workload]]\n"
        'op = ["write", "read"]\ntasks = [2, 8]\ntransfer_size = "64KiB"\nblock_size = "32MiB"\n',
        "checkpoint": '[[workload]]\nkind = "checkpoint"\nname = "c"\n'
        'tasks = [2, 8]\ntransfer_size = ["64KiB", "1MiB"]\n'
        'block_size = "4MiB"\n[[workload]]\nkind = "checkpoint"\nname = "d"\ntasks = 2\n',
    }
    for name, workload in other.items():
        file = tmp_path / f"{name}.toml"
        file.write_text(f'target = "sim:knee=8,plateau=2GB/s"\nseed = 3\n[repeat]\ncount = 2\n{workload}')
        assert main(["run", str(file), "--out", str(tmp_path / name), "--no-report"]) == 0
        alter(tmp_path / name, target={"name": "/scratch"})
    found = history_of(capsys, *runs, elsewhere, tmp_path / "small", tmp_path / "checkpoint")
    long = [one for one in found["series"] if len(one["levels"]) > 1]
    assert [(one["storage"], one["kind"], len(one["levels"])) for one in long] == [("/scratch", "stream", 10)] * 4
    assert {one["verdict"] for one in long} == {"slower"}, "the others take nothing from it"
    assert {one["verdict"] for one in found["series"] if one not in long} == {"too few to tell"}
    assert found["apart_by"] == ["storage", "kind", "transfer_size"] or found["apart_by"] == ["storage", "kind"]
    main(["history", *map(str, (*runs, elsewhere, tmp_path / "small"))])
    said = capsys.readouterr().out
    assert "kept apart by storage (/scratch; /home) and transfer_size: 0 faster, 4 slower" in said
    assert "8 too few to tell" in said


def test_a_newest_run_that_no_verdict_is_of_is_named(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [nightly / f"run-{number}" for number in range(10)]
    assert history_of(capsys, *runs)["newest_judged"] is True
    assert capsys.readouterr().err == ""
    elsewhere = shutil.copytree(nightly / "run-0", tmp_path / "elsewhere")
    alter(elsewhere, run_id="other", created="2026-10-20T03:00:00Z", target={"name": "/home"})
    assert main(["history", *map(str, (*runs, elsewhere)), "--json"]) == 0
    out, error = capsys.readouterr()
    assert json.loads(out)["history"]["newest_judged"] is False
    why = f"No verdict is of the newest run, {elsewhere}: each of its settings is in fewer than 6 runs (runs are kept"
    assert error.startswith(f"tonnage: {why} apart by storage") and error.count("\n") == 1
    page = tmp_path / "history.html"
    assert main(["history", *map(str, (*runs, elsewhere)), "--out", str(page)]) == 0
    out, error = capsys.readouterr()
    assert why in out and why in error
    head = page.read_text(encoding="utf-8").replace("\u00a0", " ").partition('class="sentence"')[0]
    assert head.rstrip().endswith('<div class="answer open">\n<p'), "the headline is amber"
    alter(elsewhere, created="2026-10-05T12:00:00Z")
    assert history_of(capsys, *runs, elsewhere)["newest_judged"] is True


def test_two_directories_of_one_file_system_are_one_storage_and_one_path_on_two_hosts_is_two(
    nightly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [shutil.copytree(nightly / f"run-{number}", tmp_path / f"{number}") for number in range(3)]
    for run, name, identity in zip(runs, ("/s/a", "/s/b", "/s/a"), ("nfs:x:/s", "nfs:x:/s", "local:h:1"), strict=True):
        alter(run, target={"name": name, "directories": [{"path": name, "identity": identity}]})
    found = history_of(capsys, *runs)
    storages = {Path(run["run"]).name: run["storage"] for run in found["runs"]}
    assert storages["0"] == storages["1"] != storages["2"]
    assert sorted(len(one["levels"]) for one in found["series"]) == [1] * 4 + [2] * 4


def test_probes_that_chose_their_blocks_are_one_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, plateau in enumerate((1, 8)):
        words = ("--budget", "6s", "--max-tasks", "4", "--seed", "1", "--no-report", "--op", "write")
        run = tmp_path / str(number)
        assert main(["probe", f"sim:knee=4,plateau={plateau}GB/s", "--out", str(run), *words]) == 0
        alter(run, target={"name": "/scratch"})
    found = history_of(capsys, tmp_path)
    assert found["apart_by"] == [] and any(len(one["levels"]) == 2 for one in found["series"])
    assert all("block_size" not in one["group"] for one in found["series"])


def test_models_of_one_name_are_one_storage_that_became_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = ["2GB/s"] * 6 + ["1GB/s"] * 6
    for night, rate in enumerate(rates):
        file = tmp_path / "night.toml"
        file.write_text(
            f'target = "sim:name=scratch,plateau={rate},noise=1%,seed={night + 1}"\n[repeat]\ncount = 2\n'
            '[workload]\nop = "write"\ntasks = 8\nblock_size = "16MiB"\n'
        )
        assert main(["run", str(file), "--out", str(tmp_path / "nights" / f"{night:02}"), "--no-report"]) == 0
    capsys.readouterr()
    assert main(["history", str(tmp_path / "nights"), "--fail-if", "slower"]) == 1
    capsys.readouterr()
    (series,) = history_of(capsys, tmp_path / "nights")["series"]
    assert series["verdict"] == "slower" and series["storage"] == "sim:scratch"
