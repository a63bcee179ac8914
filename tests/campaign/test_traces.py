"""Traces of workflow engines: which file is a copy's, what becomes of it, and what is refused beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.errors import RequestError
from tonnage.records import Run, verify_files

HEAD = "name\\tstatus\\tsubmit\\tstart\\tcomplete\\trealtime"
WRITE = f"""\
now=$(date +%s%3N)
printf '{HEAD}\\na\\tCOMPLETED\\t%d\\t%d\\t%d\\t7\\n' $now $((now+1)) $((now+9)) > trace-$TONNAGE_COPY.txt
"""
SAME = {"kind": "command", "copies": 1, "tasks": 1, "trace": "nextflow", "trace_file": "trace-{copy}.txt"}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def text(target: Path, **workload: Any) -> str:
    keys = {**SAME, **workload}
    lines = "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items() if value is not None)
    return f'target = "{target}"\n[repeat]\ncount = 1\n[workload]\n{lines}'


def measured_run(tmp_path: Path, **workload: Any) -> Run:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    out = tmp_path / "run"
    campaign = parse_campaign(text(home, **workload), "c.toml")
    run_campaign(campaign, text=None, command_line=[], out=str(out), observer=Observer())
    return Run.open(out)


def test_each_copy_has_the_tasks_of_its_own_trace_on_the_runs_clock(tmp_path: Path) -> None:
    run = measured_run(tmp_path, argv=["sh", "-c", WRITE], copies=3, tasks=3)
    lines = run.workflow()
    assert [(line["copy"], line["task"], line["name"], line["status"]) for line in lines] == [
        (copy, 0, "a", "ok") for copy in range(3)
    ]
    (trial,) = run.trials()
    assert trial["status"] == "ok"
    for line in lines:
        assert trial["first_start_ns"] - 10**7 <= line["submit_ns"] <= trial["last_done_ns"] + 10**7
        assert (line["wait_ns"], line["run_ns"], line["engine"]) == (10**6, 7 * 10**6, "nextflow")
    assert verify_files(run) == []


def test_a_derived_figure_that_was_changed_is_found(tmp_path: Path) -> None:
    run = measured_run(tmp_path, argv=["sh", "-c", WRITE])
    file = run.path / "workflow.jsonl"
    file.write_text(file.read_text().replace('"wait_ns":1000000', '"wait_ns":1'))
    assert verify_files(run) == ["0000-command: wait_ns of task 0 of copy 0 is 1, and 1000000 from its instants"]


def test_a_trace_of_an_earlier_run_is_not_this_ones_and_a_missing_one_fails_the_trial(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/trace-0.txt").write_text(HEAD.replace("\\t", "\t") + "\nold\tCOMPLETED\t1\t2\t3\t4\n")
    run = measured_run(tmp_path, argv=["true"])
    (trial,) = run.trials()
    assert trial["status"] == "failed" and run.workflow() == []
    assert trial["reason"].startswith("copy 0 left no trace: it wrote no file trace-0.txt in ")


def test_a_copy_that_failed_has_its_own_reason_and_what_it_left_of_a_trace(tmp_path: Path) -> None:
    run = measured_run(tmp_path, argv=["sh", "-c", WRITE + "exit 3"])
    (trial,) = run.trials()
    assert trial["reason"].endswith("ended with exit code 3; what it said was not kept (keep_output keeps it)")
    assert len(run.workflow()) == 1


def test_what_cannot_be_understood_of_a_trace_is_an_event_and_no_failure(tmp_path: Path) -> None:
    run = measured_run(tmp_path, argv=["sh", "-c", WRITE.replace("COMPLETED\\t%d", "COMPLETED\\tx%d")])
    (trial,) = run.trials()
    (event,) = [event for event in run.events() if event["kind"] == "trace"]
    assert trial["status"] == "ok"
    assert "trace-0.txt, line 2: submit 'x" in event["message"]


def test_the_partition_is_in_the_arguments_and_the_environment_of_copies_and_hooks(tmp_path: Path) -> None:
    say = 'echo "$1 $TONNAGE_PARTITION $OWN" >> said'
    run = measured_run(
        tmp_path,
        argv=["sh", "-c", say, "sh", "to-{partition}"],
        environment={"OWN": "in-{partition}"},
        prepare=["sh", "-c", "echo $TONNAGE_PARTITION $OWN > hook"],
        partition=["epouta"],
        trace=None,
        trace_file=None,
    )
    assert [line["setting"]["partition"] for line in run.trials()] == ["epouta"]
    assert (tmp_path / "home/said").read_text() == "to-epouta epouta in-epouta\n"
    assert (tmp_path / "home/hook").read_text() == "epouta in-epouta\n"


def refusal(tmp_path: Path, **workload: Any) -> str:
    with pytest.raises(RequestError) as caught:
        campaign = parse_campaign(text(tmp_path, argv=["true"]) if not workload else text(tmp_path, **workload), "c")
        check(campaign, make_plan(campaign))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_request_that_cannot_be_met_is_refused_with_what_to_do(tmp_path: Path) -> None:
    true = ["true"]
    assert "3 copies would have one trace; hint: put {copy} in trace_file" in refusal(
        tmp_path, argv=true, copies=3, trace_file="trace.txt"
    )
    assert 'hint: add trace = "nextflow"' in refusal(tmp_path, argv=true, trace=None)
    assert "write it relative to that" in refusal(tmp_path, argv=true, trace_file="/trace.txt")
    assert "'airflow' is no workflow engine; hint: they are nextflow, snakemake" in refusal(
        tmp_path, argv=true, trace="airflow"
    )
    assert 'hint: add partition = ["…"]' in refusal(tmp_path, argv=["true", "{partition}"])
