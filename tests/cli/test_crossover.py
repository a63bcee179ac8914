"""``tonnage crossover``: the published tiers, and runs on models whose ceilings are known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis import measured_points
from tonnage.analysis.tiers.two_tiers import crossings, tier_of_run
from tonnage.cli import main
from tonnage.records import Run
from tonnage.report.answers import crossover as crossing
from tonnage.report.published import summit_tiers as published_tiers

from tests.records.manifests import rewritten

from .json_output import answered, drawn

GPFS, NVME = "published:summit-gpfs", "published:summit-nvme"
CROSS = 20.0
"""Nodes: 40 GB/s of all ÷ 2 GB/s of one."""


def sweep_on(directory: Path, name: str, model: str, tasks: list[int]) -> Path:
    """A sweep over nodes of 16 tasks each."""
    file = directory / f"{name}.toml"
    file.write_text(
        f'target = "sim:{model},noise=4%"\nseed = {len(name)}\n[repeat]\ncount = 4\n[[workload]]\n'
        f'op = ["write", "read"]\ntasks = {tasks}\ntasks_per_node = 16\n'
        'transfer_size = "1MiB"\nblock_size = "64MiB"\n'
    )
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.fixture(scope="module")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("tiers")
    sweep = [16, 64, 128, 256]
    shared = "node-plateau=6GB/s,plateau=40GB/s"
    return {
        "own": sweep_on(directory, "own", "node-plateau=2GB/s,plateau=none", sweep),
        "shared": sweep_on(directory, "shared", shared, sweep),
        "alone": sweep_on(directory, "alone", shared, [16]),
        "slow": sweep_on(directory, "slow", "node-plateau=1GB/s,plateau=40GB/s", sweep),
    }


def crossings_of(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answered(capsys, "crossover", *words)["crossings"]
    return found


def test_the_published_ceilings_say_531_and_241_in_either_order_and_why_not_a_thousand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for pair in ((GPFS, NVME), (NVME, GPFS)):
        found = crossings_of(capsys, *pair)
        assert [round(one["crossover"]["nodes"]) for one in found] == [531, 241]
        assert {(one["fast"], one["slow"]) for one in found} == {(NVME, GPFS)}
    assert main(["crossover", GPFS, NVME, "--op", "write"]) == 0
    said = capsys.readouterr().out
    assert "Its authors name 1000 to 1100 nodes. The claim stands on nominal figures: 2.50 TB/s for all" in said
    assert "45 % of that" in said and "There is no interval" in said and "reads" not in said


def test_nominal_figures_give_the_nominal_crossover_and_are_called_stated(capsys: pytest.CaptureFixture[str]) -> None:
    nominal = ("--ceiling", "2500GB/s", "--per-node", "2.1GB/s", "--op", "write")
    (found,) = crossings_of(capsys, GPFS, NVME, *nominal)
    assert round(found["crossover"]["nodes"]) == 1190 and found["stated"] == ["fast", "slow"]
    main(["crossover", GPFS, NVME, *nominal])
    assert "The rate of the shared tier was stated, not measured." in capsys.readouterr().out


def test_two_sweeps_cross_where_their_models_do_though_neither_went_so_far(
    tiers: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = crossings_of(capsys, tiers["shared"], tiers["own"], "--nodes", "40")
    assert [one["crossover"]["op"] for one in found] == ["write", "read"]
    for one in found:
        crossover = one["crossover"]
        assert one["fast"] == str(tiers["own"]) and crossover["levelled"] and not one["from_first"]
        assert crossover["low"] <= CROSS <= crossover["high"] and crossover["confidence"] == 0.95
        assert crossover["behind"] == 16 and crossover["ahead"] is None
        assert one["at"]["ahead"] == str(tiers["own"]) and one["at"]["beyond"]


def test_a_shared_tier_seen_from_one_node_leaves_it_open_and_a_stated_ceiling_closes_it(
    tiers: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (tiers["own"], tiers["alone"], "--op", "write", "--shared", tiers["alone"])
    (found,) = crossings_of(capsys, *pair)
    assert not found["crossover"]["levelled"] and found["crossover"]["nodes"] < 4
    main(["crossover", *map(str, pair)])
    said = capsys.readouterr().out
    assert "from more than 2." in said and "with more nodes the shared tier was not measured" in said
    (found,) = crossings_of(capsys, *pair, "--ceiling", "40GB/s")
    assert found["crossover"]["levelled"] and found["crossover"]["nodes"] == pytest.approx(CROSS, rel=0.1)


def test_tiers_are_called_by_their_targets_and_not_by_the_places_of_their_runs(
    tiers: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    main(["crossover", str(tiers["own"]), str(tiers["shared"])])
    said = capsys.readouterr().out
    assert "sim:node-plateau=2GB/s" in said and str(tiers["own"]) not in said
    (found, *_) = crossings_of(capsys, tiers["own"], tiers["shared"])
    assert {found["fast"], found["slow"]} == {str(tiers["own"]), str(tiers["shared"])}


def test_a_node_that_gets_less_out_of_the_shared_tier_even_alone_never_waits_for_a_crossover(
    tiers: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = crossings_of(capsys, tiers["own"], tiers["slow"], "--op", "read", "--shared", tiers["slow"])
    assert found["from_first"]
    main(["crossover", str(tiers["own"]), str(tiers["slow"]), "--shared", str(tiers["slow"])])
    assert "wins from the first node on" in capsys.readouterr().out


def test_what_cannot_be_told_is_one_line(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(__file__).parents[1] / "importers" / "recorded" / "fio" / "plus.json"
    assert main(["import", "fio", str(file), "--out", str(tmp_path / "theirs"), "--no-report"]) == 0
    each = 'op = "write"\ntasks = 2\ntransfer_size = "1MiB"\nblock_size = "4MiB"\n'
    workloads = "".join(f'[[workload]]\nname = "d{device}"\ndevice = {device}\n{each}' for device in (0, 1))
    (tmp_path / "both.toml").write_text(f'target = ["sim:knee=2", "sim:knee=4"]\n{workloads}')
    assert main(["run", str(tmp_path / "both.toml"), "--out", str(tmp_path / "both"), "--no-report"]) == 0
    for words, why in (
        ([tiers["own"], tmp_path / "both"], "has several devices, whose crossover its own report tells"),
        ([tiers["own"], tiers["alone"]], "it cannot be told which of"),
        ([tiers["own"], tiers["own"]], "does not cross itself"),
        ([tiers["own"], "published:summit"], "there is no published tier"),
        ([tiers["own"], tiers["alone"], "--shared", "x"], "is none of"),
        ([tiers["own"], tiers["shared"], "--op", "open-write-close"], "have no open-write-close in common"),
        ([tiers["own"], tmp_path / "theirs"], "does not say on how many nodes"),
    ):
        capsys.readouterr()
        assert main(["crossover", *map(str, words)]) == 2
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1


def test_the_file_system_tells_which_tier_all_share(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, system in (("own", "xfs"), ("alone", "lustre")):
        copy = shutil.copytree(tiers[name], tmp_path / name)
        rewritten(copy, lambda manifest, system=system: manifest["target"].update(file_system=system))  # type: ignore[misc]
    (found,) = crossings_of(capsys, tmp_path / "alone", tmp_path / "own", "--op", "write")
    assert found["slow"] == str(tmp_path / "alone")


def test_the_page_draws_both_lines_and_the_interval(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "crossover.html"
    found, _ = crossings_of(capsys, tiers["own"], tiers["shared"], "--out", page)
    figure, other = (variant["figures"][0] for variant in drawn(page)["crossing"]["variants"])
    for axis in ("xaxis", "yaxis"):
        assert figure["layout"][axis] == other["layout"][axis]
    line, band = figure["layout"]["shapes"]
    crossover = found["crossover"]
    assert (line["x0"], band["x0"], band["x1"]) == (crossover["nodes"], crossover["low"], crossover["high"])
    (cross,) = [trace for trace in figure["traces"] if "error_x" in trace]
    (nodes,), (above,), (below,) = cross["x"], cross["error_x"]["array"], cross["error_x"]["arrayminus"]
    assert (nodes - below, nodes, nodes + above) == pytest.approx(
        (crossover["low"], crossover["nodes"], crossover["high"])
    )
    assert cross["y"] == pytest.approx([40e9], rel=0.1), "the mark lies where the lines meet"
    assert figure["layout"]["xaxis"]["ticktext"][:4] == ["1", "2", "5", "10"]
    targets = [Run.open(tiers[name]).manifest["target"]["name"] for name in ("own", "shared")]
    assert set(targets) <= {trace.get("name", "").replace("<br>", "") for trace in figure["traces"]}


def test_rates_are_told_for_each_of_what_carried_them_and_stay_a_crossover_in_nodes(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (tiers["shared"], tiers["own"], "--op", "write")
    (plain,) = crossings_of(capsys, *pair)
    (found,) = crossings_of(capsys, *pair, "--per", "disk=100,4")
    assert found["crossover"] == plain["crossover"] and plain["per"] is None
    per = found["per"]
    assert (per["fast_of"], per["slow_of"], per["unit"]) == ("4 disks", "100 disks", "B/s per disk")
    assert per["fast"]["median"] == pytest.approx(2e9 / 4, rel=0.05)
    assert per["slow"]["median"] == pytest.approx(40e9 / 100, rel=0.05)
    assert per["ratio"]["low"] <= 1.25 <= per["ratio"]["high"] and per["ratio"]["confidence"] == 0.95
    assert main(["crossover", *map(str, pair), "--per", "disk=100,4", "--out", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().out
    assert "Divided by 4 disks of each node and by 100 disks of all: " in said and "MB/s per disk against" in said
    assert "100 disks" in (tmp_path / "page.html").read_text()
    (link,) = crossings_of(capsys, GPFS, NVME, "--op", "write", "--per", "link=20Tbit/s,25Gbit/s")
    assert link["per"]["unit"] == "of the link" and link["per"]["ratio"]["confidence"] == 0
    assert link["per"]["fast"]["median"] == pytest.approx(link["crossover"]["fast"]["median"] / 3.125e9)


def test_what_cannot_be_divided_is_one_line(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {name: shutil.copytree(tiers[name], tmp_path / name) for name in ("own", "shared")}
    for name, disks in (("own", 4), ("shared", 100)):
        rewritten(named[name], lambda manifest, disks=disks: manifest["campaign"].update(normalise={"disks": disks}))  # type: ignore[misc]
    for words, why in (
        ([GPFS, NVME, "--per", "node=2,3"], "counts nodes already"),
        ([GPFS, NVME, "--per", "disk"], "has no disks: it says nothing of the kind; hint: give one to each tier"),
        ([GPFS, NVME, "--per", "disk=600"], "has 1 for 2 tiers"),
        ([GPFS, NVME, "--per", "link=1G,10G"], "may be bits or bytes"),
        ([named["own"], named["shared"], "--per", "disk"], "does not tell whether 4 disks are of one or of all"),
        ([named["own"], named["shared"], "--per", "server"], "these are unlike things"),
    ):
        capsys.readouterr()
        assert main(["crossover", *map(str, words)]) == 2
        out, error = capsys.readouterr()
        assert out == "" and why in error and error.count("\n") == 1


def test_an_imported_output_that_says_how_many_tasks_a_node_had_has_nodes(
    tiers: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[1] / "importers" / "recorded" / "ior" / "3.0.1.txt").read_text()
    for tasks in (16, 64, 128):
        more = text.replace("32 (16 per node)", f"{tasks} (16 per node)").replace("64 GiB", f"{2 * tasks} GiB")
        (tmp_path / f"{tasks}.txt").write_text(more)
    files = [str(tmp_path / f"{tasks}.txt") for tasks in (16, 64, 128)]
    assert main(["import", "ior", *files, "--out", str(tmp_path / "theirs"), "--no-report"]) == 0
    (found,) = crossings_of(capsys, tmp_path / "theirs", tiers["own"], "--op", "write", "--shared", tmp_path / "theirs")
    assert [at["nodes"] for at in found["slow_curve"]] == [1, 4, 8]
    over = (GPFS, NVME, "--op", "write", "--per", "link=1Gbit/s,1Gbit/s")
    assert main(["crossover", *over]) == 0
    assert "More than its link carries: a node's own, the shared tier." in capsys.readouterr().out


def test_the_picture_of_the_published_tiers_has_what_their_authors_name_and_no_other_has(
    tiers: dict[str, Path],
) -> None:
    found = crossing.answer(crossings(published_tiers.tier(GPFS), published_tiers.tier(NVME)))
    for variant in found.exhibits[0].variants:
        layout = variant.figures[0].layout
        assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"] if shape["type"] == "rect"] == [(1000, 1100)]
        notes = [note["text"].replace("<br>", " ") for note in layout["annotations"]]
        assert "its authors, by nominal figures: 1000 to 1100" in notes
    own = crossing.answer(crossings(*(tier_of_run(Run.open(tiers[name]), name) for name in ("own", "shared"))))
    assert "authors" not in str(own.exhibits)


def test_a_tier_is_the_plateau_of_its_tasks_and_not_the_largest_median(tmp_path: Path) -> None:
    file = tmp_path / "noisy.toml"
    file.write_text(
        'target = "sim:knee=2,plateau=1GB/s,noise=25%"\nseed = 7\n[repeat]\ncount = 2\n[[workload]]\n'
        'op = "write"\ntasks = [2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32]\ntransfer_size = "1MiB"\n'
        'block_size = "16MiB"\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "noisy"), "--no-report"]) == 0
    run = Run.open(tmp_path / "noisy")
    at = tier_of_run(run, "noisy").curves["write"][1]
    largest = max(point.median for point in measured_points(run))
    assert largest > 1.1e9 > at.median and at.low <= 1e9 <= at.high


def test_one_storage_measured_twice_is_said_and_neither_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [sweep_on(tmp_path, name, "plateau=40GB/s,node-plateau=2GB/s", [16, 64]) for name in ("one", "other")]
    (found, *_) = crossings_of(capsys, *runs, "--shared", runs[1], "--nodes", "500")
    assert found["same_storage"] and found["at"]["ahead"] == ""
    assert main(["crossover", *map(str, runs), "--shared", str(runs[1])]) == 0
    said = capsys.readouterr().out
    assert "one storage, measured twice" in said and "neither wins" in said and "wins from the first" not in said
    answer = crossing.answer(crossings(*(tier_of_run(Run.open(run), run.name) for run in runs), shared="other"))
    assert not any(statement.sure for statement in answer.statements)


def level(directory: Path, name: str, plateau: str, jitter: str, count: int = 3) -> Path:
    """One number of tasks on one host, as spread as the jitter makes it."""
    file = directory / f"{name}.toml"
    file.write_text(
        f'target = "sim:knee=4,plateau={plateau},noise={jitter}"\nseed = 3\n[repeat]\ncount = {count}\n'
        '[workload]\nop = "write"\ntasks = 8\nblock_size = "16MiB"\n'
    )
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.mark.parametrize(("count", "said"), [(3, " – "), (1, "no interval")])
def test_no_tier_wins_at_the_first_node_where_the_intervals_do_not_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, said: str
) -> None:
    one, other = (level(tmp_path, name, "2GB/s", noise, count) for name, noise in (("one", "20%"), ("other", "21%")))
    rates = {run: tier_of_run(Run.open(run), run.name).curves["write"][1].median for run in (one, other)}
    slower = min(rates, key=lambda run: rates[run])
    (found,) = crossings_of(capsys, one, other, "--shared", slower)
    assert found["unsure_at_first"] and not found["from_first"]
    assert main(["crossover", str(one), str(other), "--shared", str(slower)]) == 0
    printed = capsys.readouterr().out
    assert "No winner is shown at the first node" in printed and said in printed
    assert "wins from the first node" not in printed and "no winner shown" in " ".join(printed.split())


def sweep(directory: Path, name: str, keys: str, *, count: int = 3, own: bool = False) -> Path:
    """Of 1, 4 and 8 nodes on a tier that all share, or that each has for itself."""
    model = "node-plateau=2GB/s,plateau=none" if own else "node-plateau=6GB/s,plateau=10GB/s"
    file = directory / f"{name}.toml"
    file.write_text(
        f'target = "sim:{model},noise=4%"\nseed = 5\n[repeat]\ncount = {count}\n[[workload]]\nop = "write"\n'
        f'tasks = [16, 64, 128]\ntasks_per_node = 16\nblock_size = "4MiB"\n{keys}\n'
    )
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.mark.parametrize(
    ("keys", "unlike", "said"),
    [
        ("", [], ""),
        (
            'transfer_size = "64KiB"\nsync = "none"',
            [("transfer_size", 2**20, 2**16), ("sync", "fsync", "none")],
            "Equal but for transfer_size (1 MiB against 64 KiB), sync (fsync against none): ",
        ),
        (
            'access = "random"',
            [("access", "sequential", "random")],
            "Equal but for access (sequential against random): ",
        ),
    ],
)
def test_what_else_than_the_tier_is_not_the_same_stands_before_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: str, unlike: list[tuple[str, object, object]], said: str
) -> None:
    own, shared = sweep(tmp_path, "own", "", own=True), sweep(tmp_path, "shared", keys)
    words = (own, shared, "--shared", shared, "--nodes", "8")
    (found,) = crossings_of(capsys, *words)
    assert [(one["key"], one["fast"], one["slow"]) for one in found["unlike"]] == unlike
    page = tmp_path / "page.html"
    assert main(["crossover", *map(str, words), "--out", str(page)]) == 0
    printed = capsys.readouterr().out
    assert f"\nwrite: {said or 'For writes'}" in printed and f"write, 8 nodes: {said or 'ahead is'}" in printed
    assert ('class="answer open"' in page.read_text()) == bool(unlike)
    assert ('class="answer reached"' in page.read_text()) == (not unlike)


def test_a_rate_that_was_asked_for_is_not_what_a_tier_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, asked = sweep(tmp_path, "own", "", own=True), sweep(tmp_path, "asked", 'rate = "2GB/s"')
    for pair in ((own, asked), (asked, own)):
        for more in ((), ("--op", "write")):
            capsys.readouterr()
            assert main(["crossover", *map(str, pair), "--shared", str(asked), *more]) == 2
            assert f"{asked} was asked for a rate of write, which is not what a tier gives" in capsys.readouterr().err
    again = 'op = "write"\ntasks = [16, 64, 128]\ntasks_per_node = 16\nblock_size = "4MiB"\n'
    both = sweep(tmp_path, "both", f'rate = "1GB/s"\nname = "asked"\n[[workload]]\nname = "free"\n{again}')
    (found,) = crossings_of(capsys, own, both, "--shared", both)
    assert found["slow_curve"][-1]["median"] > 5e9


@pytest.mark.parametrize("nodes", ["1", "40"])
def test_single_repetitions_name_no_winner(tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: str) -> None:
    own, shared = sweep(tmp_path, "own", "", own=True), sweep(tmp_path, "shared", "", count=1)
    words = (own, shared, "--shared", shared, "--nodes", nodes)
    (found,) = crossings_of(capsys, *words)
    assert found["measured_once"] == ["slow"] and found["at"]["ahead"] == ""
    page = tmp_path / "page.html"
    assert main(["crossover", *map(str, words), "--out", str(page)]) == 0
    assert "no winner is shown: " in capsys.readouterr().out
    assert 'class="answer reached"' not in page.read_text()
    # A ceiling that is stated needs no repetition, but what is below it does.
    (found,) = crossings_of(capsys, *words, "--ceiling", "10GB/s")
    assert found["at"]["ahead"] == ("" if nodes == "1" else str(own))
