"""Workflows with the real Nextflow, alone and through a real Slurm, and the real Snakemake: traces become records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nextflow
import pytest
import slurm as lab
import snakemake
from impossible import skipped_where_impossible
from tonnage.analysis.verify import verify
from tonnage.records import Run

WORKFLOWS = Path(__file__).resolve().parents[2] / "lab" / "workflows"


@pytest.fixture(scope="session")
def engine() -> str:
    with skipped_where_impossible():
        return str(nextflow.program())


@pytest.fixture(scope="session")
def snake() -> str:
    with skipped_where_impossible():
        return str(snakemake.program())


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engines keep of their own stays in the test's directory."""
    monkeypatch.setenv("NXF_HOME", str(tmp_path / "nxf"))
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path / "cache"))


def run(tonnage: Any, home: Path, argv: list[str], **workload: Any) -> tuple[Any, list[dict[str, Any]]]:
    """One trial of each setting in ``home``, whose records hold; what was said, and the tasks of all workflows."""
    home.mkdir()
    keys = {"kind": "command", "copies": 1, "tasks": 1, "keep_output": True, **workload}
    said = tonnage("run", tonnage.campaign(home, argv=argv, **keys))
    out = tonnage.work / f"run-{tonnage.count}"
    kept = "".join(file.read_text()[-2000:] for file in sorted(out.glob("output/*/0.*")))
    assert said.code == 0, said.err + kept
    assert verify(Run.open(out)).contradictions == ()
    return said, [json.loads(line) for line in (out / "workflow.jsonl").read_text().splitlines()]


def nextflow_argv(engine: str, workflow: str, *more: str) -> list[str]:
    script, config = WORKFLOWS / f"{workflow}.nf", WORKFLOWS / "nextflow.config"
    return [engine, "-C", str(config), "run", str(script), "-with-trace", "trace.txt", *more]


def test_a_chain_of_the_real_nextflow_is_known_by_its_own_files(tonnage: Any, tmp_path: Path, engine: str) -> None:
    said, tasks = run(tonnage, tmp_path / "home", nextflow_argv(engine, "chain"), trace="nextflow")
    assert [task["process"] for task in tasks] == ["reads", "order", "index", "call", "check"]
    assert {(task["status"], task["exit_code"], task["times_from"]) for task in tasks} == {("ok", 0, "task")}
    assert all(task["submit_ns"] <= task["start_ns"] < task["end_ns"] <= task["complete_ns"] for task in tasks)
    assert all(number - 1 in task["after"] for number, task in enumerate(tasks) if number)
    assert all(task["gap_ns"] >= 0 for task in tasks[1:])
    assert tasks[0]["write_call_bytes"] >= 1 << 20
    (trial,) = said.trials
    assert trial["first_start_ns"] < tasks[0]["submit_ns"] < tasks[-1]["complete_ns"] < trial["last_done_ns"]
    (point,) = said.summary["points"]
    parts = point["workflow"]["parts"]
    # A Java machine starts before anything is submitted.
    assert parts["starting"]["median_ns"] > 10**8
    whole = sum(part["median_ns"] for name, part in parts.items() if name != "engine")
    assert whole == pytest.approx(trial["elapsed_ns"], rel=0.05)
    assert point["workflow"]["path_tasks"] == 5


def test_partitions_of_a_real_slurm_get_the_tasks_and_a_verdict(
    tonnage: Any, tmp_path: Path, engine: str, slurm: Callable[..., lab.Slurm]
) -> None:
    hosts = (lab.Host(name="k1"), lab.Host(name="e1"))
    cluster = slurm(hosts, {"mm": ["k1"], "epouta": ["e1"]})
    more = ("--samples", "3", "-process.executor", "slurm", "-process.queue", "{partition}")
    said, tasks = run(
        tonnage,
        tmp_path / "home",
        nextflow_argv(engine, "fan", *more),
        trace="nextflow",
        partition=["mm", "epouta"],
        setup=["true"],
    )
    assert len(tasks) == 2 * 7 and {task["status"] for task in tasks} == {"ok"}
    ended = (cluster.directory / "ended").read_text()
    for partition, host in (("mm", "k1"), ("epouta", "e1")):
        jobs = [line for line in ended.splitlines() if f"Partition={partition} " in line]
        assert len(jobs) == 7 and all(f"NodeList={host} " in job for job in jobs), ended
    assert all(task["times_from"] == "task" for task in tasks)
    (verdict,) = said.summary["comparisons"]
    assert (verdict["group"], verdict["base"]) == ("partition epouta", "partition mm")
    assert verdict["verdict"] == "too few to tell" and verdict["confidence"] == 0, "single runs show nothing"
    engine_share = said.summary["points"][0]["workflow"]["parts"]["engine"]["share"]
    assert 0 < engine_share < 1


def test_a_task_that_fails_is_in_the_records_of_the_trial_that_failed(
    tonnage: Any, tmp_path: Path, engine: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "bad.nf").write_text("process bad {\n  script:\n  'exit 7'\n}\nworkflow { bad() }\n")
    config = WORKFLOWS / "nextflow.config"
    argv = [engine, "-C", str(config), "run", str(tmp_path / "bad.nf"), "-with-trace", "trace.txt"]
    said = tonnage("run", tonnage.campaign(home, kind="command", copies=1, tasks=1, argv=argv, trace="nextflow"))
    assert said.code == 1
    (task,) = [json.loads(line) for line in (tonnage.work / "run-1" / "workflow.jsonl").read_text().splitlines()]
    assert (task["name"], task["status"], task["exit_code"]) == ("bad", "failed", 7)


def test_the_real_snakemake_is_read_from_its_log_and_metadata(tonnage: Any, tmp_path: Path, snake: str) -> None:
    cores = str(min(2, os.cpu_count() or 1))
    argv = [snake, "--snakefile", str(WORKFLOWS / "Snakefile"), "--cores", cores, "--config", "samples=3"]
    said, tasks = run(tonnage, tmp_path / "home", argv, trace="snakemake")
    assert sorted(task["process"] for task in tasks) == ["gather", *["pack"] * 3, *["prepare"] * 3]
    assert {(task["status"], task["times_from"]) for task in tasks} == {("ok", "task")}
    gather = next(task for task in tasks if task["process"] == "gather")
    assert sorted(tasks[number]["process"] for number in gather["after"]) == ["pack"] * 3
    (point,) = said.summary["points"]
    assert point["workflow"]["engine"] == "snakemake" and point["workflow"]["path_tasks"] == 3
