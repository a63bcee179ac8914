"""The bench of placement at a scale, as somebody starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "placement_scale.py"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH), *words], capture_output=True, text=True, timeout=250, check=False
    )


def test_a_quick_run_leaves_results_a_table_and_a_page_with_every_picture(tmp_path: Path) -> None:
    done = run("--quick", "--out", str(tmp_path), "--machine", "here")
    assert done.returncode == 0, done.stderr
    (place,) = tmp_path.iterdir()
    assert sorted(path.name for path in place.iterdir()) == [
        "placement_scale.html",
        "placement_scale.json",
        "placement_scale.md",
    ]
    results = json.loads((place / "placement_scale.json").read_text())
    names = ["FIFO", "random", "near", "near, caps", "near, caps raised"]
    assert [outcome["policy"] for outcome in results["outcomes"]] == names
    assert results["decision"]["hosts"] == results["asked"]["hosts"] == 400
    table = (place / "placement_scale.md").read_text()
    assert table == done.stdout.removesuffix("\n")
    assert all(f"\n| {name} | " in table for name in names)
    page = (place / "placement_scale.html").read_text()
    assert all(f'<section id="{name}"' in page for name in ("day", "slowdown", "above", "makespan"))
    assert len(page) < 4e6


def test_earlier_results_are_told_again_without_a_simulation(tmp_path: Path) -> None:
    assert run("--quick", "--out", str(tmp_path), "--machine", "here").returncode == 0
    (place,) = tmp_path.iterdir()
    table = (place / "placement_scale.md").read_text()
    for name in ("placement_scale.md", "placement_scale.html"):
        (place / name).unlink()
    done = run("--page", str(place / "placement_scale.json"))
    assert done.returncode == 0, done.stderr
    assert (place / "placement_scale.md").read_text() == table
    assert (place / "placement_scale.html").exists()


def test_shares_and_numbers_that_make_no_site_are_refused() -> None:
    for words in (("--load", "1.5"), ("--busy", "0"), ("--jobs", "0")):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, "")
