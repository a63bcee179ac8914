"""``tonnage history --per``: a system that grew is faster, and may be slower for each of its disks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.cli import main

from .json_output import drawn
from .test_compare import PLAIN, run_on
from .test_compare_per import ONE, refused
from .test_history import alter, history_of

GROWN_FROM = 5


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten runs, a day apart; from the sixth on with 84 disks in place of 60, and 20 % faster."""
    directory = tmp_path_factory.mktemp("grown")
    for number in range(10):
        plateau, disks, part = ("2GB/s", 60, "old") if number < GROWN_FROM else ("2.4GB/s", 84, "new")
        text = f"{PLAIN}[normalise]\ndisks = {disks}\n"
        (directory / part).mkdir(exist_ok=True)
        # The seed of a run is the length of its name.
        run = run_on(directory / part, "r" * (number + 1), plateau=plateau, noise="2%", workload=text, **{"": ONE})
        alter(run, target={"name": "/scratch"}, created=f"2026-10-{number + 1:02}T03:00:00Z")
    return directory


def test_a_storage_that_grew_is_faster_and_slower_for_each_of_its_disks(
    grown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = grown / "old", grown / "new"
    (whole,) = history_of(capsys, old, new)["series"]
    assert (whole["verdict"], whole["unit"]) == ("faster", "B/s")
    for per in ("disk", "disk=60,84"):
        found = history_of(capsys, old, new, "--per", per)
        (series,) = found["series"]
        (change,) = series["changes"]
        assert (series["verdict"], series["unit"]) == ("slower", "B/s per disk")
        assert change["ratio_low"] <= (2.4 / 84) / (2 / 60) <= change["ratio_high"]
        assert series["levels"][0]["median"] == pytest.approx(2e9 / 60, rel=0.05)
        assert [run["per"] for run in found["runs"]] == ["60 disks"] * GROWN_FROM + ["84 disks"] * GROWN_FROM
        changed = {one["key"]: one["other"] for one in found["runs"][GROWN_FROM]["differences"]}
        assert changed["divided by"] == "84 disks"
    page = tmp_path / "page.html"
    assert main(["history", str(old), str(new), "--per", "disk", "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert "MB/s per disk" in said and "divided by from 60 disks to 84 disks" in said
    assert "per disk" in json.dumps(drawn(page)["history"]["variants"][0]["figures"][0]["layout"])


def test_rates_are_shares_of_the_link_of_each_directory(grown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = history_of(capsys, grown / "old", grown / "new", "--per", "link=100Gbit/s,200Gbit/s")
    (series,) = found["series"]
    assert (series["unit"], series["verdict"]) == ("of the link", "slower")
    assert series["levels"][0]["median"] == pytest.approx(0.16, rel=0.05)


def test_unlike_things_and_missing_ones_are_one_line(grown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = grown / "old", grown / "new"
    assert "has no servers: it says 60 disks, and these are unlike things; hint" in refused(
        capsys, "history", old, new, "--per", "server"
    )
    assert "has 1 for 2 DIRs; hint: give one to each" in refused(capsys, "history", old, new, "--per", "disk=60")
    assert "may be bits or bytes" in refused(capsys, "history", old, new, "--per", "link=1G,10G")


def test_more_than_a_link_carries_is_told(grown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = grown / "old", grown / "new"
    assert main(["history", str(old), str(new), "--per", "link=1Gbit/s,200Gbit/s"]) == 0
    assert "More than the link carries: write, 8 tasks. Something else carried it too" in capsys.readouterr().out
    assert main(["history", str(old), str(new), "--per", "link=100Gbit/s,200Gbit/s"]) == 0
    assert "More than the link" not in capsys.readouterr().out
    runs = [str(old / "r"), str(new / "rrrrrr"), "--per", "link=1Gbit/s,200Gbit/s"]
    assert main(["compare", *runs]) == 0
    assert "More than the link carries: write, 8 tasks." in capsys.readouterr().out
