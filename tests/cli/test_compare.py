"""``tonnage compare``: runs on simulated storages of known speed against each other."""

from __future__ import annotations

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis.compare.runs import Side, compare_sides
from tonnage.cli import main
from tonnage.records import Run
from tonnage.report.answers.compare import figure, table

from tests.records.manifests import rewritten

from .json_output import answered, drawn

PLAIN = "transfer_size = '1MiB'\nblock_size = '32MiB'\n"


def run_on(
    directory: Path, name: str, *, plateau: str = "2GB/s", noise: str = "5%", workload: str = PLAIN, **more: str
) -> Path:
    """A run of eight repetitions."""
    tables = more or {"": 'op = ["write", "read"]\ntasks = [2, 8]\n'}
    text = f'target = "sim:knee=8,plateau={plateau},noise={noise}"\nseed = {len(name) + 3}\n[repeat]\ncount = 8\n'
    for title, keys in tables.items():
        text += f"[[workload]]\n{f'name = {title!r}' if title else ''}\n{keys}{workload}"
    file = directory / f"{name}.toml"
    file.write_text(text)
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


WITHIN = ("--of", "runs")
"""Of the two runs alone, whatever their days add."""


def compared(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> dict[str, Any]:
    found: list[dict[str, Any]] = answered(capsys, "compare", *words, code=code)["comparisons"]
    assert len(found) == 1
    return found[0]


def test_what_is_a_fifth_slower_is_told_so_in_every_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run_on(tmp_path, "before"), run_on(tmp_path, "after", plateau="1.6GB/s")
    found = compared(capsys, before, after, *WITHIN)
    assert [(cell["op"], cell["tasks"], cell["verdict"]) for cell in found["cells"]] == [
        (op, tasks, "slower") for op in ("write", "read") for tasks in (2, 8)
    ]
    assert all(cell["low"] <= 0.8 <= cell["high"] and cell["repetitions"] == 8 for cell in found["cells"])
    assert {cell["verdict"] for cell in compared(capsys, after, before, *WITHIN)["cells"]} == {"faster"}
    assert main(["compare", str(before), str(after), *WITHIN]) == 0
    said = capsys.readouterr().out
    assert "4 equal settings: 0 faster, 4 slower, 0 with no change shown; of these two runs alone" in said


def test_one_run_a_side_has_a_ratio_and_no_verdict_and_says_how_many_runs_would_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = run_on(tmp_path, "before"), run_on(tmp_path, "after", plateau="1.6GB/s")
    within, found = compared(capsys, before, after, *WITHIN), compared(capsys, before, after)
    assert (found["of"], within["of"]) == ("system", "runs")
    for cell, judged in zip(found["cells"], within["cells"], strict=True):
        assert (cell["ratio"], cell["low"], cell["high"]) == (judged["ratio"], judged["low"], judged["high"])
        assert cell["verdict"] == "too few to tell" and cell["holds_for"] == "runs" == judged["holds_for"]
        assert cell["runs_to_decide"] >= 3 and cell["repetitions_to_decide"] is None
    assert main(["compare", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    assert "4 equal settings: too few to tell; a verdict about the system takes 3 runs a side" in said
    assert "hold within these two runs only" in said and "interval within these runs" in said
    assert "If runs lie 5 % apart from day to day" in said
    assert main(["compare", str(before), str(after), "--fail-if", "slower"]) == 2
    out, error = capsys.readouterr()
    assert out == "" and "takes 3 runs a side; hint" in error and error.count("\n") == 1


def several(directory: Path, name: str, plateaus: list[float]) -> Path:
    """A directory of runs, one a plateau in GB/s, of three repetitions each."""
    (directory / name).mkdir()
    for number, plateau in enumerate(plateaus):
        run_on(directory / name, f"{number}{name}", plateau=f"{plateau:.4f}GB/s", noise="3%")
    return directory / name


def test_a_directory_of_runs_is_one_side_and_three_a_side_have_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = several(tmp_path, "before", [2.0, 2.04, 1.96]), several(tmp_path, "after", [1.2, 1.23, 1.18])
    found = compared(capsys, before, after, "--fail-if", "faster")
    assert (len(found["base_runs"]), len(found["other_runs"])) == (3, 3)
    for cell in found["cells"]:
        assert (cell["verdict"], cell["base_runs"], cell["runs"], cell["holds_for"]) == ("slower", 3, 3, "system")
        assert cell["low"] <= 0.6 <= cell["high"] and cell["repetitions"] == 24
        assert cell["records"][0].startswith("0after/")
    compared(capsys, before, after, "--fail-if", "slower", code=1)
    main(["compare", str(before), str(after)])
    assert "24 in 3" in capsys.readouterr().out
    one = after / "0after"
    compared(capsys, before, one, code=0)
    for words, why in (
        ([before, one, "--fail-if", "slower"], "takes 3 runs a side"),
        ([before, after, "--of", "runs"], "are of one run a side"),
        ([before, tmp_path / "nowhere"], "nowhere"),
    ):
        capsys.readouterr()
        assert main(["compare", *map(str, words)]) == 2
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1


def test_what_differs_among_the_runs_of_a_side_is_told_with_all_its_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = several(tmp_path, "before", [2.0, 2.0]), several(tmp_path, "after", [2.0, 2.0])
    for number, side in enumerate((before, after)):
        kernel = ("5", "6")[number]
        rewritten(side / f"1{side.name}", lambda manifest, kernel=kernel: manifest["host"].update(kernel=kernel))  # type: ignore[misc]
    kernel = json.loads((before / "0before" / "manifest.json").read_text())["host"]["kernel"]
    differences = compared(capsys, before, after)["differences"]
    assert differences == [{"key": "host.kernel", "base": [kernel, "5"], "other": [kernel, "6"]}]


def test_the_same_storage_shows_no_change_and_how_many_repetitions_would_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(capsys, run_on(tmp_path, "one", noise="20%"), run_on(tmp_path, "other", noise="20%"), *WITHIN)
    assert {cell["verdict"] for cell in found["cells"]} == {"no change shown"}
    assert any((cell["repetitions_to_decide"] or 0) > 8 for cell in found["cells"])
    assert found["differences"] == [], "but for what differs between any two runs"


def test_a_change_that_nobody_acts_on_is_none_and_fail_if_asks_for_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[str | Path] = [
        run_on(tmp_path, "a", noise="0%"),
        run_on(tmp_path, "bb", plateau="1.88GB/s", noise="0%"),
    ]
    runs += WITHIN
    small = compared(capsys, *runs, "--threshold", "10%", "--fail-if", "slower")
    assert {cell["verdict"] for cell in small["cells"]} == {"no change shown"}
    assert all(cell["high"] < 1 and cell["repetitions_to_decide"] is None for cell in small["cells"])
    assert {cell["verdict"] for cell in compared(capsys, *runs, "--fail-if", "faster")["cells"]} == {"slower"}
    compared(capsys, *runs, "--fail-if", "slower", code=1)
    compared(capsys, *runs, "--fail-if", "changed", code=1)


def test_what_is_constant_in_each_run_is_a_difference_and_what_one_varied_keeps_cells_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "transfer_size = '64KiB'\nblock_size = '4MiB'\n"
    base = run_on(tmp_path, "base", workload=small)
    found = compared(capsys, base, run_on(tmp_path, "large"))
    assert len(found["cells"]) == 4
    told = {one["key"]: (one["base"], one["other"]) for one in found["differences"]}
    assert told["workload.transfer_size"] == (64 << 10, 1 << 20)
    assert main(["compare", str(base), str(tmp_path / "large"), *WITHIN]) == 0
    said = capsys.readouterr().out
    assert "4 settings, equal but for transfer_size (64 KiB against 1 MiB), block_size" in said
    assert "equal settings:" not in said
    both = run_on(tmp_path, "both", workload="transfer_size = ['64KiB', '1MiB']\nblock_size = '4MiB'\n")
    found = compared(capsys, base, both)
    assert [cell["group"] for cell in found["cells"]] == ["transfer_size 64KiB"] * 4
    assert len(found["only_other"]) == 4 and "transfer_size 1MiB" in found["only_other"][0]
    assert found["only_base"] == []


def test_workloads_are_paired_by_name_where_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = run_on(tmp_path, "two", first="op = 'write'\ntasks = 2\n", second="op = 'write'\ntasks = 4\n")
    also = run_on(tmp_path, "also", second="op = 'write'\ntasks = 4\n", third="op = 'write'\ntasks = 2\n")
    found = compared(capsys, two, also)
    assert [(cell["group"], cell["tasks"]) for cell in found["cells"]] == [("second", 4)]
    assert (found["only_base"], found["only_other"]) == (["write, first, 2 tasks"], ["write, third, 2 tasks"])
    alone = run_on(tmp_path, "alone", any="op = 'write'\ntasks = 2\n")
    found = compared(capsys, alone, run_on(tmp_path, "named", other="op = 'write'\ntasks = 2\n"))
    assert len(found["cells"]) == 1, "what each calls its only workload does not matter"


def test_runs_without_an_equal_setting_and_wrong_requests_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writes = run_on(tmp_path, "writes", only="op = 'write'\ntasks = 2\n")
    found = compared(capsys, writes, run_on(tmp_path, "reads", only="op = 'read'\ntasks = 2\n"), code=1)
    assert found["cells"] == [] and len(found["only_base"]) == 1
    for words, said in (
        ([writes], "there is one run, and two are compared"),
        ([writes, tmp_path / "nowhere"], "nowhere"),
        ([writes, writes, "--threshold", "much"], "is not a share"),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) if "--threshold" in words else nullcontext():
            assert main(["compare", *map(str, words)]) == 2
        told = capsys.readouterr().err
        assert said in told and told.count("\n") == 1


def test_a_page_holds_the_forest_and_replaces_only_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [run_on(tmp_path, "before"), run_on(tmp_path, "after", plateau="1.6GB/s")]
    page, notes = tmp_path / "compared.html", tmp_path / "notes.html"
    found = compared(capsys, *runs, *WITHIN, "--out", page)
    assert "4 equal settings: 0 faster, 4 slower" in page.read_text().replace("\u00a0", " ")
    figure = drawn(page)["between"]["variants"][0]["figures"][0]
    trace = figure["traces"][0]
    low, high = figure["layout"]["xaxis"]["range"]
    assert low < math.log10(min(cell["low"] for cell in found["cells"])) < 0 < high, "1 is on it, and all intervals"
    assert trace["x"] == [cell["ratio"] for cell in found["cells"]]
    assert trace["error_x"]["array"] == [cell["high"] - cell["ratio"] for cell in found["cells"]]
    compared(capsys, *runs, "--out", page)
    notes.write_text("mine")
    capsys.readouterr()
    assert main(["compare", *map(str, runs), "--out", str(notes)]) == 2
    assert "is not a report of Tonnage" in capsys.readouterr().err and notes.read_text() == "mine"


def test_a_mark_of_the_forest_says_what_both_sides_measured_and_in_which_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = run_on(tmp_path, "a"), run_on(tmp_path, "bb")
    cell = compared(capsys, *runs)["cells"][0]
    assert len(cell["records"]) == len(cell["base_records"]) == 8
    assert {line["phase"] for line in Run.open(runs[1]).trials() if line["record"] in cell["records"]} == {cell["op"]}
    (trace,) = figure(compare_sides(*(Side.of(Run.open(run)) for run in runs))).traces
    assert trace["text"][0].startswith(f"{cell['ratio']:.2f} times the base's throughput, interval ")
    first = ", ".join(cell["base_records"][:5])
    assert re.search(rf"<br>base [\d.]+ [GM]B/s, record {first} and 3 more<br>other ", trace["text"][0])


def test_what_would_decide_is_also_told_as_more_than_there_is(tmp_path: Path) -> None:
    one, other = (Run.open(run_on(tmp_path, name, noise="20%")) for name in ("one", "other"))
    found = compare_sides(Side.of(one), Side.of(other), of="runs")
    rows = table(found).rows
    for cell, row in zip(found.cells, rows, strict=True):
        many = cell.repetitions_to_decide
        assert row[-1] == ("" if many is None else f"{many} each, {many - 8} more")
    assert any(row[-1] for row in rows)
    (trace,) = (drawn := figure(found)).traces
    assert trace["marker"]["symbol"] == ["circle"] * 4
    assert [note["text"].split(" ", 1)[1] for note in drawn.layout["annotations"]] == ["no change shown"] * 4
    assert {row[-2] for row in table(compare_sides(Side.of(one), Side.of(other))).rows} == {"too few to tell"}


def test_what_would_decide_is_more_than_there_is_where_that_did_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One side varies and the other does not: three runs of each show less than three of equal deviations would.
    base = several(tmp_path, "base", [2.0, 2.0, 2.0])
    other = several(tmp_path, "other", [2.0 * math.exp(-0.2 + step) for step in (-0.05, 0.0, 0.05)])
    found = compared(capsys, base, other)
    assert {cell["verdict"] for cell in found["cells"]} == {"no change shown"}
    assert {cell["runs_to_decide"] for cell in found["cells"]} == {4}
    assert main(["compare", str(base), str(other)]) == 0
    assert "4 runs, 1 more" in capsys.readouterr().out


def test_the_headline_names_two_storages_and_unlike_runs_of_a_side_are_kept_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = several(tmp_path, "before", [2.0] * 3), several(tmp_path, "after", [1.2] * 3)
    assert main(["compare", str(before), str(after)]) == 0
    one, other = (f"sim:knee=8,plateau={plateau:.4f}GB/s,noise=3%" for plateau in (2.0, 1.2))
    assert f"all verdicts together hold at 95 %; of two storages, {one} against {other}." in capsys.readouterr().out
    run_on(before, "small", plateau="2.0000GB/s", noise="3%", workload="transfer_size = '64KiB'\nblock_size = '4MiB'\n")
    found = compared(capsys, before, after)
    assert found["mixed"] == ["block_size", "transfer_size"]
    assert {cell["base_runs"] for cell in found["cells"]} == {3}, "64 KiB is no fourth day of 1 MiB"
    assert len(found["only_base"]) == 4 and all("64KiB" in name for name in found["only_base"])


FILES = 'kind = "files"\ntasks = [2]\nitems = 50\n'


def test_runs_of_unlike_kinds_are_told_so_and_never_called_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = run_on(tmp_path, "stream")
    files = run_on(tmp_path, "files", workload="", only=FILES)
    both = run_on(tmp_path, "both", workload="", small=FILES, large=f'op = ["write", "read"]\ntasks = [2, 8]\n{PLAIN}')
    found = compared(capsys, stream, files, code=1)
    assert (found["base_kinds"], found["other_kinds"], found["cells"]) == (["stream"], ["files"], [])
    assert main(["compare", str(stream), str(files)]) == 1
    said = capsys.readouterr().out
    assert "Nothing else is different" not in said
    assert "no setting in common, stream against files: there is nothing to compare" in said
    found = compared(capsys, stream, both)
    assert len(found["cells"]) == 4 and (found["base_kinds"], found["other_kinds"]) == (["stream"], ["files", "stream"])
    assert main(["compare", str(stream), str(both)]) == 0
    said = capsys.readouterr().out
    assert "The kinds of workload are unlike: stream in the base, files and stream in the other." in said
    assert "Nothing else is different" not in said


@pytest.mark.parametrize("verdict", ["slower", "changed"])
def test_fail_if_refuses_unlike_workloads_and_passes_none_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: str
) -> None:
    base = run_on(tmp_path, "base")
    small = run_on(tmp_path, "small", workload="transfer_size = '64KiB'\nblock_size = '32MiB'\n")
    files = run_on(tmp_path, "files", workload="", only=FILES)
    reads = run_on(tmp_path, "reads", only="op = 'read'\ntasks = 4\n")
    for other, why in (
        (small, "are unlike workloads: transfer_size (1 MiB against 64 KiB); hint"),
        (files, "the kinds of workload are unlike: stream in the base, files in the other; hint"),
        (reads, "has no setting in common; hint"),
    ):
        capsys.readouterr()
        assert main(["compare", str(base), str(other), *WITHIN, "--fail-if", verdict]) == 2
        out, error = capsys.readouterr()
        assert out == "" and why in error and error.count("\n") == 1


def test_fail_if_judges_two_searches_whatever_block_each_chose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for name, plateau in (("fast", 8), ("slow", 1)):
        target = f"sim:knee=4,plateau={plateau}GB/s,noise=3%"
        more = ("--budget", "10s", "--max-tasks", "8", "--seed", "1", "--no-report", "--no-keep")
        assert main(["probe", target, "--out", str(tmp_path / name), *more]) == 0
        runs.append(str(tmp_path / name))
    found = compared(capsys, *runs, *WITHIN, "--fail-if", "slower", code=1)
    assert "workload.block_size" in {one["key"] for one in found["differences"]}


def test_searches_whose_trials_have_another_length_are_compared_without_the_ends_of_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A budget for two operations makes trials half as long, of which the ends are twice as much."""
    for seed in ("1", "2", "3"):
        for side, words in (("one", ["--op", "write"]), ("two", [])):
            target = "sim:knee=4,plateau=200MB/s,noise=1%,name=S"
            out = ["--seed", seed + side[:1].replace("o", "1").replace("t", "2"), "--out", str(tmp_path / side / seed)]
            assert main(["probe", *words, *out, "--no-report", "--no-keep", target]) == 0
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two"), "--fail-if", "slower"]) == 0
    assert "0 faster, 0 slower" in capsys.readouterr().out
