"""Company: one workload beside another, from the request to the answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tonnage.analysis import analyse
from tonnage.analysis.compare.runs import Side, compare_sides
from tonnage.analysis.summary import schema
from tonnage.campaign.campaign_file import build_campaign, parse_campaign, probe_campaign
from tonnage.campaign.company_campaign import company_campaign
from tonnage.campaign.company_trials import COMPANY, COMPANY_ALONE
from tonnage.campaign.kinds.named_company import NAMED, Company, parse_company
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import resume_run, run_campaign
from tonnage.cli import main
from tonnage.errors import RequestError
from tonnage.placement.server_load_lines import plan_kept_lines
from tonnage.records import Run
from tonnage.records.line_types import TrialLine
from tonnage.report.sections import company_matrix

from .interrupting import InterruptingObserver

MODEL = "sim:knee=4,plateau=1GB/s,noise=2%"
CAMPAIGN = """
target = "TARGET"
seed = 4
[workload]
op = "read"
tasks = 2
block_size = "4MiB"
time_limit = "250ms"
wrap = true
beside = BESIDE
[repeat]
count = 3
"""


def measured(out: Path | str, target: str, beside: str, count: int = 3, tasks: int = 2) -> Run:
    text = CAMPAIGN.replace("TARGET", target).replace("BESIDE", beside).replace("count = 3", f"count = {count}")
    text = text.replace("tasks = 2", f"tasks = {tasks}")
    campaign = parse_campaign(text, "test")
    run_campaign(campaign, text=text, command_line=["test"], out=str(out), observer=Observer())
    return Run.open(out)


@pytest.mark.parametrize(
    ("text", "company"),
    [
        ("metadata-storm", Company("metadata-storm", 0.5)),
        ("drain@30%", Company("drain", 0.3)),
        ("drain@0.25", Company("drain", 0.25)),
        ("checkpoint@100%", Company("checkpoint", 1.0)),
        ("drain@12.5%", Company("drain", 0.125)),
    ],
)
def test_company_is_a_name_and_a_share(text: str, company: Company) -> None:
    assert parse_company(text) == company
    assert parse_company(str(company)) == company


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metadata-strom", "did you mean 'metadata-storm'"),
        ("drain@", "no share"),
        ("drain@0%", "no share"),
        ("drain@120%", "no share"),
        ("drain@-1", "no share"),
        ("drain@nan", "no share"),
        ("", "no workload"),
        ("@50%", "no workload"),
    ],
)
def test_what_is_no_company_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        parse_company(text)
    with pytest.raises(RequestError, match=words):
        build_campaign({"target": MODEL, "workload": {"beside": text}})


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        ({"workload": {"kind": "tail", "beside": "drain"}}, "unknown key 'beside'"),
        ({"workload": {"beside": ["drain", "alone"]}, "search": {}}, "one beside at a time"),
        ({"workload": {"beside": "drain"}, "place": {"name": "x"}}, "leaves no files"),
        ({"workload": {"beside": "drain"}, "file_names": ["/x/y"]}, "files of its own"),
        ({"workload": {"beside": "drain", "hosts": ["a", "b"]}}, "company is on one host"),
        ({"workload": {"beside": "drain"}, "job": {"on": "slurm", "nodes": 2}}, "company is on one host"),
    ],
)
def test_company_where_there_can_be_none_is_refused(campaign: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        build_campaign({"target": MODEL, **campaign})


def test_each_is_told_apart_in_the_records(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    run = measured(tmp_path / "run", str(tmp_path / "storage"), '["alone", "metadata-storm@20%", "stream-read@20%"]')
    lines = run.trials()
    assert [line for line in lines if line["status"] != "ok"] == []
    own = [line for line in lines if line["purpose"] == "measure"]
    assert sorted(line["setting"].get("beside", "") for line in own) == sorted(
        ["", "metadata-storm@20%", "stream-read@20%"] * 3
    )
    companies = {line["record"]: line for line in lines if line["purpose"] == COMPANY}
    beside = [line for line in own if "beside" in line["setting"]]
    assert len(companies) == len(beside) == 6
    for line in beside:
        company = companies[line["company"]["record"]]
        assert line["company"] == company["company"]
        # It runs from before the first operation on, and is stopped after the last one; its own last may end earlier.
        assert company["first_start_ns"] and line["first_start_ns"] and company["last_done_ns"] and line["last_done_ns"]
        assert company["first_start_ns"] < line["first_start_ns"]
        assert company["last_done_ns"] > (line["first_start_ns"] + line["last_done_ns"]) / 2
        tasks = [task["operations"] for task in run.tasks() if task["record"] == line["record"]]
        assert len(tasks) == 2, "none of the company's tasks"
        assert sum(tasks) == line["operations"]
        offered = line["company"]["offered_operations_per_s"]
        lasted_s = (company["elapsed_ns"] or 0) / 1e9
        assert 0 < company["operations"] <= offered * lasted_s + 32, "no more than it was offered"
    alone = [line for line in lines if line["purpose"] == COMPANY_ALONE]
    assert len(alone) == 6
    assert list((tmp_path / "storage").iterdir()) == [], "both clean up"
    assert main(["verify", str(run.path)]) == 0


def test_alone_and_beside_are_two_points_also_where_there_is_one_company(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", MODEL, '["alone", "stream-read@50%"]')
    found = analyse(run)
    assert [(point.group, point.repetitions) for point in found.points] == [("", 3), ("beside stream-read@50%", 3)]
    (cost,) = found.company
    assert (cost.blocks, cost.beside) == (3, "stream-read@50%")
    rate = cost.rate
    assert rate is not None and rate.low is not None and rate.high is not None
    assert rate.low <= rate.ratio <= rate.high < 1
    few = analyse(measured(tmp_path / "few", MODEL, '["alone", "stream-read@50%"]', count=2)).company[0].rate
    assert few is not None and (few.low, few.high, few.confidence) == (None, None, 0)


def test_runs_with_and_without_company_are_never_compared(tmp_path: Path) -> None:
    alone, beside = (
        measured(tmp_path / name, MODEL, text) for name, text in (("a", '"alone"'), ("b", '"stream-read@50%"'))
    )
    found = compare_sides(Side.of(alone), Side.of(beside))
    assert not found.cells
    assert found.only_base and found.only_other


def test_company_that_does_nothing_alone_fails_what_it_was_to_be_beside(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", "sim:full-after=40MiB", '["alone", "stream-write@50%"]')
    own = [line for line in run.trials() if line["purpose"] == "measure"]
    failed = [line for line in own if line["status"] == "failed"]
    assert len(failed) == 3
    assert {line["reason"] for line in failed} == {"stream-write did nothing alone, so there is no rate to offer it"}
    assert sum(line["status"] == "ok" for line in own) == 3, "alone it can be measured"


def test_the_matrix_is_told_on_a_page_on_a_screen_and_as_an_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["company", MODEL, "stream-read", "metadata-storm", "--share", "40%", "--budget", "60s", "--seed", "3"]
    assert main([*words, "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, schema())
    names = ["stream-read", "metadata-storm"]
    assert [(one["workload"], one["beside"]) for one in told["company"]] == [
        (name, f"{other}@40%") for name in names for other in names
    ]
    for one in told["company"]:
        assert one["at_offered_rate"]
        assert one["rate"]["low"] < 0.6 * 1.1 and one["rate"]["high"] > 0.6 * 0.9
        assert one["p99"]["ratio"] > 1.3
    assert main(["report", str(out)]) == 0
    screen = capsys.readouterr().out
    assert re.search(r"stream-read: keeps (5[7-9]|6[0-3]) % .*of its throughput beside stream-read@40%", screen)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count('id="company"') == 1
    assert main(["verify", str(out)]) == 0


def test_a_probe_beside_company_tells_what_that_reached_and_keeps_no_line_for_placement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["probe", MODEL, "--op", "read", "--beside", "stream-write@30%", "--seed", "3", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, schema())
    (one,) = told["company"]
    assert (one["op"], one["beside"], one["rate"], one["tasks"]) == ("read", "stream-write@30%", None, None)
    assert one["reached"] > 0.9
    (line,) = told["load_lines"]
    assert 0.6e9 < line["plateau_bytes_per_s"] < 0.8e9, "what company leaves of 1 GB/s"
    run = Run.open(out)
    assert plan_kept_lines(run, analyse(run)).lines == ()
    assert main(["report", str(out)]) == 0
    assert "read: measured beside stream-write@30%" in capsys.readouterr().out


def test_an_interrupted_run_goes_on_where_it_stood(tmp_path: Path) -> None:
    campaign = company_campaign(MODEL, ["stream-read", "metadata-storm"], budget_ns=60 * 10**9, seed=3)
    out = str(tmp_path / "run")
    ended = run_campaign(campaign, text=None, command_line=["test"], out=out, observer=InterruptingObserver(12))
    assert ended.state == "interrupted"
    before = Run.open(out).trials()
    assert resume_run(out, observer=Observer()).state == "complete"
    after = Run.open(out).trials()
    assert [line["record"] for line in after[: len(before)]] == [line["record"] for line in before]
    assert len({line["record"] for line in after}) == len(after)
    alone = [line for line in after if line["purpose"] == COMPANY_ALONE]
    assert len(alone) <= 6, "what is known is not measured again"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["metadata-strom"], "did you mean"),
        (["drain", "drain"], "twice"),
        (["--share", "0"], "no share"),
        (["--share", "150%"], "above 100 %"),
        (["--share", "x"], "not a share"),
        (["--budget", "2s"], "too short"),
        (["--budget", "0s"], "too short"),
        (["--seed", "-1"], "whole number"),
    ],
)
def test_a_wrong_request_is_one_line_and_leaves_nothing(
    words: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    try:
        code: object = main(["company", MODEL, *words, "--out", str(out)])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1
    assert not out.exists()


def test_a_dry_run_tells_time_and_space_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["company", str(tmp_path), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "42 settings" in said and "beside checkpoint@50%" in said
    assert "company   at most 512 MiB more" in said and "; 3 trials of " in said
    assert said.endswith("no trial starts after 300 s of measuring; names are worked on until that time is over\n")
    assert list(tmp_path.iterdir()) == []


def test_all_workloads_have_a_campaign(tmp_path: Path) -> None:
    campaign = company_campaign(str(tmp_path))
    assert [one.name for one in campaign.workloads] == list(NAMED)
    assert len(campaign.settings()) == len(NAMED) * (len(NAMED) + 1)


def test_a_search_beside_files_goes_to_its_end_and_its_trials_last_until_the_company_is_there(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert (
        main(["probe", "sim:", "--beside", "metadata-storm", "--budget", "60s", "--no-report", "--out", str(out)]) == 0
    )
    own = [line for line in Run.open(out).trials() if line["purpose"] == "measure"]
    assert {line["phase"] for line in own} == {"write", "read"}
    assert all(int(line["setting"]["time_limit_ns"] or 0) >= 2 * 10**9 for line in own)


class _Weighing(Observer):
    """Notes the most bytes that are in the files of a directory after any phase."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.most = 0

    def recorded(self, line: TrialLine) -> None:  # noqa: ARG002  (as every observer's)
        sizes = (path.stat().st_size for path in self.directory.rglob("data.*"))
        self.most = max(self.most, sum(sizes))


