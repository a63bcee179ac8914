"""What is printed has the shape of what the real IOR printed: line by line, column by column."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from tonnage.compat.front_end import Voice
from tonnage.compat.ior.command import run
from tonnage.compat.ior.number_format import cell, deviation, human
from tonnage.errors import RequestError

from .ior_peer import recorded, shapes


def said(home: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``tonnage ior``, with its run in ``home``."""
    out, err = io.StringIO(), io.StringIO()
    code = run([*words, "-O", f"tonnageOut={home / 'run'}"], Voice(out, err))
    return code, out.getvalue(), err.getvalue()


def test_a_test_of_dummy_prints_the_lines_and_columns_of_ior(tmp_path: Path) -> None:
    theirs = recorded("dummy")
    code, out, _ = said(tmp_path, *theirs.words, "-N", str(theirs.tasks))
    ours = out.splitlines()
    assert code == 0
    assert shapes(ours) == shapes(theirs.lines)


def test_the_lines_that_old_scripts_look_for_are_always_there(tmp_path: Path) -> None:
    _, out, _ = said(tmp_path, "-a", "DUMMY")
    lines = [line for line in out.splitlines() if "Max" in line]
    assert [line[:11] for line in lines[:2]] == ["Max Write: ", "Max Read:  "]
    assert all("MiB/sec (" in line and line.endswith(" MB/sec)") for line in lines[:2])


@pytest.mark.parametrize("verbosity", ["", "-v", "-vv", "-vvv", "-vvvv", "-vvvvv"])
def test_json_is_valid_at_every_verbosity(tmp_path: Path, verbosity: str) -> None:
    words = ["-a", "DUMMY", "-i", "2", "-O", "summaryFormat=JSON", *filter(None, [verbosity])]
    code, out, _ = said(tmp_path, *words)
    theirs = json.loads(_json("summary.json"))
    ours = json.loads(out)
    assert code == 0
    assert list(ours) == [*theirs, "tonnage"]
    assert [*ours["tests"][0]] == [*theirs["tests"][0], "max"]
    for key in ("Parameters", "Options"):
        assert [name for name in ours["tests"][0][key] if name != "verbose"] == [
            name for name in theirs["tests"][0][key] if name != "verbose"
        ]
    assert [[*row] for row in ours["tests"][0]["Results"]] == [[*row] for row in theirs["tests"][0]["Results"]]
    assert [[*row] for row in ours["summary"]] == [[*row] for row in theirs["summary"]]


def _json(name: str) -> str:
    return (Path(__file__).parent / "peer" / f"ior-{name}").read_text()


def test_csv_has_the_head_of_ior_and_a_line_a_row(tmp_path: Path) -> None:
    theirs = recorded("ext4-csv")
    code, out, _ = said(tmp_path, "-a", "DUMMY", "-i", "2", "-N", "2", "-O", "summaryFormat=CSV")
    head, *rows = out.splitlines()
    assert code == 0 and head in theirs.lines
    assert [(row.split(",")[0], row.split(",")[-2:]) for row in rows] == [
        (access, ["2", number]) for number in "01" for access in ("write", "read")
    ]
    assert {row.count(",") for row in rows} == {head.count(",")}


def test_a_summary_file_gets_the_result_and_standard_output_says_so(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    code, out, _ = said(tmp_path, "-a", "DUMMY", "-O", f"summaryFormat=JSON,summaryFile={file}")
    assert (code, out) == (0, f"Writing output to {file}\n")
    assert json.loads(file.read_text())["summary"][0]["operation"] == "write"


def test_a_test_that_is_refused_when_it_begins_says_nothing_of_a_summary_file(tmp_path: Path) -> None:
    file, out = tmp_path / "result.json", io.StringIO()
    with pytest.raises(RequestError, match="the files need"):
        run(["-b", "900t", "-o", str(tmp_path / "f"), "-O", f"summaryFile={file}"], Voice(out, io.StringIO()))
    assert out.getvalue() == "" and not file.exists()


def test_each_task_has_a_line_in_the_details_of_ranks(tmp_path: Path) -> None:
    file = tmp_path / "ranks.csv"
    said(tmp_path, "-a", "DUMMY", "-N", "2", "-O", f"saveRankPerformanceDetailsCSV={file}")
    theirs = _json("rankperf.csv").splitlines()
    ours = file.read_text().splitlines()
    assert ours[0] == theirs[0]
    assert [line.split(",")[:2] for line in ours] == [line.split(",")[:2] for line in theirs]
    assert all(len(line) == len(theirs[1]) or line.startswith(("read", "access")) for line in ours)


def test_a_dry_run_prints_the_head_and_measures_nothing(tmp_path: Path) -> None:
    code, out, _ = said(tmp_path, "-a", "DUMMY", "--dryRun")
    assert code == 0 and "dryRun              : 1" in out and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.000018, "0.000018   "),
        (1.37, "1.37       "),
        (3599.5, "3599.50    "),
        (3600.0, "3600       "),
        (-1, "   -       "),
    ],
)
def test_a_cell_has_decimals_by_its_size(number: float, text: str) -> None:
    assert cell(number) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(1 << 20, "1 MiB"), (262144, "262144 bytes"), (9401600, "8.97 MiB"), (3 << 40, "3 TiB"), (-1, "-")],
)
def test_sizes_are_printed_as_ior_prints_them(size: int, text: str) -> None:
    assert human(size) == text


def test_the_deviation_is_that_of_the_population() -> None:
    # The repetitions of peer/ior-err-corrupt-multirep.txt: 9275.59 and 10739.14.
    assert deviation([9275.59, 10739.14]) == pytest.approx(731.78, abs=0.01)
