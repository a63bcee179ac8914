"""Workflows in the report: where their time went, when each task ran, and which partition is faster."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import workflow_sample as sample
from rich.console import Console
from tonnage.analysis import analyse
from tonnage.analysis.summary import schema, summary
from tonnage.analysis.workflow import PARTS
from tonnage.records import Run
from tonnage.report import print_summary
from tonnage.report.figures.figure import Figure
from tonnage.report.page import render
from tonnage.report.page_data import Source
from tonnage.report.published.comparisons import comparisons
from tonnage.report.sections import comparisons as compared
from tonnage.report.sections import workflow

SLOWER = {"mm": (1.0, 1.01, 0.99), "epouta": (3.0, 3.02, 2.98), "epouta1-mm2": (1.0, 1.02, 0.98)}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return sample.write(tmp_path / "run", SLOWER)


def timeline(run: Run, choice: int = 0) -> Figure:
    (exhibit,) = workflow.exhibits(analyse(run), Source.of(run))
    return exhibit.variants[choice].figures[0]


def trace(figure: Figure, name: str) -> dict[str, Any]:
    return next(trace for trace in figure.traces if trace["name"] == name)


def test_every_task_is_a_row_and_the_engine_has_one_of_its_own(run: Run) -> None:
    figure = timeline(run)
    assert len(trace(figure, "runs")["y"]) == 4 and len(trace(figure, "ran and failed")["y"]) == 1
    assert trace(figure, "waits in the queue")["x"] == [0.2] * 5
    assert trace(figure, "over, not noticed")["x"] == [0.25] * 5
    assert trace(figure, "the engine's own")["text"] == ["starting", "noticing", "deciding", "noticing", "ending"]
    assert "the critical path has 2 tasks, which ran 6.00 s" in figure.caption
    assert figure.layout["yaxis"]["ticktext"][:2] == ["the engine's own", "&lt;b&gt;first&lt;/b&gt;"]


def test_each_partition_has_its_timeline_and_its_row_whose_parts_add_up(run: Run) -> None:
    (exhibit,) = workflow.exhibits(analyse(run), Source.of(run))
    assert [variant.label for variant in exhibit.variants] == [
        "command (partition epouta) (0003-command)",
        "command (partition epouta1-mm2) (0006-command)",
        "command (partition mm) (0000-command)",
    ]
    for point in analyse(run).points:
        assert point.workflow is not None
        parts = {name: part.median_ns for name, part in point.workflow.parts.items() if name != "engine"}
        assert sum(parts.values()) == pytest.approx(point.elapsed_ns, rel=1e-6)
        assert point.workflow.parts["starting"].median_ns == 2 * sample.SECOND
        assert (point.workflow.tasks, point.workflow.failed, point.workflow.path_tasks) == (5, 3, 2)


def test_a_thousand_tasks_leave_a_page_that_opens(tmp_path: Path) -> None:
    run = sample.write(tmp_path / "run", {"mm": (1.0,)}, fan=1000)
    figure = timeline(run)
    assert sum(len(trace["y"]) for trace in figure.traces) < 4 * workflow.MOST_TASKS
    assert "300 of 1001 tasks are drawn, the longest; all are in workflow.jsonl" in figure.caption
    page = render(analyse(run), Source.of(run))
    empty = render(analyse(sample.write(tmp_path / "small", {"mm": (1.0,)}, fan=1)), Source.of(run))
    assert len(page) - len(empty) < 400_000


def test_the_verdicts_are_sentences_with_their_intervals(run: Run) -> None:
    said = compared.story(analyse(run).comparisons)
    assert said[0].startswith("partition epouta against partition mm: slower (")
    assert "times as long, 95 % interval" in said[0]
    assert said[1].startswith("partition epouta1-mm2 against partition mm: no change shown (1.00 times as long")
    (exhibit,) = compared.exhibits(analyse(run), Source.of(run))
    told = exhibit.variants[0].figures[0].traces[0]["text"]
    assert ["slower" in told[0], "no change shown" in told[1]] == [True, True]
    assert "record 0003-command, 0004-command" in told[0] and "the first 6.35 s, record 0000-command" in told[0]


def test_single_runs_have_no_interval_and_show_no_change(tmp_path: Path) -> None:
    run = sample.write(tmp_path / "run", {"mm": (1.0,), "epouta": (5.0,)})
    (said,) = compared.story(analyse(run).comparisons)
    assert "too few to tell" in said and said.endswith("single runs have no interval); repeat them to know.")


def test_the_terminal_and_the_page_say_the_same_beside_the_published_times(tmp_path: Path) -> None:
    run = sample.write(tmp_path / "run", {**SLOWER, "gpu": (1.0,)}, published="knox-epouta-workflows")
    analysis = analyse(run)
    said = io.StringIO()
    print_summary(analysis, Console(file=said, width=250), None)
    page = render(analysis, Source.of(run))
    for sentence in compared.story(analysis.comparisons):
        assert sentence in said.getvalue()
        # In the page they are inside a script.
        assert sentence in page
    (table,) = comparisons(analysis)
    rows = {row[:2]: row for row in table.table.rows}
    assert rows["cancer-analysis", "mm"][2:5] == ("3 + 0", "1438 s", "6.35 s")
    assert rows["cancer-analysis", "gpu"][2:4] == ("–", "–")
    assert rows["wgs-structvar-manta", "epouta2-mm1"][3:] == ("673 s", "–", "–")
    assert len(rows) == 13 and any("one run per point" in note for note in table.notes)


def test_an_engine_that_takes_much_of_the_time_is_a_finding_and_one_that_does_not_is_none(tmp_path: Path) -> None:
    def said(pace: float, name: str) -> list[str]:
        found = analyse(sample.write(tmp_path / name, {"mm": (pace,)})).findings
        return [finding.evidence for finding in found if finding.code == "engine-time"]

    (evidence,) = said(1.0, "short")
    assert evidence.startswith("57 % of 6.35 s were nextflow's own, while no task ran")
    assert "2 s starting" in evidence and "500 ms noticing" in evidence
    assert said(60.0, "long") == said(60.0, "again") != [evidence]


def test_the_summary_holds_parts_and_verdicts_by_its_schema(run: Run) -> None:
    found = json.loads(json.dumps(summary(analyse(run), None)))
    jsonschema.validate(found, schema())
    assert [one["verdict"] for one in found["comparisons"]] == ["slower", "no change shown"]
    assert set(found["points"][0]["workflow"]["parts"]) == {*PARTS, "engine"}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    run = sample.write(tmp_path / "run", {"mm": (1.0,)}, name="</script><script>alert(1)</script>")
    assert "<script>alert(1)" not in render(analyse(run), Source.of(run))
