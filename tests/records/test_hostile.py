"""Run directories that hold what no run holds are one line, whoever reads them: the command, or a notebook."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tonnage
import warm_start
from tonnage.errors import RecordError

LINE = {
    "trial": 0, "record": "0000-write", "setting": {"op": "write", "tasks": 1, "transfer_size": 1}, "repetition": 0,
    "phase": "write", "purpose": "measure", "status": "ok", "bytes": 1, "operations": 1, "errors": 0,
}  # fmt: skip


def run_with(place: Path, manifest: dict[str, Any], line: dict[str, Any]) -> Path:
    place.mkdir()
    told = {"format": "tonnage-run", "format_version": 1, "state": "running", **manifest}
    (place / "manifest.json").write_text(json.dumps(told))
    (place / "trials.jsonl").write_text(json.dumps({**LINE, **line}) + "\n")
    for name in ("tasks.jsonl", "events.jsonl"):
        (place / name).touch()
    return place


def refused(run: Path, command: str) -> str:
    """What is said of it on one line."""
    done = warm_start.finished(command, run)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("manifest", "line", "says"),
    [
        ({"campaign": 3}, {}, "campaign is no table"),
        ({"host": [1]}, {}, "host is no table"),
        ({"target": "x"}, {}, "target is no table"),
        ({"cost": "x"}, {}, "cost is no table"),
        ({"ceilings": 3}, {}, "ceilings is no list of tables"),
        ({"ceilings": ["x"]}, {}, "ceilings is no list of tables"),
        ({}, {"elapsed_ns": "x"}, "elapsed_ns is 'x', not a number"),
        ({}, {"elapsed_ns": [1]}, "elapsed_ns is [1], not a number"),
        ({}, {"first_start_ns": {"a": 3}}, "first_start_ns is {'a': 3}, not a number"),
    ],
)
def test_a_value_of_another_kind_is_told(
    tmp_path: Path, manifest: dict[str, Any], line: dict[str, Any], says: str
) -> None:
    run = run_with(tmp_path / "run", manifest, line)
    assert says in refused(run, "report")
    with pytest.raises(RecordError) as error:
        _ = tonnage.read(run).analysis
    assert says in str(error.value)


@pytest.mark.parametrize("name", ["manifest.json", "trials.jsonl", "tasks.jsonl", "events.jsonl"])
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_pipes_and_endless_files_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    run = run_with(tmp_path / "run", {}, {})
    (run / name).unlink()
    os.mkfifo(run / name) if kind == "pipe" else (run / name).symlink_to("/dev/zero")
    assert name in refused(run, "report")
