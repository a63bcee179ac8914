"""Where the bytes of a stage were over time: what a run records, and what ``tonnage report`` draws of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import text_run
from tonnage.cli import main

GB = 10**9


def stage_line(by: str = "mover", **told: Any) -> dict[str, Any]:
    """8 GB that took 4 s to write and 6 s more to be safe."""
    factors = text_run.setting("stage", tasks=4, kind="stage", by=by, device=0, to_device=1, check_copies=None)
    begin = 100 * text_run.SECOND
    stage = {"application_ns": 4 * text_run.SECOND, "drain_ns": 6 * text_run.SECOND} | told
    end = {"last_done_ns": begin + 10 * text_run.SECOND, "elapsed_ns": 10 * text_run.SECOND}
    line = text_run.trial(0, "2026-03-02T08:00:00Z", 8 * GB, factors, begin, stage=stage, **end)
    return line | {"bandwidth_bytes_per_s": 800 * 10**6}


def drawn(run: Path) -> dict[str, dict[str, list[float]]]:
    """Each line of both pictures by its name."""
    figures = text_run.reported(run)["staging"]["variants"][0]["figures"]
    return {trace["name"]: trace for figure in figures for trace in figure["traces"]}


def test_samples_are_lines_of_what_waited_and_was_safe_and_of_the_head_room(tmp_path: Path) -> None:
    begin = 100 * text_run.SECOND
    looks = [(2, 3, 1, 1, 90), (4, 4, 1, 4, 86), (8, 2, 1, 6, 86), (10, 0, 0, 8, 86)]
    progress = [[begin + at * text_run.SECOND, *(GB * part for part in rest)] for at, *rest in looks]
    line = stage_line(copied_before_end_bytes=4 * GB, workers=8, progress=progress)
    run = text_run.write(tmp_path / "run", [line])
    found = drawn(run)
    assert found["safe on the slow tier"]["x"] == [0, 2, 4, 8, 10]
    assert found["safe on the slow tier"]["y"] == pytest.approx([0, 1, 4, 6, 8])
    assert found["waits on the fast tier"]["y"] == pytest.approx([3, 4, 2, 0])
    assert found["free"]["y"] == pytest.approx([90, 86, 86, 86])
    shown = text_run.figures(run / "report.html")["staging"]["variants"][0]["figures"]
    assert "50 % was copied by then, and all was safe 6.00 s later" in shown[0]["caption"]
    assert "At least 86.0 GB was free on the fast tier" in shown[1]["caption"]


def test_of_a_run_of_an_older_version_what_is_known_is_drawn_and_the_rest_is_said_to_be_unknown(tmp_path: Path) -> None:
    run = text_run.write(tmp_path / "run", [stage_line(copied_before_end_bytes=2 * GB, workers=8)])
    found = drawn(run)
    assert set(found) == {"written by the application", "safe on the slow tier"}
    safe = found["safe on the slow tier"]
    assert list(zip(safe["x"], safe["y"], strict=True)) == [(0, 0), (4, 2), (10, 8)]
    (figure,) = text_run.figures(run / "report.html")["staging"]["variants"][0]["figures"]
    assert "Nobody looked in between" in figure["caption"]


def test_a_stage_records_what_was_where_until_all_was_safe(tmp_path: Path) -> None:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = ["{tmp_path}/fast", "{tmp_path}/slow"]\n[repeat]\ncount = 1\n[workload]\nkind = "stage"\nfrom = 0\n'
        'to = 1\nby = ["copy", "mover"]\ntasks = 2\ntransfer_size = "64KiB"\nblock_size = "1MiB"\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "run")]) == 0
    lines = [json.loads(text) for text in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    staged = [line for line in lines if line["phase"] == "stage"]
    assert {line["setting"]["by"] for line in staged} == {"copy", "mover"}
    for line in staged:
        *_, (at_ns, _, copying, safe, free) = line["stage"]["progress"]
        assert at_ns >= line["last_done_ns"] and copying == 0 and safe == 2 << 20 and free > 0
    section = text_run.figures(tmp_path / "run" / "report.html")["staging"]
    assert len(section["variants"]) == 2
    written = section["variants"][0]["figures"][0]["traces"][0]
    assert written["name"] == "written by the application" and written["text"][-1] == "2.10 MB"
