"""Runs as data frames and figures, as docs/notebook.md shows them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tonnage
import warm_start
from tonnage.errors import RecordError, RequestError

ROOT = Path(__file__).parents[2]


def probe(out: Path, knee: int, *more: str) -> Path:
    words = ["probe", f"sim:knee={knee},plateau=1GB/s", "--seed", "5", "--out", out, "--no-report", *more]
    done = warm_start.finished(*words)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with RUN and OTHER, in which a notebook starts."""
    directory = tmp_path_factory.mktemp("notebook")
    probe(directory / "RUN", 4)
    probe(directory / "OTHER", 8)
    return directory


def test_the_lines_of_the_page_run(runs: Path) -> None:
    (block,) = re.findall(
        r"```python\n(import tonnage\n.*?)```", (ROOT / "docs" / "notebook.md").read_text(), re.DOTALL
    )
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=runs, check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_points_and_trials_hold_what_the_records_say(runs: Path) -> None:
    run = tonnage.read(runs / "RUN")
    lines = run.run.trials()
    assert list(run.trials["record"]) == [line["record"] for line in lines]
    assert list(run.trials["setting.tasks"]) == [line["setting"]["tasks"] for line in lines]
    point = run.points.query("op == 'write' and tasks == 4").iloc[0]
    (same,) = [one for one in run.analysis.points if (one.op, one.tasks) == ("write", 4)]
    assert (point["median"], point["low"], point["repetitions"]) == (same.median, same.low, same.repetitions)
    assert point["latency.p99_ns"] == same.latency["p99_ns"]
    assert list(run.load_lines["tasks"]) == [4, 4]
    assert run.sentences[0].startswith("write: 4 tasks [")
    assert run.series("0000-write")["bytes"].sum() == lines[0]["bytes"]
    assert run.latency("0000-write")["count"].sum() == lines[0]["operations"]


def test_every_figure_of_the_report_is_one_of_plotly_in_either_theme(runs: Path) -> None:
    run = tonnage.read(runs / "RUN")
    assert "Load line: write – Throughput by number of tasks" in run.figures
    for title in run.figures[:6]:
        for dark in (False, True):
            assert "@" not in re.sub(r"@\w", "", run.figure(title, dark=dark).to_json().replace("\\u", ""))
    light, dark = (run.figure(run.figures[0], dark=dark).to_json() for dark in (False, True))
    assert light != dark
    with pytest.raises(RequestError, match="no figure has 'heat'"):
        run.figure("heat")
    with pytest.raises(RequestError, match="2 figures have 'Throughput by number of tasks'"):
        run.figure("Throughput by number of tasks")


def test_a_comparison_is_a_row_a_setting(runs: Path) -> None:
    found = tonnage.compare(runs / "RUN", runs / "OTHER", runs / "RUN")
    assert set(found["run"]) == {str(runs / "OTHER"), str(runs / "RUN")}
    same = found[found["run"] == str(runs / "RUN")]
    assert set(same["verdict"]) == {"too few to tell"} and set(same["ratio"]) == {1.0}


def test_a_notebook_shows_a_run_escaped(runs: Path) -> None:
    hostile = runs / "<b>RUN"
    hostile.symlink_to(runs / "RUN")
    shown = tonnage.read(hostile)._repr_html_()
    assert "<b>RUN" not in shown.replace("<b>" + str(runs), "") and "&lt;b&gt;RUN" in shown


def test_what_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=str(tmp_path)):
        tonnage.read(tmp_path)


def test_the_command_line_does_not_pay_for_it() -> None:
    program = "import sys, tonnage; sys.exit('pandas' in sys.modules or 'tonnage.notebook' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_a_latency_line_is_a_row_of_its_own(tmp_path: Path) -> None:
    run = tonnage.read(probe(tmp_path / "RUN", 4, "--op", "write", "--p99", "19ms", "--p999", "19ms"))
    assert list(run.latency_lines["percentile"]) == ["p99_ns", "p999_ns"]
    for why in run.latency_lines["why"]:
        assert why in run.sentences[0]


def test_integers_stay_integers_where_some_rows_have_none(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    shutil.copytree(runs / "RUN", run)
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    # More than 2^53, and odd: no float is this number.
    lines[0]["setting"]["seen_ns"] = 2**60 + 1
    lines[1]["setting"]["seen_ns"] = None
    (run / "trials.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    trials = tonnage.read(run).trials
    assert int(trials["setting.seen_ns"][0]) == 2**60 + 1
    assert trials["setting.seen_ns"].isna()[1]
    assert str(trials["setting.seen_ns"].dtype) == "Int64"
    assert str(trials["operations"].dtype) == "int64"
    assert str(trials["status"].dtype) in ("object", "str")
