"""Run directories that hold what no run holds: told in words, and never the end of the page for the others."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import live_page
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tonnage.dashboard.live_analysis import judge
from tonnage.dashboard.run_entry import Watched
from tonnage.dashboard.run_files import DEEPEST, find_runs, identifier_of
from tonnage.dashboard.run_list import Runs

Serving = Callable[..., live_page.Served]

LINE = {
    "trial": 0, "record": "0000-write", "setting": {"op": "write", "tasks": 1, "transfer_size": 1}, "repetition": 0,
    "phase": "write", "purpose": "measure", "status": "ok", "bytes": 1, "operations": 1, "errors": 0,
}  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def run_with(place: Path, manifest: dict[str, Any] | str | None = None, **files: str) -> Path:
    """A run directory with a manifest, or a text in its place, and lines of any make."""
    place.mkdir(parents=True)
    text = manifest
    if not isinstance(text, str):
        text = json.dumps({"format": "tonnage-run", "format_version": 1, "state": "running", **(manifest or {})})
    (place / "manifest.json").write_text(text)
    for name, lines in {"trials.jsonl": "", "tasks.jsonl": "", "events.jsonl": "", **files}.items():
        (place / name.replace("_", ".")).write_text(lines)
    return place


def looked_at(run: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Its row, and its topics."""
    runs = Runs([run])
    name = identifier_of(run)
    runs.refresh(())
    told = runs.refresh([name])
    found = runs.get(name)
    assert found is not None
    return found.row(), told


def test_runs_are_found_to_a_depth_and_links_are_not_followed(tmp_path: Path) -> None:
    near, far = tmp_path / "a" / "b", tmp_path
    for _ in range(DEEPEST + 1):
        far = far / "d"
    for place in (near, far, tmp_path / ".hidden", near / "inside"):
        run_with(place)
    (tmp_path / "link").symlink_to(near)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert list(find_runs([tmp_path]).runs.values()) == [near]
    assert list(find_runs([near]).runs.values()) == [near]


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"format": "other"}', "no run of Tonnage"),
        ("", "is not JSON"),
    ],
)
def test_a_manifest_that_is_none_is_told(tmp_path: Path, manifest: str, says: str) -> None:
    row, _ = looked_at(run_with(tmp_path / "run", manifest))
    assert row["state"] == "damaged" and says in row["problem"]


