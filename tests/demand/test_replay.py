"""A campaign that makes the demand of a log again: what it asks, and how far what it did is from the job."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.campaign_file import load_campaign
from tonnage.cli import main
from tonnage.demand.deviation import Deviation, deviations
from tonnage.demand.job_use import BIN_EDGES, BIN_NAMES, Bounds, SizeCount
from tonnage.demand.replay import replay_of
from tonnage.demand.run_use import use_of_run
from tonnage.errors import RequestError
from tonnage.records import Run

from tests.importers.darshan_logs import log, needs_darshan, use

from .test_profile import JOB, PLACE, WRITES

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

MIB = 1 << 20


def tables(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(text)["workload"]
    return found


def of(**changed: Any) -> dict[str, Any]:
    """The one workload of a job whose writes differ so."""
    place = replace(PLACE, writes=replace(WRITES, **changed))
    (found,) = tables(replay_of(JOB, place, target="/x", sweep=False).text)
    return found


def in_ranges(*sizes: SizeCount) -> tuple[int, ...]:
    """How a log counts calls of these sizes."""
    found = [0] * len(BIN_NAMES)
    for one in sizes:
        found[bisect_left(BIN_EDGES, one.size)] += one.count
    return tuple(found)


def test_calls_of_one_size_become_a_stream_of_as_many_bytes() -> None:
    made = of(common=(SizeCount(MIB, 1000, files=4),))
    assert (made["op"], made["tasks"], made["transfer_size"]) == ("write", 4, MIB)
    assert made["block_size"] * made["segments"] * made["tasks"] == 1000 * MIB
    assert (made["layout"], made["access"], made["sync"]) == ("file-per-task", "sequential", "none")


def test_files_of_a_task_one_after_another_are_segments() -> None:
    made = of(common=(SizeCount(MIB, 1000, files=20),), files=20)
    assert (made["layout"], made["segments"], made["block_size"]) == ("file-per-segment", 5, 50 * MIB)


def test_what_is_left_between_the_calls_is_a_pause_and_a_little_is_none() -> None:
    assert of(busy_s=4.0)["think"].endswith("us")
    assert "think" not in of(busy_s=31.5)
    pause_us = int(of(busy_s=4.0)["think"].removesuffix("us"))
    assert pause_us == pytest.approx((8 * 4 - 4) / 996 * 1e6, rel=0.01), "8 s of four ranks, 4 s of it inside calls"


@pytest.mark.parametrize(
    ("order", "access", "word"),
    [
        ("sequential", "sequential", ""),
        ("strided", "strided", "with gaps of its own sizes"),
        ("forward", "strided", "forward, with gaps of several sizes"),
        ("backward", "random", "towards the files' beginnings"),
        ("again", "random", "at the same places again"),
        ("random", "random", ""),
        ("not known", "sequential", "is not known: here they are sequential"),
    ],
)
def test_calls_go_as_the_job_s_did_and_where_a_campaign_cannot_it_says_so(order: Any, access: str, word: str) -> None:
    assert of(order=order)["access"] == access
    told = replay_of(JOB, replace(PLACE, writes=replace(WRITES, order=order)), target="/x", sweep=False).left_out
    assert bool(word) == any("its writes" in line for line in told) and word in " ".join(told)


def test_reads_in_another_order_than_the_writes_are_no_mix_of_one_order() -> None:
    reads = replace(WRITES, operation="read")
    both = replace(PLACE, reads=reads, files=4, only_written=0)
    assert [one["op"] for one in tables(replay_of(JOB, both, target="/x", sweep=False).text)] == ["mixed"]
    apart = replace(both, reads=replace(reads, order="random"))
    assert {one["access"] for one in tables(replay_of(JOB, apart, target="/x", sweep=False).text)} == {
        "sequential",
        "random",
    }


def test_a_campaign_of_a_damaged_log_says_so_at_its_top() -> None:
    job = replace(JOB, problems=("module POSIX is partial: its table was full",))
    made = replay_of(job, PLACE, target="/x", sweep=False)
    assert "# Module POSIX is partial: its table was full.\n" in made.text.partition("name =")[0]
    assert "module POSIX is partial: its table was full" in made.left_out


def test_what_is_not_in_a_campaign_is_not_said_of_it() -> None:
    told = " ".join(
        replay_of(JOB, replace(PLACE, writes=replace(WRITES, busy_s=31.9)), target="/x", sweep=False).left_out
    )
    assert "pauses" not in told and "reads" not in told


def test_a_campaign_that_moves_other_bytes_than_the_job_says_so() -> None:
    """Six calls of four ranks: each task of a campaign makes two."""
    sizes = (SizeCount(MIB, 6, files=4),)
    few = replace(WRITES, bytes=6 * MIB, operations=6, bins=in_ranges(*sizes), common=sizes)
    told = replay_of(JOB, replace(PLACE, writes=few), target="/x", sweep=False).left_out
    said = "it writes 8.39 MB in 8 calls, where the job wrote 6.29 MB in 6: "
    assert any(one.startswith(said) for one in told), told


def test_calls_that_are_fewer_than_the_ranks_are_made_by_as_many_tasks() -> None:
    """A library's header: one call beside 79 of four ranks."""
    sizes = (SizeCount(MIB, 79, files=1), SizeCount(544, 1, files=1))
    head = replace(WRITES, bytes=79 * MIB + 544, operations=80, bins=in_ranges(*sizes), common=sizes)
    made = replay_of(JOB, replace(PLACE, writes=head), target="/x", sweep=False)
    stream, small = tables(made.text)
    assert (stream["tasks"], small["tasks"], small["block_size"]) == (4, 1, 544)
    assert not any(one.startswith("it writes") for one in made.left_out)


