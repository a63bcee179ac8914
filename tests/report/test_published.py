"""Published figures beside ours: units that are what they say, the published table's shape, doubts as footnotes."""

from __future__ import annotations

import dataclasses
import io

import pytest
import report_sample as sample
from rich.console import Console
from tonnage import published
from tonnage.analysis.results import Copies, Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.tiers.crossover import Tiers, Way
from tonnage.errors import RequestError
from tonnage.report import print_summary
from tonnage.report.page import render
from tonnage.report.published.comparisons import Comparison, comparisons
from tonnage.units import OPERATIONS


def point(workload: str, op: str, tasks: int, median: float, **changes: object) -> Point:
    """One point of a workload."""
    latency = {"p50_ns": 10**6, "p99_ns": 2 * 10**6, "max_ns": 10**7, "count": 100_000}
    known = Point(
        op, tasks, None, workload, (median,), ("0000-x",), median, median, median, 0.0, latency, median, None, None,
        None, workload=workload, bandwidth_bytes_per_s=median, elapsed_ns=2 * 10**9,
    )  # fmt: skip
    return dataclasses.replace(known, **changes)  # type: ignore[arg-type]


def beside(name: str, *points: Point, scale: float = 1.0) -> list[Comparison]:
    """The comparisons of a run with these points."""
    return comparisons(_analysis(name, *points, scale=scale))


def _analysis(name: str, *points: Point, scale: float = 1.0) -> Analysis:
    builder = sample.Builder()
    return sample.analysis(builder, (), points=points, published=name, scale=scale)


def cell(comparison: Comparison, row: tuple[str, ...], column: str) -> str:
    """The cell of the row that begins so."""
    (found,) = [cells for cells in comparison.table.rows if cells[: len(row)] == row]
    return found[comparison.table.headings.index(column)]


@pytest.mark.parametrize("name", published.EXPERIMENTS)
def test_every_experiment_has_its_figures_its_doubts_and_its_table(name: str) -> None:
    assert all(published.figures(name).values())
    assert published.doubts(name)
    found = beside(name, point("gzip", "command", 1, 0.5))
    for comparison in found:
        assert {len(row) for row in comparison.table.rows} == {len(comparison.table.columns)}
    assert all(any(doubt in note for note in found[-1].notes) for doubt in published.doubts(name))


def test_sob_printed_mebibytes_and_its_random_reads_are_a_column_of_ours_alone() -> None:
    (table,) = beside(
        "knox-epouta-sob", point("test-1", "write", 3, 5e7), point("test-3-reads", "read", 3, 2e7), scale=0.1
    )
    assert cell(table, ("1", "compute1"), "test 1 write") == "212 s, 50.7 MB/s"
    assert cell(table, ("this run", "3 tasks together"), "test 1 write") == "2.00 s, 50.0 MB/s"
    assert cell(table, ("this run", "3 tasks together"), "test 3 read") == "2.00 s, 20.0 MB/s"
    assert {row[table.table.headings.index("test 3 read")] for row in table.table.rows if row[0] != "this run"} == {"–"}
    assert len(table.table.rows) == 15 + 1
    assert "0.1 times the work" in table.notes[0]


def test_sob_on_the_published_hosts_stands_below_them_and_on_others_at_the_end() -> None:
    (table,) = beside(
        "knox-epouta-sob",
        point("test-4", "read", 3, 2e7, setting={"hosts": ["epouta3", "epouta2", "epouta1"]}),
        point("test-4", "read", 2, 3e7, setting={"hosts": ["compute1", "epouta1"]}),
    )
    assert [row[:2] for row in table.table.rows[6:8]] == [("2", "this run, together"), ("3", "compute1")]
    assert cell(table, ("2", "this run, together"), "test 4 read") == "2.00 s, 20.0 MB/s"
    assert table.table.rows[-1][:2] == ("this run", "compute1+epouta1")


