"""The page as text: what it holds, that it asks for nothing, and that no string of a run becomes markup."""

from __future__ import annotations

import dataclasses
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import report_sample as sample
from tonnage.analysis.results import Finding, Promise
from tonnage.report.page import MARKER, render

_CURVE = ["Throughput by number of tasks", "Latency by number of tasks", "Latency against throughput"]
"""Figures of a curve of several points whose latencies are known."""

_SECTIONS = [
    "answer",
    "load-line-write",
    "load-line-read",
    "findings",
    "points",
    "percentiles",
    "trial",
    "promises",
    "manifest",
]
_HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\'"&{{7*7}}\u2028'


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def _without_scripts(page: str) -> str:
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_the_sections_come_in_their_order(page_text: str) -> None:
    assert re.findall(r'<section id="([\w-]+)"', _without_scripts(page_text)) == _SECTIONS


def test_every_figure_has_its_words_its_axes_and_its_table(page_text: str) -> None:
    exhibits = _data(page_text)
    shape = {
        name: [figure["title"] for figure in exhibit["variants"][exhibit["default"]]["figures"]]
        for name, exhibit in exhibits.items()
    }
    assert shape == {
        "load-line-write": [
            "Throughput by number of tasks",
            "Latency by number of tasks",
            "Latency against throughput",
        ],
        "load-line-read": _CURVE,
        "percentiles": ["Latency by percentile: write"],
        "trial": ["Throughput over time", "Latency over time", "Tasks over time", "Each task's part"],
    }
    for exhibit in exhibits.values():
        for figure in (figure for variant in exhibit["variants"] for figure in variant["figures"]):
            assert figure["alt"]
            assert figure["table"]["rows"]
            assert {len(row) for row in figure["table"]["rows"]} == {len(figure["table"]["columns"])}
            assert figure["layout"]["xaxis"]["title"]["text"]
            assert figure["layout"]["yaxis"]["title"]["text"]


def test_every_repetition_is_a_point_and_the_axis_spells_its_unit(page_text: str) -> None:
    figure = _data(page_text)["load-line-write"]["variants"][0]["figures"][0]
    points = next(trace for trace in figure["traces"] if trace.get("name") == "repetition")
    assert len(points["x"]) == 5 * len(sample.TASKS)
    assert figure["layout"]["yaxis"]["title"]["text"] == "Throughput (GB/s; 1 GB = 10⁹ bytes)"


def test_a_ceiling_far_above_the_curve_is_named_instead_of_squashing_it(page_text: str) -> None:
    figure = _data(page_text)["load-line-write"]["variants"][0]["figures"][0]
    assert figure["layout"]["yaxis"]["range"][1] < 5
    texts = [note["text"] for note in figure["layout"]["annotations"]]
    assert "↑ memory copy 11.3 GB/s (off the scale)" in texts
    assert "link<br>2.10 GB/s" in texts


def test_the_trial_shown_first_is_the_one_at_the_knee(page_text: str) -> None:
    trial = _data(page_text)["trial"]
    assert trial["variants"][trial["default"]]["label"].startswith("write, 6 tasks,")


def test_stalls_are_marked_and_the_slowest_task_is_named(page_text: str) -> None:
    stalled = next(v for v in _data(page_text)["trial"]["variants"] if "2 stalls" in v["label"])
    series, _, _, tasks = stalled["figures"]
    assert "2 stalls at 1 time; the longest, of task 3, lasted 1.40 s" in series["caption"]
    assert [note["text"] for note in series["layout"]["annotations"]] == ["2 tasks: 1.40 s"]
    spans = [(round(shape["x0"], 6), round(shape["x1"], 6)) for shape in series["layout"]["shapes"]]
    assert spans == [(0.5, 1.9)]
    assert "Slowest: task 15 on node-1 moved" in tasks["caption"]


def test_the_series_adds_up_to_the_bytes_of_the_tasks() -> None:
    _, source = sample.whole()
    record = source.trials[0]["record"]
    series = _data(render(*sample.whole()))["trial"]["variants"][0]["figures"][0]
    column = series["table"]["columns"].index("bytes")
    shown = series["caption"].split(",")[0]
    moved = sum(int(row[column]) for row in series["table"]["rows"])
    assert moved == sum(source.series(shown)["bytes"])
    assert record.endswith("-write")


