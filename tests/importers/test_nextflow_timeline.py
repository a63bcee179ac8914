"""Nextflow's timeline: a recorded one of six tasks, three of which failed once (without the libraries that a page
carries), and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.importers.file_kinds import kinds_of
from tonnage.importers.nextflow_timeline import read

from .import_command import RECORDED, take

TIMELINE = RECORDED / "nextflow-timeline.html"
BEGAN_MS = 1795739731044


def page(*rows: object) -> bytes:
    return b"<html>\n<script>\n  window.data = {\n" + json.dumps({"processes": rows}).encode()[1:] + b";\n</script>"


def row(label: str, *times: tuple[object, object], cached: bool = False) -> dict[str, object]:
    bars = [{"starting_time": start, "ending_time": end} for start, end in times]
    return {"label": label, "cached": cached, "index": 0, "times": bars}


def test_each_task_has_when_it_was_handed_over_began_and_was_known_to_have_ended(tmp_path: Path) -> None:
    run = take("nextflow-timeline", tmp_path / "run", TIMELINE)
    (line,) = run.trials()
    first, *_, last = run.workflow()
    assert len(run.workflow()) == 9 and first["name"] == "prepare (1)" and first["process"] == "prepare"
    assert (first["submit_ns"], first["start_ns"]) == (0, 69 * 10**6)
    assert (first["run_ns"], first["complete_ns"]) == (608 * 10**6, 3145 * 10**6)
    assert line["elapsed_ns"] == (1795739745689 - BEGAN_MS) * 10**6 == last["complete_ns"]
    assert {task["status"] for task in run.workflow()} == {"ended"}, "a timeline does not say that three failed"
    assert "failed_tasks" not in line["facts"] and line["bytes"] == 0


def test_the_kind_is_told_by_the_data_however_long_the_libraries_before_it_are() -> None:
    whole = TIMELINE.read_bytes()
    assert kinds_of(whole, "timeline.html") == ("nextflow-timeline",)
    padded = whole.replace(b"<head>", b"<head><script>" + b"x" * 300_000 + b"</script>", 1)
    assert kinds_of(padded, "any") == ("nextflow-timeline",) and len(read(padded, "").phases) == 1


def test_cached_tasks_and_tasks_that_never_ran_are_told_apart() -> None:
    rows = [row("a (1)", (1000, 1500), (1500, 3000)), row("b", (10, 20), (20, 30), cached=True), row("c")]
    (phase,) = read(page(*rows), "").phases
    assert [task["status"] for task in phase.workflow] == ["ended", "cached", "unfinished"]
    assert phase.facts == {"cached_tasks": 1} and phase.elapsed_ns == 2 * 10**9


def test_a_name_with_an_apostrophe_is_read() -> None:
    text = page(row("it_s (1)", (0, 1), (1, 2))).replace(b"it_s", rb"it\'s")
    (phase,) = read(text, "").phases
    assert phase.workflow[0]["name"] == "it's (1)"


@pytest.mark.parametrize(
    "odd",
    [
        7, None, {}, {"label": 3, "times": []}, {"label": "x", "times": 3}, row("x", (5, 1)), row("x", (1, 2), (0, 1)),
        row("x", ("1", 2)), row("x", (True, 2)), row("x", (1, 2**63)), row("x", (-1, 2)),
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_understood_is_told_and_the_rest_kept(odd: object) -> None:
    found = read(page(row("a", (1000, 1500), (1500, 3000)), odd), "")
    assert len(found.phases[0].workflow) == 1
    assert found.problems == ("line 3: task 2 of its data cannot be understood; left out",)


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b"window.data = {", b'window.data = {"processes": 3}', b'window.data = {"processes": []}',
     b'window.data = {"processes": [' + b"[" * 100_000, b"window.data = {}", TIMELINE.read_bytes()[:6000]],
)  # fmt: skip
def test_what_is_no_whole_timeline_is_one_sentence(data: bytes) -> None:
    found = read(data, "")
    assert not found.phases and len(found.problems) == 1, found.problems