@pytest.mark.parametrize("name", ["manifest.json", "trials.jsonl", "tasks.jsonl"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    run = run_with(tmp_path / "run")
    (run / name).unlink()
    os.mkfifo(run / name)
    watched = Watched("0", run, "")
    watched.refresh(closely=True)
    assert watched.state == "damaged" and "is not a file" in (watched.problem or "")
    assert "is not a file" in judge(run)["problem"]


def test_a_damaged_line_is_told_and_the_run_heals_with_it(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", trials_jsonl='{"trial": "no"}\n')
    watched = Watched("0", run, "")
    watched.refresh(closely=False)
    assert watched.state == "damaged" and "trial is 'no'" in (watched.problem or "")
    (run / "trials.jsonl").write_text(json.dumps(LINE) + "\n")
    watched.refresh(closely=False)
    assert (watched.state, watched.problem, watched.recorded) == ("running", None, 1)


def test_a_run_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", trials_jsonl=f"{json.dumps(LINE)}\n" * 3)
    watched = Watched("0", run, "")
    watched.refresh(closely=False)
    assert watched.recorded == 3
    (run / "trials.jsonl").write_text(json.dumps(LINE) + "\n")
    watched.refresh(closely=False)
    assert watched.recorded == 1
    (run / "manifest.json").unlink()
    watched.refresh(closely=False)
    assert watched.state == "damaged" and "gone" in (watched.problem or "")


def test_a_run_without_a_sign_of_life_is_told_and_one_of_another_host_gets_time(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run")
    assert looked_at(run)[0]["state"] == "running"
    for file in run.iterdir():
        os.utime(file, (0, 0))
    assert looked_at(run)[0]["state"] == "silent"


_KEYS = ["campaign", "target", "host", "created", "state", "summary", "search", "ceilings", "hosts", "on", "cost"]
_TOLD = ["host", "pid", "step", "live", "samples", "heat", "notes", "ended"]
_LINE = ["latency", "elapsed_ns", "first_start_ns", "reason", "phase", "setting"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    manifest=st.dictionaries(st.sampled_from(_KEYS), _JSON),
    told=st.dictionaries(st.sampled_from(_TOLD), _JSON),
    line=st.dictionaries(st.sampled_from(_LINE), _JSON),
)
def test_whatever_the_files_hold_the_page_has_a_row_and_topics(
    tmp_path_factory: pytest.TempPathFactory, manifest: dict[str, Any], told: dict[str, Any], line: dict[str, Any]
) -> None:
    lines = json.dumps({**LINE, **line}) + "\n"
    place = tmp_path_factory.mktemp("any") / "run"
    run = run_with(place, manifest, trials_jsonl=lines, progress_json=json.dumps(told))
    row, topics = looked_at(run)
    assert json.loads(json.dumps(row, allow_nan=False)) and f"run:{row['id']}" in topics
    for text in topics.values():
        assert "\n" not in text and text.isascii()
        json.loads(text)
    assert judge(run).keys() == {"problem", "findings", "lines", "figures"}


CELL = {"start_ns": 0, "end_ns": 10, "low_ns": 4, "high_ns": 5, "count": 1}


@pytest.mark.parametrize(
    ("heat", "is_drawn"),
    [
        ({name: [value] for name, value in CELL.items()}, True),
        ({name: [] for name in CELL}, False),
        ({name: [value] for name, value in {**CELL, "count": 0}.items()}, False),
        ({name: [value] for name, value in {**CELL, "count": True}.items()}, False),
        ({name: [value] for name, value in {**CELL, "end_ns": -1}.items()}, False),
        ({name: [value] for name, value in {**CELL, "high_ns": 1 << 70}.items()}, False),
        ({name: [value] for name, value in {**CELL, "low_ns": 5.5}.items()}, False),
        ({**{name: [value] for name, value in CELL.items()}, "count": [1, 2]}, False),
        ({name: [value] * 20_000 for name, value in CELL.items()}, False),
        (CELL, False),
        ([[1, 2, 3, 4, 5]], False),
        ("heat", False),
    ],
)
def test_a_heat_map_of_the_phase_that_runs_is_drawn_where_it_is_one(tmp_path: Path, heat: Any, is_drawn: bool) -> None:
    step = {"setting": {"kind": "stream"}, "phase": "write", "trial": 1}
    told = json.dumps({"host": "elsewhere", "step": step, "heat": heat})
    run = run_with(tmp_path / "run", trials_jsonl=json.dumps(LINE) + "\n", progress_json=told)
    row, topics = looked_at(run)
    assert (topics[f"heat:{row['id']}"] != "null") == is_drawn
    assert json.loads(topics[f"run:{row['id']}"])["problem"] is None


def test_a_phase_that_has_its_record_is_not_drawn_a_second_time(tmp_path: Path) -> None:
    cells = {name: [value] for name, value in CELL.items()}
    told = {"host": "elsewhere", "step": {"setting": {}, "phase": "write", "trial": 0}, "heat": cells}
    told |= {"samples": [[5, 1, 1, 1]]}
    run = run_with(tmp_path / "run", trials_jsonl=json.dumps(LINE) + "\n", progress_json=json.dumps(told))
    row, topics = looked_at(run)
    assert topics[f"heat:{row['id']}"] == "null" and topics[f"course:{row['id']}"] == "[]"


def test_names_of_any_bytes_are_listed_and_open(tmp_path: Path, runs: Path, serving: Serving) -> None:
    for name in (b"bytes-\xff\xfe", b"zeilen\n\ndata: {}\n", b"<script>alert(1)</script>", b"%2e%2e", b"a&b;'\""):
        shutil.copytree(runs / "base", tmp_path / os.fsdecode(name))
    served = serving(tmp_path)
    rows = served.rows()
    assert len(rows) == 5
    for row in rows:
        page = served.get(f"/run/{row['id']}")
        assert page.status == 200
        assert "<script>alert" not in page.text
        report = served.get(f"/report/{row['id']}")
        assert report.status == 200 and "<script>alert" not in report.text


def test_a_report_that_cannot_be_made_says_why(tmp_path: Path, serving: Serving) -> None:
    run_with(tmp_path / "whole")
    run_with(tmp_path / "broken", trials_jsonl="<b>no</b>\n")
    served = serving(tmp_path)
    broken, whole = served.identifier("broken"), served.identifier("whole")
    for path in (f"/report/{broken}", f"/compare/{whole}/{broken}"):
        answer = served.get(path)
        assert answer.status == 422 and "is not JSON" in answer.text and "<b>" not in answer.text


def test_an_error_that_nobody_foresaw_is_logged_with_its_traceback_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_run: Any) -> Any:
        raise ZeroDivisionError("an error of ours")

    monkeypatch.setattr("tonnage.dashboard.live_analysis.analyse", broken)
    run = run_with(tmp_path / "run")
    told = [judge(run)["problem"] for _ in range(3)]
    assert told == ["it cannot be shown (ZeroDivisionError); the server's log says where"] * 3
    assert caplog.text.count("Traceback") == 1 and "an error of ours" in caplog.text and str(run) in caplog.text
