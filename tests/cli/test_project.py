"""``tonnage project``: sizes that were not measured, on models whose truth is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main

from .json_output import answered, drawn

IOR = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Began: Mon Mar  2 10:00:00 2015
Command line used: ior -a POSIX -t 1m -b 1g -w -F -i 3 -o /gpfs/me/ior
Machine: Linux node17

Test 0 started: Mon Mar  2 10:00:00 2015
Summary:
\tapi                = POSIX
\tclients            = {tasks} (1 per node)
\trepetitions        = 3
\txfersize           = 1 MiB
\tblocksize          = 1 GiB

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
{rows}
Finished: Mon Mar  2 10:01:40 2015
"""


def run_on(directory: Path, name: str, model: str, tasks: list[int], more: str = "", count: int = 4) -> Path:
    file = directory / f"{name}.toml"
    file.write_text(
        f'target = "sim:{model},noise=5%"\nseed = 7\n[repeat]\ncount = {count}\n[[workload]]\nop = "write"\n'
        f'tasks = {tasks}\ntransfer_size = "1MiB"\nblock_size = "32MiB"\n{more}'
    )
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("runs")
    nodes = "tasks_per_node = 4\n"
    return {
        "tasks": run_on(directory, "tasks", "knee=8,plateau=2GB/s", [1, 2, 4, 8, 16, 32]),
        "nodes": run_on(directory, "nodes", "node-plateau=6GB/s,plateau=40GB/s", [4, 16, 64, 128], nodes),
        "rising": run_on(directory, "rising", "knee=64,plateau=2GB/s", [1, 2, 4, 8]),
        "once": run_on(directory, "once", "knee=8,plateau=2GB/s", [1, 2, 4], count=1),
    }


