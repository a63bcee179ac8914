"""Sweeps over transfer sizes: the roofs are those that were measured, and the map has every cell once."""

from __future__ import annotations

import pytest
import sizes_sample as sample
from tonnage import units
from tonnage.analysis.transfer_sizes import ridge_bytes, roofs_of, sweeps_of
from tonnage.report.sections import sizes


def test_a_sweep_finds_the_roofs_of_the_model_and_where_they_meet() -> None:
    (sweep,) = sweeps_of(sample.points())
    flat, slope = roofs_of(sweep, ())
    assert (flat.bytes_per_s, flat.operations_per_s) == (sample.BYTES_PER_S, None)
    assert (slope.bytes_per_s, slope.operations_per_s) == (None, sample.OPERATIONS_PER_S)
    assert ridge_bytes([flat, slope]) == sample.BYTES_PER_S / sample.OPERATIONS_PER_S
    for point in sweep.points:
        assert point.median <= 1.0001 * min(roof.at(point.transfer_size or 0) for roof in (flat, slope))


def test_what_follows_from_the_size_makes_no_sweep_of_its_own_and_what_was_swept_too_does() -> None:
    follows = [point for size in sample.SIZES for point in sample.points((size,), block_size=1000 * size)]
    (sweep,) = sweeps_of(follows)
    assert (sweep.group, len(sweep.points)) == ("", len(sample.SIZES) * len(sample.TASKS))
    swept = [*sample.points(osts=1), *sample.points(osts=8)]
    assert [(sweep.group, len(sweep.points)) for sweep in sweeps_of(swept)] == [("osts 1", 20), ("osts 8", 20)]


def test_one_transfer_size_is_no_section() -> None:
    analysis, _ = sample.whole(sample.points(sizes=(4096,)), (sample.LINK,))
    assert sizes.exhibits(analysis) == []


def test_the_roofline_bends_where_the_roofs_meet_and_says_what_bounds_which_sizes() -> None:
    (sweep,) = sweeps_of(sample.points())
    figure = sizes.roofline(sweep, ())
    (roof,) = [trace for trace in figure.traces if trace["name"].startswith("most bytes")]
    ends = [sample.SIZES[0] * sample.OPERATIONS_PER_S, sample.BYTES_PER_S, sample.BYTES_PER_S]
    assert roof["x"] == [sample.SIZES[0], 100_000, sample.SIZES[-1]]
    assert roof["y"] == pytest.approx(ends)
    assert "They meet at 100 kB: operations bound smaller transfers, bytes larger ones." in figure.caption
    assert [row[0] for row in figure.table.rows] == [units.size(size) for size in sample.SIZES]
    assert {row[-1] for row in figure.table.rows} == {"100 %"}


@pytest.mark.parametrize(("held", "kept"), [("Operations", sample.SIZES[:3]), ("Bytes", sample.SIZES[3:])])
def test_sizes_on_one_side_of_the_bend_are_said_to_have_one_roof(held: str, kept: tuple[int, ...]) -> None:
    (sweep,) = sweeps_of(sample.points(kept))
    assert f"{held} are the nearer roof at every size." in sizes.roofline(sweep, ()).caption


def test_a_ceiling_of_one_size_is_drawn_at_that_size_alone_and_a_link_at_all() -> None:
    (sweep,) = sweeps_of(sample.points())
    figure = sizes.roofline(sweep, (sample.LINK, sample.MEMORY, sample.FAR))
    drawn = {trace["name"]: trace for trace in figure.traces}
    assert drawn["link 1.25 GB/s"]["x"] == [sample.SIZES[0], sample.SIZES[-1]]
    memory = drawn["memory copy 4.10 GB/s at 4 KiB"]
    assert (memory["x"], memory["y"], memory["mode"]) == ([4096], [sample.MEMORY["bytes_per_s"]], "markers")
    assert not [name for name in drawn if name.startswith("null storage")]
    assert "Off the scale: null storage 1.05 TB/s at 1 MiB." in figure.caption


def test_an_interval_that_reaches_zero_stays_on_the_logarithmic_axis() -> None:
    from dataclasses import replace

    found = [replace(point, low=-1.0) for point in sample.points()]
    (sweep,) = sweeps_of(found)
    (best,) = [trace for trace in sizes.roofline(sweep, ()).traces if "error_y" in trace]
    assert all(down < y for down, y in zip(best["error_y"]["arrayminus"], best["y"], strict=True))


def test_the_map_has_every_cell_once_and_a_gap_where_nothing_was_measured() -> None:
    found = [point for point in sample.points() if (point.transfer_size, point.tasks) != (4096, 8)]
    (sweep,) = sweeps_of(found)
    figure = sizes.size_map(sweep, sample.lines())
    assert figure is not None
    (trace,) = figure.traces
    assert (trace["x"], trace["y"][:2]) == (["1", "2", "4", "8"], ["4 KiB", "16 KiB"])
    assert [(row, column) for row, line in enumerate(trace["z"]) for column, z in enumerate(line) if z is None] == [
        (0, 3)
    ]
    assert "1 cell was not measured" in figure.caption
    assert len(figure.table.rows) == len(found)
    told = trace["hovertext"][4][2]
    for part in (
        "1 MiB, 4 tasks",
        "median 1.00 GB/s",
        "interval 970 MB/s – 1.02 GB/s",
        "3 repetitions",
        "record 14240-write",
    ):
        assert part in told


def test_a_frame_marks_the_load_line_of_each_size_that_has_one() -> None:
    (sweep,) = sweeps_of(sample.points())
    figure = sizes.size_map(sweep, sample.lines())
    assert figure is not None
    frames = [(shape["x0"] + 0.5, shape["y0"] + 0.5) for shape in figure.layout["shapes"]]
    assert frames == [(2, row) for row in range(1, len(sample.SIZES))]
    lines = {row[0]: row[-1] for row in figure.table.rows}
    assert (lines["4 KiB"], lines["1 MiB"]) == ("not reached within 8", "4 [3, 8]")


def test_one_number_of_tasks_is_no_map() -> None:
    (sweep,) = sweeps_of(sample.points(tasks=(4,)))
    assert sizes.size_map(sweep, ()) is None


def test_the_section_has_both_figures_of_each_operation() -> None:
    found = [
        *sample.points(),
        *(sample.point(size, tasks, op="read") for size in sample.SIZES for tasks in sample.TASKS),
    ]
    (exhibit,) = sizes.exhibits(sample.whole(found)[0])
    assert [variant.label for variant in exhibit.variants] == ["write", "read"]
    assert [figure.title for figure in exhibit.variants[1].figures] == ["I/O roofline", "Transfer size and tasks"]
