"""Parts of a submitted run: which trials a job measures, in which order, and what a lost job leaves in the records."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.jobs import job_program
from tonnage.campaign.jobs.run_by_jobs import has_record, record_lost
from tonnage.campaign.jobs.trial_batch import (
    Batch,
    BatchSchedule,
    Ledger,
    allocations_of,
    check_programs,
    check_site,
    job_request,
    settings_of,
    spread_of,
)
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Step
from tonnage.campaign.schedule import Allocation, Sweep, Trial
from tonnage.cluster.scheduler import JobRequest, Queue
from tonnage.errors import RequestError
from tonnage.records import Run, RunWriter, trial_line


def campaign(workload: dict[str, Any], **more: Any) -> Campaign:
    base = {"target": "null:", "seed": 7, "repeat": {"count": 3}, "workload": {"op": "write", "tasks": 2, **workload}}
    return build_campaign(base | more)


def every_trial(found: Campaign) -> list[Trial]:
    """In the order in which they come, each measured as soon as it does."""
    sweep, lines, trials = Sweep(found, 7), [], []
    while (trial := sweep.next(lines, 0)) is not None:
        lines.append(line_of(trial, len(lines)))
        trials.append(trial)
    return trials


def line_of(trial: Trial, number: int, phase: str = "write", **changes: Any) -> dict[str, Any]:
    line = trial_line(
        trial=number, setting=trial.setting.as_dict(), phase=phase, repetition=trial.repetition, block=trial.block,
        started="", result=None, reason="x",
    )  # fmt: skip
    return line | changes


PLACES = {"partition": ["a", "b", "c"], "transfer_size": ["4k", "8k", "16k"], "block_size": "1MiB"}


def test_within_a_block_each_place_is_visited_once_and_the_order_differs() -> None:
    trials = every_trial(campaign(PLACES))
    assert len(trials) == 27
    visits = [
        list(group) for _, group in itertools.groupby(trials, lambda trial: (trial.block, trial.setting.partition))
    ]
    assert len(visits) == 9, "a place was left and entered again"
    orders = {tuple(trial.setting.partition for trial in trials if trial.block == block) for block in range(3)}
    sizes = {tuple(trial.setting.as_dict()["transfer_size"] for trial in visit) for visit in visits}
    assert len(orders) > 1 and len(sizes) > 1, "nothing was drawn"


def test_a_campaign_in_one_place_is_drawn_as_ever() -> None:
    """Seeds of old runs give the orders that they gave: a run of an older version is resumed in its own."""
    import random

    found = campaign({"transfer_size": ["4k", "8k", "16k", "32k"], "block_size": "1MiB"})
    first = [trial.setting for trial in every_trial(found)][:4]
    settings = found.settings()
    drawn = list(settings)
    random.Random("7/0").shuffle(drawn)
    assert first == drawn


def test_stretches_of_all_parts_are_the_whole_run_and_nothing_twice() -> None:
    found = campaign(PLACES)
    allocations, lines, jobs = allocations_of(found), [], 0
    while (trial := Sweep(found, 7).next(lines, 0)) is not None:
        batch = Batch.of(jobs, trial, allocations)
        stretch = BatchSchedule(Sweep(found, 7), Batch.parse(str(batch)), allocations)
        while (trial := stretch.next(lines, 0)) is not None:
            assert trial.setting in settings_of(batch, found)
            lines.append(line_of(trial, len(lines)))
        jobs += 1
        assert stretch.is_more == (jobs < 9)
    assert jobs == 9 and len(lines) == 27


def test_one_place_is_one_part() -> None:
    found = campaign({"transfer_size": ["4k", "8k"], "block_size": "1MiB"})
    assert Batch.of(0, every_trial(found)[0], allocations_of(found)) == Batch(0, 0, None)


@pytest.mark.parametrize("text", ["", "1", "1:", "a:b", "0:0/", "-1:0", "0:0/0/0", "²:0"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is no part of a run"):
        Batch.parse(text)


@pytest.mark.parametrize(
    ("workload", "job", "nodes", "per_node"),
    [
        ({}, {}, 1, 1),
        ({"tasks": [1, 9]}, {"nodes": 2}, 2, 5),
        ({"tasks": 8, "tasks_per_node": 4}, {"nodes": 2}, 2, 1),
        ({"tasks": 8, "hosts": ["c", "a", "b"]}, {}, 3, 3),
        ({"tasks": 8}, {"nodes": 2, "processes_per_node": 2}, 2, 2),
    ],
)
def test_nodes_and_processes_follow_from_the_file(
    workload: dict[str, Any], job: dict[str, Any], nodes: int, per_node: int
) -> None:
    found = campaign(workload, job=job)
    spread = spread_of(found, allocations_of(found)[0])
    assert (spread.nodes, spread.per_node) == (nodes, per_node)


def test_hosts_and_options_reach_the_request_in_their_order(tmp_path: Path) -> None:
    found = campaign({"hosts": [["c", "a"]], "partition": "mm"}, job={"time_limit": "1500ms", "account": "p"})
    request = job_request(found, tmp_path, "1f2e3d4c", Batch(3, 0, None), "/home")
    assert (request.queue, request.hosts, request.terms.time_limit_s, request.terms.account) == (
        "mm",
        ("c", "a"),
        2,
        "p",
    )
    assert request.key == "tonnage-1f2e3d4c-3" and request.argv[-2:] == ("--part", "3:0")
    assert request.spread is not None and request.spread.order == str(tmp_path / "jobs" / "3.hosts")


def run_with(tmp_path: Path, lines: list[dict[str, Any]]) -> Path:
    writer = RunWriter.create(tmp_path / "run", {"state": "running"})
    for line in lines:
        writer.append_trial(line, (), ())
    return writer.path


def test_a_lost_trial_gets_a_record_for_each_phase_that_it_did_not_come_to(tmp_path: Path) -> None:
    found = build_campaign(
        {"target": "null:", "repeat": {"count": 2}, "workload": {"kind": "files", "items_per_directory": 4, "tasks": 1}}
    )
    trial = Sweep(found, 7).next([], 0)
    assert trial is not None and len(trial.setting.phases) > 2
    first, *rest = trial.setting.phases
    path = run_with(tmp_path, [line_of(trial, 0, first, status="ok", reason=None)])
    new = record_lost(path, Sweep(found, 7), "job 5 died")
    assert [(line["trial"], line["phase"], line["status"]) for line in new] == [(0, phase, "failed") for phase in rest]
    assert {line["reason"] for line in new} == {"job 5 died"}
    lines = Run.open(path).trials()
    following = Sweep(found, 7).next(lines, 0)
    assert following is not None and following.repetition == 1, "the lost repetition would be measured again"


@pytest.mark.parametrize("before", [[], ["interrupted"]])
def test_a_lost_trial_without_records_of_its_own_has_a_number_of_its_own(tmp_path: Path, before: list[str]) -> None:
    found = campaign({"block_size": "1MiB"})
    trial = Sweep(found, 7).next([], 0)
    assert trial is not None
    path = run_with(tmp_path, [line_of(trial, number, status=status) for number, status in enumerate(before)])
    (line,) = record_lost(path, Sweep(found, 7), "gone")
    assert (line["trial"], line["repetition"], line["setting"]["partition"]) == (len(before), 0, None)
    assert Allocation.of(trial.setting) == Allocation()


def test_nothing_is_recorded_where_nothing_was_left(tmp_path: Path) -> None:
    found = campaign({"block_size": "1MiB"}, repeat={"count": 1})
    trial = Sweep(found, 7).next([], 0)
    assert trial is not None
    path = run_with(tmp_path, [line_of(trial, 0)])
    assert record_lost(path, Sweep(found, 7), "gone") == []


def test_a_job_that_does_not_see_all_records_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = campaign({"block_size": "1MiB"})
    trial = Sweep(found, 7).next([], 0)
    assert trial is not None
    path = run_with(tmp_path, [line_of(trial, 0)])
    with Ledger(path) as ledger:
        ledger.want(Batch(0, 0, None), job_request(found, path, "1f2e3d4c", Batch(0, 0, None), str(tmp_path)))
    (path / "trials.jsonl").write_bytes(b"")
    monkeypatch.setattr(job_program, "LAG_S", 0.3)
    with pytest.raises(RequestError, match="does not see all records"):
        job_program.carry_out(str(path), "0:0")
    assert (path / "trials.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("statuses", "at", "before", "found"),
    [
        (["failed"], 0, False, True),
        (["ok", "ok"], 1, False, True),
        (["interrupted"], 0, False, False),
        (["ok"], 1, False, False),
        (["failed"], 0, True, False),
    ],
)
def test_a_trial_that_its_job_recorded_itself_is_not_lost(
    tmp_path: Path, statuses: list[str], at: int, before: bool, found: bool
) -> None:
    """Else the next one, which nobody began, would be failed for it."""
    trial = Sweep(campaign({"block_size": "1MiB"}), 7).next([], 0)
    assert trial is not None
    path = run_with(tmp_path, [line_of(trial, number, status=status) for number, status in enumerate(statuses)])
    step = Step(at, None, trial.setting, "write", 0, "measure", 0, None)
    size = (path / "trials.jsonl").stat().st_size
    assert has_record(path, step, beyond_bytes=size if before else 0) is found
    assert not has_record(path, None, beyond_bytes=0)


class Site:
    """A scheduler of three hosts that takes any job."""

    name = "slurm"

    def queues(self) -> list[Queue]:
        return []

    def hosts(self) -> list[Any]:
        return [SimpleNamespace(name=name, up=True) for name in ("a", "b", "c")]

    def command(self, request: JobRequest) -> tuple[str, ...]:
        return request.argv


@pytest.mark.parametrize(
    ("workload", "job", "told"),
    [
        ({"tasks": 4, "tasks_per_node": 1}, {"nodes": 3}, "on each of 3 nodes (tasks_per_node); hint: ask for 4"),
        ({"tasks": 4}, {"nodes": 3, "processes_per_node": 1}, "than the 3 processes of the job (1 on each of 3 nodes)"),
        ({"tasks": 9, "tasks_per_node": 4}, {"nodes": 3}, None),
        ({"tasks": 4}, {"nodes": 3}, None),
        ({"tasks": 64}, {"nodes": 1}, None),
    ],
)  # fmt: skip
def test_tasks_that_no_job_can_take_are_refused_where_it_is_submitted(
    workload: dict[str, Any], job: dict[str, Any], told: str | None
) -> None:
    found = campaign(workload, job={"on": "slurm", **job})
    site: Any = Site()
    if told is None:
        check_site(found, site)
    else:
        with pytest.raises(RequestError) as refused:
            check_site(found, site)
        assert told in str(refused.value)


def commands(*programs: str, target: str, **more: Any) -> Campaign:
    workloads = [
        {"name": f"w{number}", "kind": "command", "argv": [program, "x"], "copies": 1, "tasks": 1, **more}
        for number, program in enumerate(programs)
    ]
    return build_campaign({"target": target, "job": {"on": "slurm"}, "workload": workloads})


def test_programs_that_are_not_there_are_refused_with_what_measures_the_rest(tmp_path: Path) -> None:
    check_programs(commands("true", str(tmp_path.parent / "not-here/engine"), target=str(tmp_path)))
    with pytest.raises(RequestError) as refused:
        check_programs(commands("no-such-engine", "true", "no-such-other", target=str(tmp_path)))
    said = str(refused.value)
    assert "workload.argv: there is no program 'no-such-engine'; hint: " in said
    assert said.endswith("or measure the rest: --without w0 --without w2")
    with pytest.raises(RequestError, match=r"there is no program '\./engine'"):
        check_programs(commands("./engine", target=str(tmp_path)))
    with pytest.raises(RequestError, match=r"workload\.cleanup: there is no program 'no-rm'"):
        check_programs(commands("true", target=str(tmp_path), cleanup=["no-rm"]))
