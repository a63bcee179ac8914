"""``tonnage report --storage``: everything that was measured on one storage, from runs that are plain text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tonnage.cli import main
from tonnage.placement.submission_ledger import Intent, Ledger

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import text_run

KNEE = 4


def day(number: int, plateau: int, size: int = 1 << 20) -> list[dict[str, Any]]:
    """A sweep of 1 to 16 tasks, five times each, with a knee at 4."""
    every = [(again, tasks) for again in range(5) for tasks in (1, 2, 4, 8, 16)]
    return [
        text_run.trial(
            trial,
            f"2026-03-{number:02d}T08:{trial:02d}:00Z",
            plateau * min(tasks, KNEE) // KNEE * (1000 + again) // 1000,
            text_run.setting(tasks=tasks, transfer_size=size),
        )
        for trial, (again, tasks) in enumerate(every)
    ]


def target(where: str, identity: str) -> dict[str, Any]:
    one = {"path": where, "file_system": "lustre", "identity": identity}
    return {"name": where, "uri": where, "path": where, "directories": [one]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    place = tmp_path / "runs"
    for number, plateau, size in ((1, 10**9, 1 << 20), (2, 2 * 10**9, 1 << 20), (3, 10**9, 1 << 16)):
        text_run.write(place / f"day{number}", day(number, plateau, size=size), target=target("/scratch", "lustre:s"))
    text_run.write(place / "other", day(4, 7 * 10**9), target=target("/home", "nfs:home"))
    return place


def test_a_page_has_the_load_lines_and_plateaus_of_one_storage_and_of_no_other(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", "--storage", "/scratch", "--out", str(page), str(runs)]) == 0
    said = capsys.readouterr().out
    assert "write, 1 MiB transfers: 4 tasks" in said and "2 of 2 load lines of such transfers were reached" in said
    assert f"From {runs}/day2, 2026-03-02 08:00 UTC." in said, "the newest stands for its size"
    assert "/other" not in said and "7.0" not in said
    over_time = page.read_text().partition("<h2>over time</h2>")
    assert 'class="answer open"' in over_time[0].rpartition("<div")[2], "three runs are too few to tell"
    figures = text_run.figures(page)
    (sizes,) = figures["sizes"]["variants"][0]["figures"][0]["traces"]
    assert sorted(zip(sizes["x"], sizes["y"], strict=True)) == [(1 << 16, 4), (1 << 20, 4), (1 << 20, 4)]
    small, large = figures["plateaus"]["variants"][0]["figures"][0]["traces"]
    assert small["x"] == ["2026-03-03 08:00:00"]
    assert large["x"] == ["2026-03-01 08:00:00", "2026-03-02 08:00:00"]
    assert large["y"] == pytest.approx([1, 2], rel=0.02)


def test_jobs_that_went_by_the_storage_are_told(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ledger = Ledger()
    mine = {"scheduler": "slurm", "server": "oss1", "cap": 4, "tasks": 2}
    for key, where in (("one", "lustre:s"), ("two", "nfs:home")):
        ledger.intend(key, 1772438400.0, {**mine, "target": where})  # type: ignore[typeddict-item]
        ledger.receive(key, 1772438401.0, f"job-{key}", "Submitted")
    assert main(["report", "--storage", "lustre:s", str(runs)]) == 0
    said = capsys.readouterr().out
    assert "jobs: 1 job of this user was submitted for data on it, the last on 2026-03-02 08:00 UTC." in said
    assert "job job-one" in said and "job-two" not in said


def storage_object(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What ``--json`` prints, as its schema has it."""
    assert main(["schema", "storage"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert main(["report", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found, "runs": [{**found["runs"][0], "summary": {"run": "x"}}]}, schema)
    return found


def test_a_program_gets_everything_of_one_storage_in_one_object(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ledger = Ledger()
    array: Intent = {"server": "oss1", "cap": 4, "copies": 9, "tasks": 2, "target": "lustre:s"}
    ledger.intend("one", 1772438400.0, array)
    ledger.receive("one", 1772438401.0, "job-one", "Submitted")
    found = storage_object(capsys, "--storage", "/scratch", str(runs))
    assert found["storage"] == "/scratch"
    assert [(run["when"], run["summary"]["run"]) for run in found["runs"]] == [
        (f"2026-03-0{day}T08:00:00+00:00", f"{runs}/day{day}") for day in (1, 2, 3)
    ]
    assert all(line["tasks"] == KNEE for run in found["runs"] for line in run["summary"]["load_lines"])
    assert [run["run"] for run in found["history"]["runs"]] == [f"{runs}/day{day}" for day in (1, 2, 3)]
    assert found["jobs"] == [
        {"at_s": 1772438400.0, "server": "oss1", "copies": 9, "tasks": 2, "cap": 4, "job": "job-one", "refused": None}
    ]


def test_one_run_has_no_history(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage_object(capsys, "--storage", "/home", str(runs))["history"] is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--storage", "auto"], "the runs are of several storages; hint: say --storage NAME, one of /scratch, /home"),
        (["--storage", "/tape"], "no run is of '/tape'"),
        (["--out", "page.html"], "hint: add --storage NAME"),
    ],
)
def test_what_cannot_be_told_is_one_line(
    runs: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert main(["report", *words, str(runs)]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


def test_a_run_that_is_damaged_does_not_hide_the_others(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = runs / "day1" / "trials.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps({"trial": "x"}), *lines[1:]]) + "\n")
    assert main(["report", "--storage", "/scratch", str(runs)]) == 0
    told = capsys.readouterr()
    assert "day1" in told.err and "day2" in told.out
