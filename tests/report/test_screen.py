"""What a search found, on one screen; and tables that go on below where the terminal is narrow."""

from __future__ import annotations

import dataclasses
import io

import pytest
import report_sample as sample
from rich.cells import cell_len
from rich.console import Console
from tonnage.analysis.findings.undoing import Doubt
from tonnage.analysis.results import Finding
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.columns import blocks_of, laid_out
from tonnage.report.figures.figure import Table, text_column
from tonnage.report.search_screen import LINES, print_screen
from tonnage.report.sections import sentences_of

WIDTH = 80
REPORT = "/scratch/me/tonnage-runs/20261121T101500Z-probe-1f2e3d4c/report.html"


def shown(analysis: Analysis, report: str | None = REPORT, below: tuple[str, ...] = ()) -> str:
    file = io.StringIO()
    print_screen(analysis, Console(file=file, width=WIDTH), report, below)
    return file.getvalue()


def height(text: str) -> int:
    """Lines of a terminal of 80 columns."""
    return sum(max(1, -(-cell_len(line) // WIDTH)) for line in text.splitlines())


def found(*codes: str) -> tuple[Finding, ...]:
    return tuple(Finding(code, "write", f"{code} was seen: {'so ' * 60}", "Do so.") for code in codes)


CACHE = Finding("cache-read", "read", "0 % of the bytes came from a device, at 8 tasks", "Drop it.")
MEMORY = Finding("memory-backed", "/dev/shm", "the file system is tmpfs that lives in memory", "Give another.")
MANY = tuple(f"code-{number}" for number in range(40))


def doubted() -> Analysis:
    whole = sample.whole()[0]
    doubts = (Doubt(CACHE, frozenset({("read", "")})), Doubt(MEMORY, None))
    return dataclasses.replace(whole, findings=(CACHE, MEMORY), doubts=doubts)


@pytest.mark.parametrize(
    "analysis",
    [
        sample.whole()[0],
        dataclasses.replace(sample.whole()[0], findings=()),
        dataclasses.replace(sample.whole()[0], findings=found(*MANY[:3])),
        dataclasses.replace(sample.whole()[0], state="interrupted"),
        sample.sweep()[0],
        doubted(),
        sample.empty("failed")[0],
    ],
    ids=["whole", "quiet", "findings", "interrupted", "sizes", "doubted", "empty"],
)
@pytest.mark.parametrize("report", [REPORT, None])
def test_a_screen_is_no_more_than_that(analysis: Analysis, report: str | None) -> None:
    text = shown(analysis, report)
    assert height(text) <= LINES, text
    for line in analysis.load_lines:
        assert line.why in text


def test_what_there_is_no_room_for_is_named_and_the_answer_stays() -> None:
    text = shown(dataclasses.replace(sample.whole()[0], findings=found(*MANY[:8])))
    assert height(text) <= LINES and "\n… and code-4, code-5, code-6, code-7\n" in text
    assert all(line.why in text for line in sample.whole()[0].load_lines)


def test_two_curves_stand_side_by_side_with_the_ends_and_the_load_lines() -> None:
    lines = shown(dataclasses.replace(sample.whole()[0], findings=())).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("tasks"))
    assert lines[head].split() == ["tasks", "write", "interval", "p99", "read", "interval", "p99"]
    tasks = [line.split()[0] for line in lines[head + 1 : lines.index("", head)]]
    assert {"1", "32", "6"} <= set(tasks)  # the ends, and the load line that was measured
    assert all(cell_len(line) <= WIDTH for line in lines[: head + 1 + len(tasks)])


def test_the_row_of_a_latency_objective_stays() -> None:
    whole = sample.whole()[0]
    write, read = whole.load_lines
    for objective, row in ((dataclasses.replace(write.latency_lines[0], largest=16), "16"), (None, "")):
        lines = tuple(filter(None, (objective,)))
        analysis = dataclasses.replace(
            whole, load_lines=(dataclasses.replace(write, latency_lines=lines), read), findings=found(*MANY[:3])
        )
        told = shown(analysis, below=("sealed",) * 3)
        table = [line.split()[0] for line in told.splitlines() if line.strip()[:1].isdigit()]
        assert len(table) < 9 and ("16" in table) == bool(row), table


def test_what_undoes_an_answer_stands_beside_it_and_in_no_list() -> None:
    text = shown(doubted())
    write, _, read = text.partition("\nread: ")
    assert "\n  but memory-backed: the file system is tmpfs" in write and "cache-read" not in write
    assert "\n  but cache-read: 0 % of the bytes came from a device, at 8 tasks\n" in read
    assert "\ncache-read  read" not in text and "the plateau lies between" not in text
    assert "More: tonnage explain cache-read memory-backed; tonnage report -v " in text


def test_the_live_page_s_sentences_are_in_doubt_too() -> None:
    write, read = sentences_of(doubted())
    assert (write.sure, read.sure) == (False, False)
    doubts = "but cache-read: 0 % of the bytes came from a device, at 8 tasks; but memory-backed: the file system is "
    assert read.text.endswith(f"{doubts}tmpfs that lives in memory")
    assert all(told.sure for told in sentences_of(sample.whole()[0]))


def test_figures_without_a_load_line_are_in_doubt_where_they_are() -> None:
    alone = dataclasses.replace(doubted(), load_lines=())
    (told,) = sentences_of(alone)
    assert not told.sure and told.doubts[0].startswith("cache-read: ")
    assert sentences_of(dataclasses.replace(alone, doubts=())) == []


def test_a_wide_table_goes_on_below_and_loses_no_cell() -> None:
    columns = (text_column("what"), *(f"column {number}" for number in range(9)))
    rows = tuple((f"row {row}", *(f"{row}.{column}" for column in range(9))) for row in range(4))
    blocks = blocks_of(Table.of(columns, rows), WIDTH)
    assert len(blocks) == 2
    for block in blocks:
        assert all(cell_len(line) <= WIDTH for line in laid_out(block))
        assert [row[0] for row in block.rows] == [row[0] for row in rows]
    cells = {cell for block in blocks for row in block.rows for cell in row}
    assert cells == {cell for row in rows for cell in row}
    assert blocks_of(Table.of(columns, rows), 200) == [Table.of(columns, rows)]


def test_a_column_that_is_wider_than_the_terminal_is_not_cut() -> None:
    table = Table.of((text_column("what"), "n", text_column("path")), (("a", "1", "x" * 100),))
    assert [block.headings for block in blocks_of(table, WIDTH)] == [("what", "n"), ("what", "path")]
    assert laid_out(blocks_of(table, WIDTH)[1])[1] == f"a     {'x' * 100}"


@pytest.mark.parametrize("rows", range(9))
def test_what_stands_below_is_on_the_same_screen(rows: int) -> None:
    below = ["x" * 70] * rows
    for analysis in (sample.whole()[0], doubted(), dataclasses.replace(sample.whole()[0], findings=found(*MANY[:3]))):
        file = io.StringIO()
        print_screen(analysis, Console(file=file, width=WIDTH), REPORT, below)
        assert height(file.getvalue()) + rows <= LINES, file.getvalue()
        assert all(line.why in file.getvalue() for line in analysis.load_lines)


def test_a_line_below_that_is_wider_than_the_terminal_takes_several() -> None:
    file = io.StringIO()
    print_screen(sample.whole()[0], Console(file=file, width=WIDTH), REPORT, ["x" * 161, "y" * 160])
    assert height(file.getvalue()) <= LINES - 5
