"""``files``: what a table says, which phases and counts it amounts to, and how a trial goes on after each end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.campaign_file import build_campaign, load_campaign, parse_campaign
from tonnage.campaign.execute.files import phase_spec
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.kinds.files import Files, FilesSetting
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import describe, make_plan
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError

HEAD = 'target = "memory:"\nseed = 1\n[workload]\nkind = "files"\n'
TREE = "tasks = 2\ndepth = 2\nbranch = 3\nitems_per_directory = 4\n"
ITEMS = 13 * 4


def settings(text: str) -> list[FilesSetting]:
    (workload,) = parse_campaign(HEAD + text, "c.toml").workloads
    assert isinstance(workload, Files)
    return [setting for setting in workload.settings() if isinstance(setting, FilesSetting)]


def one(text: str) -> FilesSetting:
    (setting,) = settings(text)
    return setting


def message(text: str) -> str:
    with pytest.raises(RequestError) as caught:
        parse_campaign(HEAD + text, "c.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def run(path: Path, text: str) -> list[dict[str, Any]]:
    """The trial lines of a run of ``text`` with one repetition."""
    (path / "c.toml").write_text(HEAD + text + "[repeat]\ncount = 1\n")
    campaign, written = load_campaign(path / "c.toml")
    run_campaign(campaign, text=written, command_line=[], out=str(path / "run"), observer=Observer())
    return [json.loads(line) for line in (path / "run" / "trials.jsonl").read_text().splitlines()]


def test_every_factor_makes_settings_of_its_own() -> None:
    text = 'tasks = [1, 2]\ndepth = [0, 1]\nbranch = [2, 3]\nfile_size = [0, "4k"]\norder = ["creation", "random"]\n'
    found = settings(text)
    assert len(found) == 32
    assert {setting.file_size for setting in found} == {0, 4096}
    assert all(setting_of(json.loads(json.dumps(setting.as_dict()))) == setting for setting in found)


def test_a_stored_campaign_reads_back_equal() -> None:
    campaign = parse_campaign(HEAD + TREE + 'time_limit = "2s"\nphases = ["create", "stat"]\n', "c.toml")
    assert build_campaign(campaign.model_dump(mode="json"), stored=True) == campaign


def test_items_of_a_tree_are_shared_out_evenly_or_refused() -> None:
    assert one("tasks = 1\ndepth = 2\nbranch = 3\nitems = 130\n").items_per_directory == 10
    assert one("tasks = 1\ndepth = 2\nbranch = 3\nitems = 90\nleaves_only = true\n").items_per_directory == 10
    assert message("tasks = 1\ndepth = 2\nbranch = 3\nitems = 100\n") == (
        "c.toml:8: items 100 do not fill the 13 directories evenly; hint: use 91"
    )


def test_what_the_items_are_decides_which_phases_there_are() -> None:
    given = 'phases = ["make-tree", "create", "stat", "read", "read-directory", "remove", "remove-tree"]\n'
    files = ("create", "stat", "read", "read-directory", "remove")
    directories = ("make-directory", "stat-directory", "remove-directory")
    for what, between in (
        ("files", files),
        ("directories", (*directories, "read-directory")),
        ("both", (*directories, *files)),
    ):
        phases = one(TREE + given + f'what = "{what}"\n').phases
        assert phases == ("make-tree", *between, "remove-tree"), what


def test_phases_count_what_the_engine_will_do() -> None:
    given = 'phases = ["make-tree", "create", "read-directory", "open-write-close"]\noperations = 7\n'
    setting = one(TREE + given)
    assert [setting.operations_of(phase) for phase in setting.phases] == [26, 2 * ITEMS, 26, 14]
    shared = one(TREE + given + 'directories = "shared"\n')
    assert [shared.operations_of(phase) for phase in shared.phases] == [13, 2 * ITEMS, 26, 14]


def test_a_scale_multiplies_items_and_operations_never_tasks_or_the_tree() -> None:
    text = TREE + 'phases = ["open-write-close"]\noperations = 100\n'
    (scaled,) = parse_campaign("scale = 0.25\n" + HEAD + text, "c.toml").settings()
    assert isinstance(scaled, FilesSetting)
    assert (scaled.items_per_directory, scaled.operations) == (1, 25)
    assert (scaled.tasks, scaled.depth, scaled.branch) == (2, 2, 3)


def test_a_plan_says_how_many_names_and_how_much_space() -> None:
    campaign = parse_campaign(HEAD + TREE + 'file_size = "5000"\n[repeat]\ncount = 3\n', "c.toml")
    plan = make_plan(campaign)
    assert plan.name_operations == 3 * 4 * 2 * ITEMS
    assert plan.space_bytes == 2 * ITEMS * (8192 + 1024) + 26 * 4096
    assert plan.write_bytes_most == plan.read_bytes_most == 3 * 2 * ITEMS * 5000
    assert any("1,248 names to work on" in line for line in describe(campaign, plan))


FILE, DIRECTORY = 8192 + 1024, 4096


@pytest.mark.parametrize(
    ("phases", "more", "space"),
    [
        ('"create", "stat"', "", 10 * FILE),
        ('"create", "remove", "open-write-close"', "", 10 * FILE),
        ('"create", "open-write-close"', "", 10 * FILE),
        ('"open-write-close"', "", 2 * FILE),
        ('"create", "remove"', 'what = "both"\n', 10 * FILE),
        ('"create", "stat"', 'what = "both"\n', 10 * FILE + 10 * DIRECTORY),
        ('"stat", "read", "remove"', "keep = true\n", 0),
        ('"write"', "keep = true\n", 10 * FILE),
    ],
)
def test_space_is_what_is_there_at_once_and_no_file_more(phases: str, more: str, space: int) -> None:
    setting = one(f'tasks = 2\nitems = 5\nfile_size = "5000"\nphases = [{phases}]\n{more}')
    assert setting.space_bytes == space + 2 * DIRECTORY


def test_files_that_an_earlier_run_left_are_written_under_watch(tmp_path: Path) -> None:
    target = parse_target(str(tmp_path))
    assert one('tasks = 1\nkeep = true\nphases = ["create", "write"]\n').is_checked(target)
    assert not one('tasks = 1\nkeep = true\nphases = ["write"]\n').is_checked(target)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("items = 10\nitems_per_directory = 10\n", "items and items_per_directory are two sizes of the same tree"),
        ('phases = ["stat", "stat"]\n', "phases has 'stat' twice"),
        ('phases = ["create", "make-tree"]\n', "make-tree stands behind other phases"),
        ('phases = ["remove-tree", "create"]\n', "remove-tree stands before other phases"),
        ('phases = ["unlink"]\n', "workload.phases: input should be 'make-tree', "),
        ("phases = []\n", "workload.phases: "),
        ("depth = 101\n", "workload.depth: "),
        ("depth = 33\nbranch = 2\n", "the tree would have 17179869183 directories"),
        ('file_size = "1k"\nread_size = "2k"\n', "read_size 2KiB is above file_size 1KiB"),
        ('verify = true\npayload = "constant"\n', "verify needs payload unique"),
        ("wear_out = true\n", "wear_out needs time_limit"),
        ('check_written = true\npayload = "constant"\n', "check_written needs payload unique"),
        ("mknod = true\nfile_size = 1\n", "mknod makes empty files, and file_size is above 0"),
        ('mknod = true\nstorage = "mpiio"\n', "mknod makes files without opening them, and MPI-IO has no such call"),
        ('direct = "yes"\nstorage = "mpiio"\n', "storage mpiio works through the page cache"),
        ("shared_files = true\n", "shared_files are files in one tree for all tasks"),
        ('collective = true\ntime_limit = "1s"\n', "collective does not go with time_limit"),
        ('before_phase = "sync"\n', "workload.before_phase: a command is a list of arguments"),
        ("item = 3\n", "unknown key 'item' in [workload]; hint: did you mean 'items'?"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, expected: str) -> None:
    said = message(text)
    place, _, what = said.partition(": ")
    assert place.startswith("c.toml:"), said
    assert what.startswith(expected), said


def test_a_shift_takes_each_phase_further_as_in_mdtest() -> None:
    setting = one("tasks = 8\nshift = 3\n")
    shifts = {phase: phase_spec(setting, phase, "r", 1)["work"]["shift"] for phase in setting.phases}
    assert shifts == {"create": 0, "stat": 3, "read": 6, "remove": 1}


def test_a_time_limit_cuts_only_phases_after_which_the_rest_can_go_on() -> None:
    setting = one('tasks = 1\ntime_limit = "1s"\nphases = ["make-tree", "create", "stat", "rename", "remove"]\n')
    limited = [phase for phase in setting.phases if phase_spec(setting, phase, "r", 1)["limit"]["time_ns"] is not None]
    assert limited == ["create", "stat"]


def test_every_phase_leaves_a_record_with_its_count(tmp_path: Path) -> None:
    phases = '["create", "write", "stat", "read", "rename", "read-directory", "remove", "remove-tree"]'
    lines = run(tmp_path, TREE + f'phases = {phases}\nwhat = "both"\nfile_size = 100\nverify = true\nshift = 1\n')
    assert [line["status"] for line in lines] == ["ok"] * 13
    assert [(line["phase"], line["purpose"]) for line in lines[:2]] == [
        ("make-tree", "fill"),
        ("make-directory", "measure"),
    ]
    setting = one(TREE + f'phases = {phases}\nwhat = "both"\nfile_size = 100\nverify = true\nshift = 1\n')
    assert [line["operations"] for line in lines] == [
        setting.operations_of(phase) for phase in ("make-tree", *setting.phases)
    ]
    by_phase = {line["phase"]: line for line in lines}
    assert by_phase["create"]["bytes"] == by_phase["read"]["verify"]["checked_bytes"] == 2 * ITEMS * 100
    assert by_phase["create"]["record"] == "0000-create"


def test_shared_files_are_counted_as_what_is_done_to_them(tmp_path: Path) -> None:
    text = TREE + 'directories = "shared"\nshared_files = true\nfile_size = 10\nshift = 1\nwhat = "files"\n'
    text += 'phases = ["create", "write", "stat", "rename", "read", "remove"]\n'
    lines, setting = run(tmp_path, text), one(text)
    assert [(line["status"], line["operations"]) for line in lines] == [
        ("ok", setting.operations_of(phase)) for phase in ("make-tree", *setting.phases)
    ]
    assert [setting.operations_of(phase) for phase in ("create", "rename", "remove")] == [2 * ITEMS, ITEMS, ITEMS]


def test_what_one_task_makes_empty_the_others_fill(tmp_path: Path) -> None:
    text = TREE + 'collective = true\nfile_size = 10\nshift = 1\nphases = ["create", "write", "read", "remove"]\n'
    lines = run(tmp_path, text + "verify = true\n")
    assert [line["status"] for line in lines] == ["ok"] * 5
    assert {line["phase"]: line["bytes"] for line in lines if line["purpose"] == "measure"} == {
        "create": 0, "write": 20 * ITEMS, "read": 20 * ITEMS, "remove": 0,
    }  # fmt: skip
    assert one(text).write_bytes == 20 * ITEMS


def test_durability_is_said_of_phases_that_write_only(tmp_path: Path) -> None:
    lines = run(tmp_path, TREE + 'sync = "fsync-each"\nfile_size = 1\n')
    assert {line["phase"]: line["durability"] for line in lines} == {
        "make-tree": "none", "create": "fsync-each", "stat": "none", "read": "none", "remove": "none",
    }  # fmt: skip


def test_phases_after_a_failed_one_are_recorded_as_failed(tmp_path: Path) -> None:
    lines = run(tmp_path, TREE + 'keep = true\nphases = ["make-tree", "stat", "create", "remove"]\n')
    assert [line["status"] for line in lines] == ["ok", "failed", "failed", "failed"]
    assert lines[1]["first_error"]["message"] == (
        "tree.00000000/f.0.0 is not there; create it first, with the same tree"
    ) or lines[1]["first_error"]["message"].startswith("tree.00000001/f.1.0 is not there")
    assert {line["reason"] for line in lines[2:]} == {"the phase before it failed"}


def test_phases_after_a_time_limit_work_on_what_was_created(tmp_path: Path) -> None:
    tree = 'tasks = 2\nitems_per_directory = 2000000000\ntime_limit = "20ms"\n'
    lines = run(tmp_path, tree + 'phases = ["create", "stat", "rename", "remove"]\n')
    assert [line["status"] for line in lines] == ["ok"] * 5
    create, stat, rename, remove = lines[1:]
    assert create["stop_reason"] == "time"
    assert stat["operations"] <= create["operations"] == rename["operations"] == remove["operations"]


def test_tasks_that_wear_out_create_the_same_number(tmp_path: Path) -> None:
    tree = 'tasks = 2\nitems_per_directory = 2000000000\ntime_limit = "20ms"\nwear_out = true\n'
    create, remove = run(tmp_path, tree + 'phases = ["create", "remove"]\n')[1:]
    tasks = [json.loads(line) for line in (tmp_path / "run" / "tasks.jsonl").read_text().splitlines()]
    assert len({task["operations"] for task in tasks if task["phase"] == "create"}) == 1
    assert (create["stop_reason"], remove["operations"]) == ("time", create["operations"])


def test_too_many_files_for_the_space_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        run(tmp_path, 'tasks = 1\nitems = 1000000000\nfile_size = "1MiB"\n')
    assert str(caught.value).startswith("the files need 955 TiB and memory: has ")
    assert "hint: use fewer items, smaller files or fewer tasks" in str(caught.value)