def test_a_campaign_that_makes_more_calls_than_the_job_says_so() -> None:
    """Of most calls the log has no size, and they moved nothing."""
    sizes = (SizeCount(MIB, 8, files=4),)
    empty = replace(WRITES, bytes=8 * MIB, operations=12, bins=in_ranges(*sizes), common=sizes)
    told = replay_of(JOB, replace(PLACE, writes=empty), target="/x", sweep=False).left_out
    assert any(one.startswith("it writes 8.39 MB in 8 calls, where the job wrote 8.39 MB in 12: ") for one in told)
    assert not any("where the job" in one for one in replay_of(JOB, PLACE, target="/x", sweep=False).left_out)


def test_two_sizes_become_two_steps_and_the_rest_has_its_mean() -> None:
    sizes, others = (SizeCount(MIB, 600, files=4), SizeCount(4096, 300, files=4)), SizeCount(4 * MIB, 100)
    place = replace(PLACE, writes=replace(WRITES, common=sizes, bins=in_ranges(*sizes, others)))
    made = tables(replay_of(JOB, place, target="/x", sweep=False).text)
    assert [one["transfer_size"] for one in made[:2]] == [MIB, 4096]
    rest = 1000 * MIB - 600 * MIB - 300 * 4096
    assert made[2]["transfer_size"] == pytest.approx(rest / 100, rel=0.001)


def test_few_large_calls_among_many_small_ones_are_a_step_of_their_own() -> None:
    """What MACSio wrote: 97 % of its bytes in four calls, of which the log has no size that is surely of writes."""
    bins = (3, 7793, 15, 1, 0, 0, 0, 4, 0, 0)
    wrote = replace(
        WRITES, bytes=54_737_540, operations=7816, bins=bins, common=(SizeCount(192, 7688),), ranks=Bounds(1, 16)
    )
    assert wrote.transfer_size == pytest.approx(13_275_000, rel=0.01), "two sizes, of 13266432 and 13284480 bytes"
    place = replace(PLACE, writes=wrote, files=3, shared=3)
    large = next(one for one in tables(replay_of(JOB, place, target="/x", sweep=False).text) if one["tasks"] == 4)
    assert (large["transfer_size"], large["block_size"], large["segments"]) == (
        wrote.transfer_size,
        wrote.transfer_size,
        1,
    )
    # Calls of stdio are in no range: then nothing shows that most bytes went in large calls.
    assert replace(wrote, bins=(0,) * 10).transfer_size == 54_737_540 // 7816


def test_a_sweep_goes_from_one_task_to_twice_the_job_s() -> None:
    text = replay_of(JOB, PLACE, target="/x", sweep=True).text
    assert tables(text)[0]["tasks"] == [1, 2, 4, 8]


def test_nothing_that_moved_is_nothing_to_do_again() -> None:
    with pytest.raises(RequestError, match="moved no bytes"):
        replay_of(JOB, replace(PLACE, writes=None), target="/x", sweep=False)


