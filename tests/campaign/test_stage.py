"""The campaign kind ``stage``: its factors, its settings, what it refuses, and what a trial of it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.campaign.campaign_file import build_campaign, parse_campaign
from tonnage.campaign.execute.stage import MOVER, Copy
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.campaign.schedule import Sweep
from tonnage.errors import RequestError
from tonnage.records import Run, verify_files
from tonnage.staging.mover_plan import make_plan as stage_plan

MIB = 1 << 20
SMALL = 'tasks = 2\ntransfer_size = "64KiB"\nblock_size = "256KiB"\n'


def stage(text: str = "", target: str = '["fast", "slow"]', top: str = "") -> Campaign:
    return parse_campaign(f'target = {target}\n{top}\n[workload]\nkind = "stage"\n{text}', "c.toml")


def refusal(text: str, target: str = '["fast", "slow"]') -> str:
    with pytest.raises(RequestError) as caught:
        campaign = stage(text, target)
        check(campaign, make_plan(campaign))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def tiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
    return tmp_path


def measured_lines(campaign: Campaign, home: Path, state: str = "complete") -> list[dict]:
    """The lines of a run, which must agree with its other files and leave nothing behind."""
    done = run_campaign(campaign, text=None, command_line=(), out=str(home / "run"), observer=Observer())
    run = Run.open(done.path)
    assert done.state == state
    assert verify_files(run) == []
    assert not [*(home / "fast").iterdir(), *(home / "slow").iterdir()]
    return run.trials()


def test_each_way_is_a_setting_with_an_application_and_what_follows_it() -> None:
    settings = stage("tasks = 4\n").settings()
    assert [setting.by for setting in settings] == ["mover", "copy"]
    assert {setting.phases for setting in settings} == {("write", "stage")}


def test_both_tiers_take_the_files_at_once() -> None:
    (setting,) = stage('by = "mover"\ntasks = 4\nblock_size = "8MiB"\nfrom = 2\nto = 0\n').settings()
    target = make_plan(stage(target='["a", "b", "c"]')).target
    assert setting.space_in(target) == [32 * MIB, 0, 32 * MIB]
    assert setting.devices_needed == 3


def test_scale_shrinks_what_a_task_writes_and_not_the_tasks() -> None:
    campaign = stage('by = "copy"\ntasks = 16\nblock_size = "100MiB"\n').model_copy(update={"scale": 0.02})
    (setting,) = campaign.settings()
    assert (setting.tasks, setting.block_size) == (16, 2 * MIB)


@pytest.mark.usefixtures("tiers")
def test_what_cannot_work_is_refused_in_one_line() -> None:
    assert "from and to are both directory 0; hint: give two directories" in refusal("to = 0\n")
    assert "block_size 3MiB is not a multiple" in refusal('transfer_size = "2MiB"\nblock_size = "3MiB"\n')
    assert "stage moves real files, and sim:knee=4 holds none; hint" in refusal("", '"sim:knee=4"')
    assert "3 devices are asked for and the target has 2 directories" in refusal("to = 2\n")
    assert refusal("fro = 1\n") == "c.toml:5: unknown key 'fro' in [workload]; hint: did you mean 'from'?"


def test_a_setting_and_a_campaign_read_back_equal() -> None:
    campaign = stage('from = 1\nto = 0\nworkers = 3\ncheck = "read-back"\n')
    assert build_campaign(json.loads(campaign.model_dump_json()), stored=True) == campaign
    for setting in campaign.settings():
        assert setting_of(json.loads(json.dumps(setting.as_dict()))) == setting


def test_the_mover_of_a_campaign_is_that_of_stage_run_but_does_not_give_way(tmp_path: Path) -> None:
    plan = stage_plan(tmp_path, tmp_path / "to", state=None, name="x")
    usual = json.loads(plan.options())
    assert {key: usual[key] for key in MOVER} | {"gentle": "off", "marks": None} == MOVER
    assert usual.keys() - MOVER.keys() == {"from", "to", "state", "name", "include", "check", "workers"}


def test_a_trial_is_timed_from_the_first_write_until_all_is_safe(tiers: Path) -> None:
    lines = measured_lines(stage(SMALL, top="[repeat]\ncount = 2"), tiers)
    assert len(lines) == 8
    for write, staged in zip(lines[::2], lines[1::2], strict=True):
        assert (write["phase"], staged["phase"]) == ("write", "stage")
        assert (staged["operations"], staged["bytes"]) == (2, 512 << 10)
        assert staged["first_start_ns"] == write["first_start_ns"]
        told = staged["stage"]
        assert told["application_ns"] == write["elapsed_ns"]
        assert told["application_ns"] + told["drain_ns"] == staged["elapsed_ns"]
        assert staged["durability"] == {"mover": "fsync", "copy": "syncfs"}[staged["setting"]["by"]]


def test_one_directory_stands_for_both_tiers(tiers: Path) -> None:
    campaign = stage('by = "mover"\n' + SMALL, '"fast"', "[repeat]\ncount = 1")
    assert [line["status"] for line in measured_lines(campaign, tiers)] == ["ok", "ok"]


def test_a_file_that_did_not_arrive_fails_the_trial(tiers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copy, "_bring", lambda *_: None)
    write, staged = measured_lines(stage('by = "copy"\n' + SMALL, top="[repeat]\ncount = 1"), tiers)
    assert (write["status"], staged["status"]) == ("ok", "failed")
    assert staged["reason"] == "0 files of 0 bytes arrived, and 2 of 524288 were written"


def test_what_cp_says_is_the_reason(tiers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tonnage.campaign.execute.stage.FILES", "nothing.*")
    _, staged = measured_lines(stage('by = "copy"\n' + SMALL, top="[repeat]\ncount = 1"), tiers)
    assert staged["reason"].startswith("cp ended with exit code 1: ")


def test_streams_and_files_work_on_one_directory_of_the_target(tiers: Path) -> None:
    text = 'target = ["fast", "slow"]\n[repeat]\ncount = 1\n'
    for name, kind in (("s", 'kind = "stream"\nop = "write"\nblock_size = "1MiB"'), ("f", 'kind = "files"\nitems = 4')):
        text += f'[[workload]]\nname = "{name}"\n{kind}\ntasks = 1\ndevice = 1\n'
    # Nobody may write there: a single file in the wrong place would fail the run.
    campaign = parse_campaign(text, "c.toml")
    stream, files = campaign.settings()
    target = make_plan(campaign).target
    assert stream.space_in(target) == [0, MIB]
    spec = target.spec("posix", "auto", [Path("a"), Path("b")], 0, device=files.device)
    assert spec["directories"] == ["b"]
    assert {line["status"] for line in measured_lines(campaign, tiers)} == {"ok"}


def test_a_trial_that_was_killed_before_its_last_phase_is_measured_again(tiers: Path) -> None:
    campaign = stage('by = "copy"\n' + SMALL, top="[repeat]\ncount = 1")
    write, staged = measured_lines(campaign, tiers)
    schedule = Sweep(campaign, 1)
    assert schedule.next([write, staged], 0) is None
    again = Sweep(campaign, 1).next([write], 0)
    assert again is not None
    assert again.repetition == 0