def test_groups_become_choices() -> None:
    page = render(*sample.sweep())
    labels = [variant["label"] for variant in _data(page)["load-line-write"]["variants"]]
    assert labels == ["transfer_size=64KiB", "transfer_size=1MiB"]
    assert page.count("<option") == 2 + 2 + 6


def test_many_answers_are_printed_smaller() -> None:
    analysis, source = sample.whole()
    many = dataclasses.replace(analysis, load_lines=analysis.load_lines * 3)
    for shown, size in ((analysis, "few"), (many, "many")):
        assert f'<section id="answer" class="{size}"' in render(shown, source)


def test_promises_are_ticked_and_those_broken_are_not(page_text: str) -> None:
    assert re.findall(r'<li value="(\d+)" class="(\w+)">', page_text) == [
        ("1", "kept"),
        ("8", "none"),
        ("11", "broken"),
    ]


def test_nothing_is_loaded_from_anywhere(page_text: str) -> None:
    markup = _without_scripts(page_text)
    assert re.findall(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//""", markup, re.IGNORECASE) == []
    assert re.findall(r"@import|url\(", markup) == []
    assert "default-src 'none'" in unescape(markup)
    assert MARKER in page_text[:1024]


def test_strings_of_a_run_never_become_markup() -> None:
    analysis, source = sample.whole()
    analysis = dataclasses.replace(
        analysis,
        run=_HOSTILE,
        points=tuple(dataclasses.replace(point, group=_HOSTILE) for point in analysis.points),
        load_lines=tuple(dataclasses.replace(line, group=_HOSTILE, why=_HOSTILE) for line in analysis.load_lines),
        findings=(Finding(_HOSTILE, _HOSTILE, _HOSTILE, _HOSTILE),),
        promises=(Promise(1, _HOSTILE, True, _HOSTILE),),
        ceilings=({"name": _HOSTILE, "bytes_per_s": 1, "source": _HOSTILE},),
    )
    manifest = sample.manifest(
        target={"name": _HOSTILE}, host={"hostname": _HOSTILE}, command_line=[_HOSTILE], campaign_text=_HOSTILE
    )
    failed = {**source.trials[0], "record": _HOSTILE, "status": "failed", "reason": _HOSTILE}
    page = render(analysis, dataclasses.replace(source, manifest=manifest, trials=[*source.trials, failed]))
    assert "<script>window.pwned" not in page
    assert "<img" not in _without_scripts(page)
    assert "{{7*7}}" in page
    assert len(re.findall(r"<script\b", _without_scripts(page))) == 2, "data, and the packed library"
    labels = [variant["label"] for variant in _data(page)["load-line-write"]["variants"]]
    assert labels == [_HOSTILE]


def test_a_run_that_recorded_nothing_says_so() -> None:
    for state, said in (
        ("interrupted", "This run was interrupted"),
        ("failed", "This run failed."),
        ("running", "This run has not ended"),
    ):
        page = render(*sample.empty(state))
        assert said in page
        assert "It has no record of any trial" in page
        assert "No load line: nothing was measured." in page
        assert _data(page) == {}


def test_trials_that_failed_are_listed_with_their_reason() -> None:
    analysis, source = sample.whole()
    broken = {**source.trials[0], "record": "0090-write", "status": "failed", "reason": "3 operations failed: no space"}
    page = render(analysis, dataclasses.replace(source, trials=[*source.trials, broken]))
    assert "1 of 91 trials did not finish" in page
    assert "3 operations failed: no space" in page


def test_a_picture_that_cannot_be_read_is_named_and_the_rest_is_drawn() -> None:
    from tonnage.errors import RecordError

    def damaged(record: str) -> None:
        raise RecordError(f"series/{record}.parquet cannot be read: bad magic")

    analysis, source = sample.whole()
    page = render(analysis, dataclasses.replace(source, read_series=damaged))
    assert "cannot be read: bad magic" in page
    trial = _data(page)["trial"]
    assert [figure["title"] for figure in trial["variants"][0]["figures"]] == ["Latency over time", "Each task's part"]


def test_without_histograms_percentiles_come_from_the_summary() -> None:
    analysis, source = sample.whole()
    bare = dataclasses.replace(source, read_histogram=lambda _record: None)
    figure = _data(render(analysis, bare))["percentiles"]["variants"][0]["figures"][0]
    first = analysis.points[0]
    assert figure["traces"][0]["y"][:3] == [first.latency["p50_ns"], first.latency["p90_ns"], first.latency["p99_ns"]]


def test_the_page_says_what_was_run_where_and_when(page_text: str) -> None:
    head = page_text[page_text.index("<header") : page_text.index("</header>")]
    for part in ("/scratch", "ext4", "node-1", "2026-11-20 14:02:11 UTC", "0.1.0"):
        assert part in head
    assert str(Path("/scratch/tonnage-runs/3f2a")) in page_text


def test_a_manifest_that_says_little_makes_a_page_that_says_less() -> None:
    analysis, source = sample.whole()
    bare = {"format": "tonnage-run", "format_version": 1}
    ceiling = {"name": "link", "bytes_per_s": 1_000_000_000}
    failed = {"record": "0090-write", "status": "failed", "setting": {"tasks": 4}, "errors": 0, "phase": "write"}
    page = render(
        dataclasses.replace(analysis, ceilings=(ceiling,)),
        dataclasses.replace(source, manifest=bare, trials=[*source.trials, failed]),
    )
    assert "0090-write" in page
    assert "Command:" not in page
    nothing, unread = sample.empty("complete")
    assert "nothing to draw" in render(nothing, dataclasses.replace(unread, manifest={}))


def _names_no_record(page: str) -> list[str]:
    """Figures none of whose marks says, where the pointer is, which record it is of."""
    every = [
        (name, figure)
        for name, exhibit in _data(page).items()
        for variant in exhibit["variants"]
        for figure in variant["figures"]
    ]
    assert every
    return [
        f"{name}: {figure['title']}"
        for name, figure in every
        if not re.search(
            r"record \d{4,}-", json.dumps([trace for trace in figure["traces"] if trace.get("hoverinfo") != "skip"])
        )
    ]


def test_a_mark_of_every_figure_says_which_record_it_is_of(page_text: str, kinds_page: str) -> None:
    assert _names_no_record(page_text) == []
    assert _names_no_record(kinds_page) == []


def _axes(page: str, section: str, number: int) -> list[list[Any]]:
    """Ranges and titles of both axes of a figure, in each panel of a section."""
    figures = [variant["figures"][number]["layout"] for variant in _data(page)[section]["variants"]]
    return [[figure[axis][key] for axis in ("xaxis", "yaxis") for key in ("range", "title")] for figure in figures]


def test_the_panels_of_a_section_have_the_same_axes() -> None:
    page = render(*sample.sweep())
    for section, number in (("load-line-write", 0), ("load-line-write", 1), ("percentiles", 0)):
        small, large = _axes(page, section, number)
        assert small == large, section
    assert "this panel's own" not in page


def test_a_panel_that_a_common_axis_would_flatten_keeps_its_own_and_says_so() -> None:
    page = render(*sample.sweep((0.02, 1.0)))
    for number, axis in ((0, 2), (2, 0)):
        small, large = _axes(page, "load-line-write", number)
        assert small[axis : axis + 2] != large[axis : axis + 2]
    for variant in _data(page)["load-line-write"]["variants"]:
        assert "The throughput axis is this panel's own" in variant["figures"][0]["caption"]


def test_writes_and_reads_have_the_same_axes(page_text: str) -> None:
    for number in range(3):
        assert _axes(page_text, "load-line-write", number) == _axes(page_text, "load-line-read", number)


def test_the_contents_lead_to_every_section_and_long_tables_are_folded(page_text: str) -> None:
    sections = re.findall(r'<(?:section|footer) id="([^"]+)"', page_text)
    assert re.findall(r'<li><a href="#([^"]+)">', page_text) == sections
    tables = re.findall(r"<tbody>(.*?)</tbody>(.{0,120})", page_text, re.DOTALL)
    assert tables
    for rows, after in tables:
        many = rows.count("<tr")
        assert rows.count('<tr class="rest">') == max(0, many - 12)
        assert (f"All {many} rows" in after) == (many > 12)


def test_one_number_of_tasks_is_a_dot_with_its_interval_and_no_curve() -> None:
    analysis, source = sample.sweep(tried=(4,))
    data = _data(render(dataclasses.replace(analysis, points=analysis.points[:1]), source))
    (figure,) = data["load-line-write"]["variants"][0]["figures"]
    median = next(trace for trace in figure["traces"] if "error_x" in trace)
    assert median["mode"] == "markers"
    assert len(median["x"]) == 1
    assert median["y"] == ["4 tasks"]
