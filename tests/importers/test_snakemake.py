"""Snakemake's log with what lies beside it: a recorded run, and damage to each part."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest
from tonnage.importers import read_trace
from tonnage.importers.trace import TracedTask

RECORDED = Path(__file__).parent / "recorded" / "snakemake-run"
LOG = ".snakemake/log/run.snakemake.log"
SECOND = 10**9


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "run"))


def tasks(run: Path) -> dict[str, TracedTask]:
    return {task.name: task for task in read_trace("snakemake", run / LOG).tasks}


def test_a_log_gives_each_job_with_instants_from_the_metadata_and_figures_from_its_benchmark(run: Path) -> None:
    found = read_trace("snakemake", run / LOG)
    assert not found.problems
    assert sorted(task.process for task in found.tasks) == ["gather", *["pack"] * 3, *["prepare"] * 3]
    pack = tasks(run)["pack (number=3)"]
    assert pack.submit_ns is not None and pack.end_ns is not None and pack.start_ns is not None
    assert abs(pack.submit_ns - 1795303758_211034800) < 1000 and abs(pack.end_ns - 1795303758_293512800) < 1000
    assert pack.times_from == "task" and pack.status == "ok"
    assert (pack.run_ns, pack.end_ns - pack.start_ns) == (70 * 10**6, 70 * 10**6)
    assert pack.max_resident_bytes == 480 * (1 << 20) // 100
    assert tasks(run)["prepare (number=2)"].max_resident_bytes is None, "nobody looked at a job so short"


def test_what_a_job_reads_tells_what_it_waited_for(run: Path) -> None:
    names = [task.name for task in read_trace("snakemake", run / LOG).tasks]
    after = {name: [names[n] for n in task.after or ()] for name, task in tasks(run).items()}
    assert after["prepare (number=1)"] == [] and after["pack (number=1)"] == ["prepare (number=1)"]
    assert sorted(after["gather"]) == [f"pack (number={n})" for n in (1, 2, 3)]


def test_without_metadata_and_benchmarks_the_seconds_of_the_log_remain(run: Path) -> None:
    shutil.move(run / ".snakemake/metadata", run / "elsewhere")
    shutil.move(run / "benchmarks", run / "also-elsewhere")
    found = read_trace("snakemake", run / LOG)
    second = int(datetime(2026, 11, 21, 23, 29, 18).timestamp()) * SECOND
    assert {(task.submit_ns, task.end_ns, task.times_from) for task in found.tasks} == {(second, second, "engine")}
    assert len(found.problems) == 7 and "benchmark file 'benchmarks/prepare_3.tsv' cannot be read" in found.problems[0]


def test_metadata_of_an_earlier_run_date_nothing(run: Path) -> None:
    for file in (run / ".snakemake/metadata").iterdir():
        file.write_text(file.read_text().replace("17953037", "17952037"))
    assert {task.times_from for task in tasks(run).values()} == {"engine"}


def test_a_job_that_failed_and_was_tried_again_is_two_tasks(run: Path) -> None:
    job = "rule a:\n    output: x\n    jobid: 1\n    wildcards: n=1\n"
    begun, later = "[Sat Nov 21 23:29:18 2026]\n", "[Sat Nov 21 23:29:2{} 2026]\n"
    failed = later.format(1) + "Error in rule a:\n    message: None\n    jobid: 1\n    output: x\n"
    text = begun + job + failed + "Trying to restart job 1.\n" + later.format(3) + job
    text += later.format(5) + "Finished jobid: 1 (Rule: a)\n"
    (run / LOG).write_text(text)
    first, second = read_trace("snakemake", run / LOG).tasks
    assert (first.status, first.attempt, second.status, second.attempt) == ("failed", 1, "ok", 2)
    assert first.complete_ns is not None and second.submit_ns is not None
    assert second.submit_ns - first.complete_ns == 2 * SECOND


def test_a_log_that_was_cut_off_keeps_its_jobs_and_says_where(run: Path) -> None:
    text = (run / LOG).read_text()
    (run / LOG).write_text(text[: text.index("Finished jobid: 5") + 12])
    found = read_trace("snakemake", run / LOG)
    assert found.problems == ("line 77: it was cut off; what it holds is kept",)
    assert [task.status for task in found.tasks].count("unfinished") == 2


def test_odd_metadata_and_odd_benchmarks_are_no_traceback(run: Path) -> None:
    for number, file in enumerate(sorted((run / ".snakemake/metadata").iterdir())):
        file.write_text(["[]", "{", '{"starttime": "x"}', '{"endtime": 1e400}', "\0", '{"starttime": -5}', "1"][number])
    (run / "benchmarks/gather.tsv").write_text("s\tmax_rss\nfast\t-\n")
    found = read_trace("snakemake", run / LOG)
    assert len(found.tasks) == 7
    assert found.problems == ("line 111: s 'fast' of 'benchmarks/gather.tsv' is not a number",)


def test_what_is_no_log_says_so(run: Path) -> None:
    (run / LOG).write_text("Nothing to be done.\n")
    found = read_trace("snakemake", run / LOG)
    assert not found.tasks and found.problems[0].startswith("line 1: no job begins in this log")