def test_the_space_of_a_probe_holds_for_its_files_and_those_of_its_company(tmp_path: Path) -> None:
    storage, out = tmp_path / "storage", tmp_path / "run"
    storage.mkdir()
    bound = 192 << 20
    campaign = probe_campaign(
        str(storage),
        {"op": "write", "budget_ns": 8 * 10**9, "max_tasks": 4, "beside": "stream-write", "space": bound, "seed": 1},
    )
    weighing = _Weighing(storage)
    run_campaign(campaign, text=None, command_line=["test"], out=str(out), observer=weighing)
    assert 128 << 20 < weighing.most <= bound
    assert Run.open(out).manifest["campaign"]["budget"]["space_bytes"] <= bound, "a resumed run has the same bound"


def test_a_space_that_the_company_alone_fills_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "storage").mkdir()
    words = ["--beside", "stream-write", "--space", "64MiB", "--out", str(tmp_path / "run")]
    assert main(["probe", str(tmp_path / "storage"), *words]) == 2
    said = capsys.readouterr().err
    assert "the files of the company need 128 MiB" in said and "--space is 64 MiB" in said and said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["storage"]
    words[3] = "130MiB"
    assert main(["probe", str(tmp_path / "storage"), *words]) == 2
    assert "beside the 128 MiB of its company" in capsys.readouterr().err
    campaign = build_campaign(
        {"target": str(tmp_path), "workload": {"block_size": "1MiB", "beside": "drain"}, "budget": {"space": "70MiB"}}
    )
    with pytest.raises(RequestError, match=r"company need 64 MiB, the files 8 MiB, and budget\.space is 70 MiB"):
        check(campaign, make_plan(campaign))