def test_a_name_of_any_signs_makes_a_file_that_can_be_read() -> None:
    job = replace(JOB, program='a"b\n\\\x7fé')
    text = replay_of(job, PLACE, target='/x "\\\x01', sweep=False).text
    assert tomllib.loads(text)["target"] == '/x "\\\x01'
    assert tomllib.loads(text)["name"] == 'replay-a"b\n\\\x7fé'


@needs_darshan
@pytest.mark.parametrize("name", ["own", "shared", "bursts", "turns"])
def test_each_recorded_job_gives_a_campaign_that_is_accepted(name: str, tmp_path: Path) -> None:
    (place,) = use(name).file_systems
    for sweep in (False, True):
        made = replay_of(use(name), place, target=str(tmp_path), sweep=sweep)
        (tmp_path / "job.toml").write_text(made.text)
        load_campaign(tmp_path / "job.toml")


@needs_darshan
def test_the_replay_of_a_job_moves_its_bytes_in_its_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way: log, campaign, run, and the deviation of every counter."""
    target, campaign, run = tmp_path / "data", tmp_path / "job.toml", tmp_path / "run"
    target.mkdir()
    asked = ["demand", str(log("own")), "--path", str(tmp_path)]
    assert main([*asked, "--campaign", str(campaign), "--target", str(target)]) == 0
    assert main(["run", str(campaign), "--out", str(run), "--no-report"]) == 0
    capsys.readouterr()
    assert main([*asked, "--replayed", str(run), "--json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert "no replay by Tonnage" not in said.err
    counters = {one["counter"]: (one["job"]["low"], one["replay"]) for one in told["replayed"]}
    assert counters["write: bytes"] == (10 * MIB, 10 * MIB)
    assert counters["write: calls"] == (40, 40)
    assert counters["write: calls of 100K–1M bytes"] == (40, 40)
    assert counters["read: bytes"] == (10 * MIB, 10 * MIB)
    assert counters["read: calls"] == (164, 160), "four reads at the end of a file moved nothing"
    assert counters["syncs"] == (4, 4) and counters["write: files"] == (4, 4)
    found = deviations(use("own").file_systems[0], use_of_run(Run.open(run)))
    apart = {one.counter: one.apart for one in found}
    assert apart["write: sequential"] == 0.0, "all in order is within the bounds of 36 to 40 of 40"
    assert apart["read: calls"] == pytest.approx(160 / 164 - 1)
    assert "may be missing" not in said.err
    # Of a run that was interrupted, what is missing is no deviation of the campaign.
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "state": "interrupted"}))
    assert main([*asked, "--replayed", str(run), "--json"]) == 0
    assert f"note: of the replay: trials of {run} may be missing: its state is interrupted" in capsys.readouterr().err


@needs_darshan
def test_a_log_of_another_program_is_no_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demand", str(log("own")), "--replayed", str(log("shared"))]) == 0
    assert (
        "is of known_io, and no replay by Tonnage: these are deviations between two programs" in capsys.readouterr().err
    )


def test_a_deviation_is_how_far_a_figure_is_outside_of_the_bounds() -> None:
    assert Deviation("calls", "", Bounds(10, 20), 15).apart == 0
    assert Deviation("calls", "", Bounds(10, 20), 30).apart == 0.5
    assert Deviation("calls", "", Bounds(10, 20), 5).apart == -0.5
    assert Deviation("calls", "", Bounds(0, 0), 5).apart is None
    assert Deviation("sequential", "share", Bounds(0.5, 0.5), None).apart is None, "of random calls any number may be"
    assert Deviation("sequential", "share", Bounds(0.5, 0.5), 0.25).apart == -0.25


@needs_darshan
def test_an_existing_file_of_another_kind_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("precious = true\n")
    assert main(["demand", str(log("own")), "--campaign", str(mine)]) == 2
    assert mine.read_text() == "precious = true\n"


@pytest.mark.parametrize("words", [["--sweep"], ["--target", "/x"]])
def test_options_of_a_campaign_want_one(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demand", str(log("own")), *words]) == 2
    assert "--campaign" in capsys.readouterr().err


@needs_darshan
def test_opens_that_the_job_did_not_make_are_told() -> None:
    """A run of the replay opens a shared file for its writes, for its reads, and to look at the page cache."""
    (place,) = use("shared").file_systems
    made = replay_of(use("shared"), place, target="/x", sweep=False)
    anew = (
        "each step has files of its own and opens them anew, and reads open them once more, to see what the page cache "
    )
    had = f"has of them; the job had {place.files} file and opened files {place.metadata.opens} times in all"
    assert anew + had in made.left_out
