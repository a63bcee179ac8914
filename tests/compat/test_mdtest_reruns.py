"""What one command line of mdtest leaves, a later one finds as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tonnage.campaign.workspace import accepts_direct
from tonnage.cli.entry import run_command

from .mdtest_calls import Mdtest


def test_data_of_a_creation_that_the_time_ended_are_good_in_a_later_run(mdtest: Mdtest, tmp_path: Path) -> None:
    words = ("--tasks", "2", "-F", "-n", "100000000", "-x", str(tmp_path / "status"), "-G", "5")
    table = tmp_path / "tasks.csv"
    said = mdtest("-C", "-W", "1", "-w", "512", f"--saveRankPerformanceDetails={table}", *words)
    made = int((tmp_path / "status").read_text())
    hit = re.search(r"Continue stonewall hit min: (\d+) max: (\d+) avg: (\d+\.\d) ", said.out)
    tasks = [json.loads(line) for line in (tmp_path / "run-0/tasks.jsonl").read_text().splitlines()]
    walls = [task["stonewall_operations"] for task in tasks if task["phase"] == "create"]
    assert hit and (int(hit[1]), int(hit[2])) == (min(walls), made) and hit[3] == f"{sum(walls) / 2:.1f}"
    assert table.read_text().splitlines()[1].startswith(f"all,{made},")
    later = mdtest("-E", "-X", "-e", "512", "-r", *words)
    assert later.mean["File read"] > 0 and "ERROR" not in later.out


def test_data_are_good_whatever_part_of_the_files_a_later_run_reads(mdtest: Mdtest) -> None:
    words = ("--tasks", "2", "-F", "-G", "5")
    mdtest("-C", "-w", "5000", "-n", "20", *words)
    assert "ERROR" not in mdtest("-E", "-X", "-e", "5000", "-n", "10", *words).out
    assert "ERROR" in mdtest("-E", "-X", "-e", "5000", "-n", "10", *words[:-1], "6", code=1).out
    mdtest("-r", "-n", "20", *words)


def test_files_of_whole_blocks_go_past_the_page_cache_and_others_are_refused(
    mdtest: Mdtest, data: Path, tmp_path: Path
) -> None:
    if accepts_direct(data) is not True:
        pytest.skip("the file system of the tests does not take O_DIRECT")
    words = ("-F", "-n", "20", "--tasks", "2", "--posix.odirect", "-G", "5")
    mdtest("-C", "-E", "-X", "-T", "-r", "-w", "4k", "-e", "4k", *words)
    lines = [json.loads(line) for line in (tmp_path / "run-0/trials.jsonl").read_text().splitlines()]
    assert {line["phase"]: line["direct"] for line in lines if line["phase"] in ("create", "stat", "read")} == {
        "create": True, "stat": False, "read": True,
    }  # fmt: skip
    refused = mdtest("-C", "-w", "3901", *words, code=2).err
    assert "transfers of 3901 bytes are not a multiple of the " in refused and "leave --posix.odirect out" in refused
    assert len(refused.splitlines()) == 1 and not list(data.iterdir())


def test_with_a_time_limit_no_room_is_asked_for(mdtest: Mdtest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tonnage.campaign.free_space._free_on", lambda *_: 1 << 20)
    words = ("-F", "-n", "10000", "-w", "1k", "-C", "-r")
    assert "free; hint" in mdtest(*words, code=2).err
    assert mdtest(*words, "-W", "1").mean["File creation"] > 0


def test_no_room_is_asked_for_a_file_that_is_not_made(mdtest: Mdtest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tonnage.campaign.free_space._free_on", lambda *_: 4 << 20)
    assert mdtest("-F", "-n", "1", "-w", "3m").mean["File creation"] > 0
    refused = mdtest("-F", "-n", "1", "-w", "4100k", code=2)
    assert "the files need 4.01 MiB" in refused.err and refused.out == ""


@pytest.mark.parametrize("given", ["-5", "4294967291"])
def test_a_seed_below_zero_is_the_32_bits_of_an_unsigned_one(mdtest: Mdtest, given: str) -> None:
    mdtest("-C", "-F", "-n", "3", "-w", "4k", "-G", "-5")
    assert mdtest("-E", "-X", "-r", "-F", "-n", "3", "-e", "4k", "-G", given).mean["File read"] > 0


def test_a_tree_of_which_a_file_is_missing_is_removed_by_clean_where_the_user_says_so(
    mdtest: Mdtest, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mdtest("-C", "-F", "-n", "3")
    next(path for path in data.rglob("f.*") if path.is_file()).unlink()
    mdtest("-r", "-F", "-n", "3", code=1)
    assert run_command(["clean", "--yes", str(data)]) == 0
    assert "to remove that too: tonnage clean --kept" in capsys.readouterr().out and list(data.iterdir())
    assert run_command(["clean", "--yes", "--kept", str(data)]) == 0
    assert not list(data.iterdir())