def projection_of(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    found = answered(capsys, "project", *words)
    assert len(found["projections"]) == 1 and not found["refused"]
    one: dict[str, Any] = found["projections"][0]
    return one


def test_beyond_a_plateau_the_interval_has_the_truth_and_widens_with_distance(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    widths = []
    for tasks in (24, 64, 128):
        found = projection_of(capsys, runs["tasks"], "--tasks", tasks)
        assert found["low"] <= 2e9 <= found["high"] and found["along"] == "tasks" and found["nodes"] == 1
        assert found["beyond"] == pytest.approx(tasks / 32)
        widths.append(found["high"] / found["low"])
    assert widths[0] < 1.15 < widths[1] < widths[2]
    assert main(["project", str(runs["tasks"]), "--tasks", "64"]) == 0
    assert "An extrapolation: 2.0 times the most of 6 points up to 32 tasks" in capsys.readouterr().out
    main(["project", str(runs["tasks"]), "--tasks", "24"])
    assert "Within what was measured" in capsys.readouterr().out


def test_what_still_rises_may_go_on_or_stop_and_a_large_step_is_refused(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = projection_of(capsys, runs["rising"], "--tasks", 16)
    level = found["points"][-1]["median"]
    assert found["low"] < 1.6 * level < 1.9 * level < found["high"]
    assert main(["project", str(runs["rising"]), "--tasks", "4096"]) == 2
    error = capsys.readouterr().err
    assert re.search(r"may be anything within a factor of \d+: points beyond 8 tasks would tell", error)
    assert main(["project", str(runs["rising"]), "--tasks", "1000000"]) == 2
    assert "it may be anything: points beyond 8 tasks would tell" in capsys.readouterr().err


def test_more_nodes_follow_the_sweep_over_nodes(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = projection_of(capsys, runs["nodes"], "--nodes", 64)
    assert (found["tasks"], found["along"], found["most_tasks"]) == (256, "nodes", 128)
    assert found["low"] <= 40e9 <= found["high"]


def test_a_stated_link_is_a_ceiling_of_all_nodes_and_figures_are_divided_where_asked(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = projection_of(capsys, runs["nodes"], "--nodes", 64, "--link", "26Gbit/s", "--per", "server=4")
    assert found["ceiling"] is None and found["ceiling_per_s"] == 64 * 26e9 / 8
    found = projection_of(capsys, runs["tasks"], "--tasks", 64, "--link", "17Gbit/s", "--per", "disk=10")
    assert found["ceiling"] == "the nodes' links, as stated" and found["high"] == 17e9 / 8
    disks, link = found["normalised"]
    assert disks["value"] == found["median"] / 10 and disks["unit"] == "B/s per disk"
    assert link["value"] == found["median"] / (17e9 / 8) and link["unit"] == "of the link"


def test_what_the_points_cannot_tell_is_one_line(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    tasks = runs["tasks"]
    for words, why in (
        ([tasks], "nothing is asked for"),
        ([tasks, "--tasks", 64, "--nodes", 4], "too few points lead there: measure 3 numbers of nodes with 16 tasks"),
        ([tasks, "--tasks", 65, "--nodes", 4], "are no whole number on each of 4 nodes"),
        ([tasks, "--nodes", 1], "nodes had several numbers of tasks"),
        ([tasks, "--tasks", 64, "--op", "erase"], "has no erase"),
        ([tasks, "--tasks", 64, "--link", "1Gbit/s"], "already moved more than the links that are stated carry"),
        ([runs["nodes"], "--tasks", 64], "several numbers of nodes"),
        ([runs["once"], "--tasks", 8], "every point was measured once"),
    ):
        capsys.readouterr()
        assert main(["project", *map(str, words)]) == 2
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1
    for option, value, why in (("--link", "1Gb/s", "bits or bytes"), ("--per", "disk=0", "how many of what")):
        with pytest.raises(SystemExit) as ended:
            main(["project", str(tasks), "--tasks", "64", option, value])
        assert ended.value.code == 2 and why in capsys.readouterr().err


def test_an_imported_sweep_says_that_its_nodes_are_unknown_and_refuses_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for tasks in (1, 2, 4, 8):
        rows = ""
        for number, share in enumerate((1.0, 1.04, 0.98)):
            mib_per_s = 100 * min(tasks, 4) * share
            took = f"{1024 * tasks / mib_per_s:.4f}"
            rows += f"write     {mib_per_s:.2f}    1048576    1024.00    0.01    {took}    0.001    {took}   {number}\n"
        files.append(tmp_path / f"{tasks}.txt")
        files[-1].write_text(IOR.format(tasks=tasks, rows=rows))
    out = tmp_path / "theirs"
    assert main(["import", "ior", *map(str, files), "--out", str(out), "--no-report"]) == 0
    found = projection_of(capsys, out, "--tasks", 16)
    assert found["nodes"] is None and found["most_tasks"] == 8
    main(["project", str(out), "--tasks", "16"])
    assert "on as many nodes as were measured, which its records do not tell" in capsys.readouterr().out
    assert main(["project", str(out), "--tasks", "16", "--nodes", "4"]) == 2
    assert "does not say on how many nodes" in capsys.readouterr().err


def test_the_page_draws_band_models_and_where_measuring_ended(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "expected.html"
    found = projection_of(capsys, runs["tasks"], "--tasks", 64, "--out", page)
    figure = drawn(page)["projection"]["variants"][0]["figures"][0]
    traces = {trace.get("name"): trace for trace in figure["traces"]}
    assert {"95 % interval", "expected", "USL", "hinge", "repetition", "asked for"} <= set(traces)
    assert traces["asked for"]["x"] == [64] and figure["layout"]["shapes"][0]["x0"] == 32
    assert len(traces["repetition"]["x"]) == sum(4 for _ in found["points"])


def test_the_ends_of_a_search_s_trials_are_no_decline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 32 tasks with 16 MiB each in flight they are a tenth of a trial."""
    words = ["--op", "write", "--transfer", "16MiB", "--seed", "1", "--no-keep", "--no-report"]
    assert main(["probe", *words, "--out", str(tmp_path / "run"), "sim:knee=4,plateau=2GB/s,noise=1%"]) == 0
    (found,) = answered(capsys, "project", str(tmp_path / "run"), "--tasks", "64")["projections"]
    assert found["low"] < 2e9 < found["high"], found


def test_where_no_law_fits_other_numbers_are_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = "sim:knee=4,dip=40%,dip-from=7,dip-to=25,plateau=2GB/s,noise=1%"
    words = ["--op", "write", "--seed", "1", "--no-keep", "--no-report", "--out", str(tmp_path / "run"), target]
    assert main(["probe", *words]) == 0
    capsys.readouterr()
    assert main(["project", str(tmp_path / "run"), "--tasks", "16"]) != 0
    told = capsys.readouterr().err
    assert "no law of throughput over tasks fits" in told and told.count("\n") == 1