def test_two_companies_of_a_probe_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--beside", "drain", "--beside", "checkpoint", "--out", str(tmp_path / "run")]
    assert main(["probe", "sim:", *words]) == 2
    said = capsys.readouterr().err
    assert "a probe has one company, and 2 are given" in said and said.count("\n") == 1


def test_a_matrix_without_time_for_it_names_what_is_missing_and_the_budget_that_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    campaign = company_campaign(MODEL, ["stream-read", "metadata-storm"], budget_ns=60 * 10**9, seed=3)
    short = campaign.model_copy(update={"budget": campaign.budget.model_copy(update={"time_ns": 8 * 10**9})})
    run_campaign(short, text=None, command_line=["test"], out=str(out), observer=Observer())
    (told,) = [one for one in analyse(Run.open(out)).findings if one.code == "company-not-measured"]
    assert told.subject == "4 pairs of workloads"
    assert "stream-read beside metadata-storm@50%" in told.evidence
    assert main(["report", str(out)]) == 0
    assert "company-not-measured  4 pairs of workloads: --budget " in capsys.readouterr().out
    assert "company-not-measured" in (out / "report.html").read_text(encoding="utf-8")
    named = told.evidence.split()[1]
    again = str(tmp_path / "again")
    words = ["stream-read", "metadata-storm", "--budget", named, "--seed", "3", "--no-report", "--out", again]
    assert main(["company", MODEL, *words]) == 0
    assert all(cost.rate is not None and cost.rate.confidence for cost in analyse(Run.open(again)).company)


def test_company_that_did_less_than_it_was_offered_is_a_finding(tmp_path: Path) -> None:
    found = analyse(measured(tmp_path / "run", MODEL, '["alone", "stream-read@100%"]', tasks=64))
    (cost,) = found.company
    (told,) = [one for one in found.findings if one.code == "company-below-rate"]
    assert cost.reached < 0.9
    assert "stream-read@100%" in told.subject and "its start before each trial included" in told.evidence


def test_what_was_not_measured_alone_keeps_its_row(tmp_path: Path) -> None:
    found = analyse(measured(tmp_path / "run", MODEL, '["stream-read@50%"]'))
    ((_, table),) = company_matrix.tables(found)
    assert table.rows[0][1] == "stream-read@50%"
    (told,) = company_matrix.sentences(found)
    assert any('add "alone" to its beside' in why for why in told.why)


def test_company_of_a_training_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--training", "unet3d-h100", "--beside", "stream-read", "--out", str(tmp_path / "run")]
    assert main(["probe", "sim:", *words]) == 2
    assert "--beside has no meaning with --training" in capsys.readouterr().err