def test_the_fast_feedback_page_printed_kibibytes_over_a_thousand() -> None:
    limits, readers = beside(
        "lcls-ffb",
        point("tail", "tail", 1, 4e8),
        point("tail", "tail", 2, 2e8),
        point("writers", "write", 1, 1e9, setting={"devices": 1}),
        point("writers", "write", 8, 3e9, setting={"devices": 4}),
    )
    really = [cell(readers, (number,), "really") for number in ("0", "1", "8")]
    assert really == ["1.02 GB/s", "819 MB/s", "950 MB/s"]
    assert [cell(readers, ("1",), "this run"), cell(readers, ("8",), "this run")] == ["200 MB/s", "–"]
    assert readers.table.rows[1][-2] == "50 %"
    assert cell(limits, ("one writer, one OST",), "published") == "1 GB/s"
    assert cell(limits, ("one writer, one OST",), "this run") == "1.00 GB/s"
    assert cell(limits, ("8 writers",), "4 devices") == "3.00 GB/s"
    assert cell(limits, ("8 writers",), "1 device") == "–"


def test_summit_timed_one_process_and_we_time_all() -> None:
    ours = point("open-write-close", "open-write-close", 2, 50_000.0, metric=OPERATIONS)
    (table,) = beside("summit-metadata", ours)
    assert cell(table, ("GPFS",), "operations/s") == "52.5 k/s"
    assert cell(table, ("GPFS",), "whose time") == "rank 0 alone"
    assert cell(table, ("this run",), "operations each") == "50,000"
    assert cell(table, ("this run",), "operations/s") == "50.0 k/s"


def test_the_ways_to_the_slow_tier_are_times_of_straight_theirs_and_ours() -> None:
    names = {"straight": (320, 0), "copy": (68, 1112), "mover": (58, 422)}
    ways = tuple(
        Way(by, 16, wrote * 10**6, drained * 10**6, point("staged", "stage", 16, 1e9))
        for by, (wrote, drained) in names.items()
    )
    analysis = dataclasses.replace(_analysis("summit-nvme", ways[0].point), tiers=Tiers(ways, ()))
    (table,) = [found for found in comparisons(analysis) if "until all is on" in found.title]
    assert cell(table, ("published, 2 nodes", "straight to the slow tier"), "until all is on the slow tier") == "52 s"
    assert cell(table, ("published, 2 nodes", "fast tier, with the copy-out"), "against straight") == "4.3"
    assert cell(table, ("this run, 16 tasks", "fast tier, with stage run"), "application writes") == "58.0 ms"
    assert cell(table, ("this run, 16 tasks", "fast tier, with stage run"), "against straight") == "1.5"


def test_jobs_stand_beside_the_jobs_by_how_many_at_once() -> None:
    used = Copies(50, 30 * 10**9, None, None, None)
    (table,) = beside("iobsub", point("copies", "command", 8, 0.5, metric=OPERATIONS, copies=used))
    assert cell(table, ("50 x bwa", "over NFS"), "real") == "3780 s"
    assert cell(table, ("gzip 1 GB", "over NFS"), "user and system") == "44.4 s"
    assert cell(table, ("copies", "this run"), "at once") == "8"
    assert cell(table, ("copies", "this run"), "user and system") == "30.0 s"


def test_placed_jobs_count_as_the_many_that_they_are() -> None:
    (table,) = beside("iobsub", point("copies-placed", "command", 1, 0.01, metric=OPERATIONS))
    assert cell(table, ("copies", "this run, placed"), "at once") == "its load line"
    assert cell(table, ("copies", "this run, placed"), "jobs/s") == "0.500 /s"


def test_a_run_that_names_no_figures_shows_none() -> None:
    analysis, source = sample.whole()
    assert comparisons(analysis) == []
    assert 'id="published"' not in render(analysis, source)


def test_page_and_terminal_print_the_table_and_its_footnotes() -> None:
    analysis = _analysis("lcls-ffb", point("tail", "tail", 1, 4e8, kind="tail"))
    _, source = sample.empty("complete")
    page = render(analysis, source)
    file = io.StringIO()
    print_summary(analysis, Console(file=file, width=60), None)
    for text in (page[page.index('id="published"') :], file.getvalue()):
        assert "write rate while others read" in text
        assert "really" in text
        assert "is one client" in text


def test_unknown_figures_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(RequestError, match="there are no published figures 'x'; hint: give one of knox-epouta, knox-"):
        published.figures("x")
