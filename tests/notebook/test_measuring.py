"""``tonnage.probe``, ``run`` and ``resume`` from Python: the same run as the command's, and its errors."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import tonnage
import warm_start
from tonnage.campaign.observer import Observer
from tonnage.errors import MeasurementError, RequestError

ROOT = Path(__file__).parents[2]
SIM = "sim:knee=4,plateau=1GB/s"


def trials_without_times(run: Path) -> list[Any]:
    """What the trials of a run say, without when they were."""
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    return [{key: line[key] for key in ("record", "setting", "bytes", "elapsed_ns", "latency")} for line in lines]


def test_a_probe_from_python_is_the_probe_of_the_command(tmp_path: Path) -> None:
    found = tonnage.probe(
        SIM, op="write", budget="30s", transfer="2MiB", max_tasks=16, p99=0.5, seed=3, out=tmp_path / "api", keep=False
    )
    words = ["probe", SIM, "--op", "write", "--budget", "30s", "--transfer", "2MiB", "--max-tasks", "16", "--p99"]
    words += ["500ms", "--seed", "3", "--out", str(tmp_path / "command"), "--no-keep"]
    done = warm_start.finished(*words)
    assert done.returncode == 0, done.stderr
    assert trials_without_times(tmp_path / "api") == trials_without_times(tmp_path / "command")
    said = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("api", "command")]
    assert said[0]["summary"]["load_lines"] == said[1]["summary"]["load_lines"]
    assert said[0]["campaign"] == said[1]["campaign"]
    assert (tmp_path / "api" / "report.html").exists()
    assert list(found.load_lines["tasks"]) == [4] and "write: 4 tasks" in found._repr_html_()


def test_a_campaign_may_be_a_dictionary_or_a_file(tmp_path: Path) -> None:
    tables = {"target": "sim:", "seed": 5, "workload": {"tasks": [1, 2], "block_size": "16MiB"}}
    file = tmp_path / "c.toml"
    file.write_text('target = "sim:"\nseed = 5\n[workload]\ntasks = [1, 2]\nblock_size = "16MiB"\n')
    by_tables = tonnage.run(tables, out=tmp_path / "tables", report=False)
    by_file = tonnage.run(file, out=tmp_path / "file", report=False)
    assert trials_without_times(tmp_path / "tables") == trials_without_times(tmp_path / "file")
    assert len(by_tables.trials) == len(by_file.trials) > 0
    assert not (tmp_path / "file" / "report.html").exists()


def test_what_a_dictionary_leaves_to_the_target_is_the_targets(tmp_path: Path) -> None:
    workload = {"kind": "checkpoint", "tasks": 1, "snapshot": ["none", "auto"], "transfers": 1}
    found = tonnage.run({"target": "sim:", "seed": 5, "workload": workload}, out=tmp_path / "run", report=False)
    assert set(found.trials["setting.snapshot"]) == {"none", "model"}


def test_what_is_wrong_is_raised_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="budget of 1ms is too short"):
        tonnage.probe(SIM, budget="1ms", out=tmp_path / "run")
    with pytest.raises(RequestError, match="'soon' is not a time"):
        tonnage.probe(SIM, budget="soon", out=tmp_path / "run")
    with pytest.raises(TypeError, match="'tasks'"):
        tonnage.probe(SIM, tasks=3, out=tmp_path / "run")  # type: ignore[call-arg]
    with pytest.raises(RequestError, match=r"unknown key 'tusks' in \[workload\]"):
        tonnage.run({"target": "sim:", "workload": {"tusks": 1}}, out=tmp_path / "run")
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            tonnage.probe(SIM, out=tmp_path / "run")
        except RequestError as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "only the main thread" in str(caught[0])
    assert not (tmp_path / "run").exists()


def test_a_report_that_cannot_be_written_is_told_and_the_run_is_there(tmp_path: Path) -> None:
    class InTheWay(Observer):
        def __init__(self) -> None:
            self.notes: list[str] = []

        def started(self, path: Path, target: str, name: str) -> None:
            assert target and name
            (path / "report.html").mkdir()

        def note(self, text: str) -> None:
            self.notes.append(text)

    observer = InTheWay()
    found = tonnage.probe(SIM, op="write", budget="30s", seed=3, out=tmp_path / "run", observer=observer)
    assert [note for note in observer.notes if note.startswith("no report: ")], observer.notes
    assert list(found.load_lines["tasks"]) == [4]


def test_an_interrupted_run_is_resumed(tmp_path: Path) -> None:
    class Interrupting(Observer):
        count = 0

        def recorded(self, line: Mapping[str, Any]) -> None:
            self.count += bool(line)
            if self.count == 2:
                os.kill(os.getpid(), signal.SIGINT)

    tables = {"target": "sim:", "seed": 5, "workload": {"op": "write", "tasks": [1, 2, 3, 4], "block_size": "16MiB"}}
    with pytest.raises(MeasurementError, match="interrupted; the records so far are in"):
        tonnage.run(tables, out=tmp_path / "run", observer=Interrupting())
    before = trials_without_times(tmp_path / "run")
    whole = tonnage.resume(tmp_path / "run")
    assert trials_without_times(tmp_path / "run")[: len(before)] == before
    assert sorted(whole.trials["setting.tasks"].unique()) == [1, 2, 3, 4]


def test_the_example_notebook_runs(tmp_path: Path) -> None:
    notebook = json.loads((ROOT / "examples" / "load-line.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    # As a notebook does: what stands last in a cell is shown.
    text = "import ast\nfrom pathlib import Path\n"
    text += f"for cell in {cells!r}:\n"
    text += (
        "    tree = ast.parse(cell)\n"
        "    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None\n"
        "    exec(compile(tree, 'cell', 'exec'), globals())\n"
        "    if last is not None:\n"
        "        shown = eval(compile(ast.Expression(last.value), 'cell', 'eval'), globals())\n"
        "        print((getattr(shown, '_repr_html_', None) or shown.to_frame()._repr_html_)()[:60])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["first", "slower", "swept"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"target": 3}, "target: 3 is no text and no path"),
        ({"target": None}, "target: None is no text and no path"),
        ({"out": 5}, "out: 5 is no text and no path"),
        ({"keep": "no"}, "keep: 'no' is neither True nor False"),
        ({"report": 0}, "report: 0 is neither True nor False"),
        ({"observer": print}, "observer: <built-in function print> is no Observer"),
        ({"verify": "yes"}, "^verify: 'yes' is neither true nor false"),
        ({"open_loop": 1}, "^open_loop: 1 is neither true nor false"),
        ({"max_tasks": "8"}, "max_tasks: '8' is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"budget": ["30s"]}, r"budget: \['30s'\] is not a time"),
        ({"out": "a\0b"}, r"out: 'a\\x00b' is no text and no path"),
        ({"verify": 1}, "^verify: 1 is neither true nor false; hint: give one of them"),
        ({"transfer": Path("4k")}, r"^transfer: PosixPath\('4k'\) is not a size"),
    ],
)
def test_a_value_of_a_wrong_type_is_a_request_error_that_names_it(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(tonnage.RequestError, match=told):
        tonnage.probe(**{"target": SIM, "out": tmp_path / "run", **given})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("given", [3, "a\0b"])
def test_run_resume_and_read_name_what_is_no_path(given: Any) -> None:
    for call in (
        lambda: tonnage.run(given),
        lambda: tonnage.resume(given),
        lambda: tonnage.read(given),
        lambda: tonnage.compare(given, given),
    ):
        with pytest.raises(tonnage.RequestError, match=re.escape(f"{given!r} is no ")):
            call()


def test_times_and_sizes_are_taken_as_python_has_them(tmp_path: Path) -> None:
    import numpy

    tables = {"target": "sim:", "seed": 1, "workload": {"tasks": 2, "time_limit": timedelta(milliseconds=1500)}}
    found = tonnage.run({**tables, "repeat": {"count": 2}}, out=tmp_path / "run", report=False)
    assert set(found.trials["setting.time_limit_ns"]) == {1_500_000_000}
    with pytest.raises(tonnage.RequestError, match=r"workload\.tasks: 1\.0 is not a whole number"):
        tonnage.run({**tables, "workload": {"tasks": 1.0}}, out=tmp_path / "none")
    probed = tonnage.probe(
        SIM, op="write", p99=0.00005, transfer=numpy.int64(65536), budget="5s", out=tmp_path / "probed", keep=False
    )
    assert {line.objective_ns for line in probed.analysis.load_lines[0].latency_lines} == {50_000}
    assert set(probed.trials["setting.transfer_size"]) == {65536}


def test_integers_of_points_stay_integers_where_some_have_none(tmp_path: Path) -> None:
    workloads = [{"name": "by-size"}, {"name": "by-time", "time_limit": "1s"}]
    found = tonnage.run({"target": "sim:", "seed": 1, "workload": workloads}, out=tmp_path / "run", report=False)
    for frame in (found.points, found.trials):
        assert str(frame["setting.time_limit_ns"].dtype) == "Int64"


def test_help_of_a_probe_lists_the_options_of_the_command() -> None:
    from tonnage.cli.commands.probe import COMMAND

    listed = set(inspect.signature(tonnage.probe).parameters)
    options = {option.names[0].lstrip("-").replace("-", "_") for option in COMMAND.options}
    assert options - {"json", "no_report", "no_keep", "v", "dry_run"} | {"report", "keep", "observer"} == listed


def test_what_docstrings_promise_to_raise_is_there_by_that_name() -> None:
    for name in ("MeasurementError", "RecordError", "NoFileServer", "NothingNear", "SchedulerError"):
        assert issubclass(getattr(tonnage, name), tonnage.TonnageError) and name in tonnage.__all__
    assert issubclass(tonnage.SubmissionUnknown, tonnage.SchedulerError)


def test_a_run_without_load_lines_has_their_columns_and_no_empty_table(tmp_path: Path) -> None:
    found = tonnage.run({"target": "sim:", "seed": 1, "workload": {"tasks": 2}}, out=tmp_path / "run", report=False)
    assert list(found.load_lines[["op", "tasks", "plateau_bytes_per_s"]].index) == []
    assert list(found.latency_lines[["op", "percentile"]].index) == []
    assert {"code", "subject", "evidence", "advice"} == set(found.findings.columns)
    assert ("<table>" in found._repr_html_()) == bool(found.analysis.findings)
    for record in (7, "0999-write"):
        for ask in (found.series, found.latency):
            with pytest.raises(tonnage.RequestError, match=f"{record!r} is no record of this run"):
                ask(record)  # type: ignore[arg-type]


def test_the_sentences_of_a_load_line_are_told_apart(tmp_path: Path) -> None:
    found = tonnage.probe(SIM, op="write", budget="30s", p99="20ms", seed=3, out=tmp_path / "run", keep=False)
    (line,) = found.analysis.load_lines
    (objective,) = line.latency_lines
    assert f"; {objective.why}" in repr(found)
    assert f"; {objective.why}" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"queue_depth": 4}, "hint: set storage='uring' or queue_depth=1"),
        ({"max_tasks": 0}, "^max_tasks: 0 is below 1; hint: give at least 1"),
        ({"transfer": "1MX"}, "^transfer: '1MX' is not a size"),
        ({"transfer": 0}, "^transfer: 0 bytes is too small; hint: write it like 4k"),
        ({"space": 1.5}, "^space: 1.5 is not a size; hint: write it like 4k"),
        ({"space": True}, "^space: True is not a size"),
        ({"budget": 0}, "^budget: 0 is no time; hint: write it like"),
        ({"budget": "soon"}, "^budget: 'soon' is not a time"),
        ({"space": "1k"}, "hint: use .*out= on another file system, or allow more with space=$"),
        ({"space": "900TB"}, "hint: use a smaller space=, or another target$"),
    ],
)
def test_a_message_names_the_keywords_of_the_call(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(RequestError, match=told) as refused:
        tonnage.probe(tmp_path / "data", out=tmp_path / "run", **given)
    assert not re.search(r"(?<!tonnage probe )--[a-z]", str(refused.value)) and not (tmp_path / "run").exists()


def test_a_campaign_names_its_keys(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tables = {"target": str(tmp_path / "data"), "search": {}, "budget": {"space": "1k"}}
    with pytest.raises(RequestError, match=r"or allow more with budget\.space$"):
        tonnage.run(tables, out=tmp_path / "run")
