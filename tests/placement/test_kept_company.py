"""Kept results of company: a job of another kind than those that run is promised less, by what was measured."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.analysis.findings.undoing import Doubt
from tonnage.analysis.results import Finding
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.cli import main
from tonnage.placement.capacity import PATTERN, capacities
from tonnage.placement.cluster_snapshot import ClusterSnapshot, placements_of
from tonnage.placement.kept_company import company_loss, keep_company_results, known_company
from tonnage.placement.server_load_lines import line_directories, lines_of_servers
from tonnage.placement.site import Line, Policy, Server, Site
from tonnage.placement.submission_ledger import Ledger
from tonnage.placement.task_caps import Demand, choose_cap
from tonnage.placement.where import Located, locate
from tonnage.records import Run
from tonnage.records.company_result_files import KeptCompany, company_in, keep_company

LARGE, SMALL = 1 << 20, 4 << 10
RESULT = KeptCompany(
    target="nfs:rcss1:/data", operation="read", transfer_size=SMALL, beside_operation="read",
    beside_transfer_size=LARGE, share=0.5, ratio=0.3, low=0.28, high=0.32, measured_at_s=1e6, run="/r",
)  # fmt: skip
SERVER = Server(name="rcss1", line=Line(tasks=20, plateau=10**9))
DATA = Located(path="/data", mount=None, target=RESULT.target, servers=("rcss1",))
ONE_TASK = Demand(bytes=0, operations=0)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TONNAGE_SYSTEM_CONFIG", str(tmp_path / "etc"))


def cap(tmp_path: Path, results: tuple[KeptCompany, ...], transfer_size: int) -> tuple[int | None, str]:
    """Of an array of 100 copies, while ten tasks that read 1 MiB at a time are promised."""
    ledger = Ledger(tmp_path)
    if ledger.entry("k1") is None:
        kept = {"target": DATA.target, "pattern": PATTERN, "server": "rcss1", "cap": 10, "tasks": 10}
        ledger.intend("k1", 99.0, {**kept, "transfer_size": LARGE})
    world = ClusterSnapshot(now_s=1e6 + 5, jobs=[], placements=placements_of(ledger, (), since_s=0.0), company=results)
    lines = lines_of_servers(Site(server=(SERVER,)), (SERVER,), DATA)
    found = capacities((SERVER,), DATA, world, lines, ledger, Policy(), transfer_size=transfer_size)
    return choose_cap(ONE_TASK, found["rcss1"], asked="auto", copies=100, slots=None, cpu_bound_below=0.1)


def test_a_job_beside_jobs_of_another_kind_is_promised_less_and_told_why(tmp_path: Path) -> None:
    at_once, why = cap(tmp_path, (RESULT,), SMALL)
    # Ten of twenty are promised; beside half of the storage 60 % of the other half is kept.
    assert at_once == 6
    assert "other jobs may use 10 of it and cost 4.0 more as company" in why
    assert "reads of 4KiB keep 30 % [28, 32] beside reads of 1MiB" in why and "(tonnage company, today)" in why


def test_without_results_or_beside_jobs_of_its_own_kind_nothing_changes(tmp_path: Path) -> None:
    plain = cap(tmp_path, (), SMALL)
    assert plain[0] == 10 and "company" not in plain[1]
    for results, size in (
        ((RESULT,), LARGE),
        ((replace(RESULT, target="nfs:other:/data"),), SMALL),
        ((replace(RESULT, high=0.5),), SMALL),
        ((replace(RESULT, operation="write"),), SMALL),
        ((replace(RESULT, beside_transfer_size=16 << 20),), SMALL),
        ((RESULT, replace(RESULT, ratio=0.5, low=0.48, high=0.52, measured_at_s=1e6 + 1)), SMALL),
    ):
        assert cap(tmp_path, results, size) == plain


@pytest.mark.parametrize(("tasks", "lost"), [(0.0, 0.0), (2.5, 3.5), (5.0, 6.0), (10.0, 4.0), (20.0, 0.0)])
def test_what_is_lost_grows_with_the_share_that_runs_up_to_the_measured_one(tasks: float, lost: float) -> None:
    told = company_loss(
        (replace(RESULT, share=0.25, ratio=0.45, low=0.44, high=0.46),), RESULT.target, SMALL, {LARGE: tasks},
        line=20, left=20 - tasks, now_s=1e6,
    )  # fmt: skip
    assert told.tasks == pytest.approx(lost)
    assert bool(told.why) == bool(lost)


def test_what_is_no_result_is_passed_over(tmp_path: Path) -> None:
    kept = keep_company(tmp_path, RESULT)
    text = kept.read_text()
    changes = (("0.3,", "NaN,"), ('"share": 0.5', '"share": 2'), ("4096", '"x"'))
    for number, damaged in enumerate(("", "[]", *(text.replace(*change) for change in changes))):
        (tmp_path / f"{number}.company").write_text(damaged)
    (tmp_path / "9.company").mkdir()
    assert company_in(tmp_path) == [RESULT]
    assert company_in(tmp_path / "none") == []


def test_a_run_of_company_leaves_its_results_and_where_tells_what_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage, out = tmp_path / "storage", tmp_path / "run"
    storage.mkdir()
    campaign = build_campaign(
        {
            "target": str(storage),
            "seed": 1,
            "workload": {
                "op": "read", "tasks": 2, "block_size": "4MiB", "time_limit": "250ms", "wrap": True,
                "beside": ["alone", "small-random-reads@40%"],
            },
            "repeat": {"count": 3},
        }
    )  # fmt: skip
    run_campaign(campaign, text=None, command_line=["test"], out=str(out), observer=Observer())
    run = Run.open(out)
    cached = Doubt(Finding("cache-read", "read", "0 % of the bytes came from a device", ""), None)
    undone = replace(analyse(run), doubts=(cached,))
    assert keep_company_results(run, undone) == "the results of company were not kept: cache-read"
    assert known_company(Site()) == ()
    said = keep_company_results(run, analyse(run))
    (directory,) = line_directories(Site())
    assert said == f"kept 1 result of company for placement in {directory}"
    (kept,) = known_company(Site())
    target = locate(str(storage), Site(), timeout_s=5).target
    assert (kept.target, kept.transfer_size, kept.beside_transfer_size) == (target, LARGE, SMALL)
    assert (kept.operation, kept.beside_operation, kept.run) == ("read", "read", str(out))
    assert 0 < kept.share <= 0.4 and kept.low <= kept.ratio <= kept.high
    keep_company(directory, replace(RESULT, target=target, measured_at_s=time.time() + 1))
    main(["where", str(storage)])
    assert "company    reads of 4KiB keep 30 % [28, 32] beside reads of 1MiB" in capsys.readouterr().out
