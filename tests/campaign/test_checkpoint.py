"""The campaign kind ``checkpoint``: its factors, its settings, what it asks of the engine, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.campaign.campaign_file import build_campaign, load_campaign, parse_campaign
from tonnage.campaign.execute import executor_of
from tonnage.campaign.execute.checkpoint import phase_spec
from tonnage.campaign.kinds import checkpoint as snapshots
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.kinds.checkpoint import CheckpointSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError
from tonnage.machine.mounts import Mount

MIB = 1 << 20


def checkpoint(text: str = "", target: str = "sim:") -> Campaign:
    return parse_campaign(f'target = "{target}"\n[workload]\nkind = "checkpoint"\n{text}', "c.toml")


def one(text: str) -> CheckpointSetting:
    (setting,) = checkpoint("tasks = 4\n" + text).settings()
    assert isinstance(setting, CheckpointSetting)
    return setting


def refusal(text: str) -> str:
    with pytest.raises(RequestError) as caught:
        checkpoint(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_campaign_says_what_its_figures_are_divided_by_and_bits_are_no_bytes() -> None:
    campaign = parse_campaign('target = "sim:"\n[normalise]\ndisks = 10\nlink = "1Gbit/s"\n', "c.toml")
    assert campaign.normalise is not None
    assert (campaign.normalise.disks, campaign.normalise.link_bytes_per_s) == (10, 125_000_000)
    assert build_campaign(json.loads(campaign.model_dump_json()), stored=True) == campaign
    for text, why in (('link = "1G"', "may be bits or bytes"), ('link = "1Gb/s"', "1Gbit/s"), ("", "says nothing")):
        with pytest.raises(RequestError, match=why):
            parse_campaign(f'target = "sim:"\n[normalise]\n{text}\n', "c.toml")


def test_transfers_make_blocks_of_each_transfer_size() -> None:
    settings = checkpoint('tasks = 1\ntransfer_size = ["4k", "1MiB"]\ntransfers = [1, 100]\n').settings()
    assert [setting.block_size for setting in settings] == [4096, 409600, MIB, 100 * MIB]  # type: ignore[attr-defined]


def test_each_means_is_a_setting_of_its_own_beside_none() -> None:
    settings = checkpoint('tasks = [1, 2]\nsnapshot = ["none", "btrfs"]\n').settings()
    assert [(s.snapshot, s.tasks) for s in settings if isinstance(s, CheckpointSetting)] == [
        ("none", 1),
        ("none", 2),
        ("btrfs", 1),
        ("btrfs", 2),
    ]


@pytest.mark.parametrize(
    ("target", "file_system", "means"),
    [
        ("rados://pool", "", "rados"),
        ("sim:", "", "model"),
        ("/here", "fuse.ceph-fuse", "cephfs"),
        ("/here", "btrfs", "btrfs"),
        ("/here", "xfs", "reflink"),
    ],
)
def test_auto_is_what_the_target_has_and_the_manifest_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, file_system: str, means: str
) -> None:
    stand_in = Mount("/", file_system, "/dev/x", "rw")
    monkeypatch.setattr(snapshots, "mount_of", lambda _: stand_in)
    file = tmp_path / "c.toml"
    file.write_text(f'target = "null:"\n[workload]\nkind = "checkpoint"\nsnapshot = ["none", "auto", "{means}"]\n')
    campaign, _ = load_campaign(file, target=target)
    assert {setting.as_dict()["snapshot"] for setting in campaign.settings()} == {"none", means}
    assert len(campaign.settings()) == 2 * 4
    for setting in campaign.settings():
        executor_of(setting).check(setting, parse_target(target))
    assert build_campaign(json.loads(campaign.model_dump_json()), stored=True) == campaign


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("null:", "null: has no snapshots; hint: give another target"),
        ("/here", "/here is on ext4, which has no snapshots that Tonnage knows; hint: give another target"),
        (["/here", "/there/btrfs"], "are on btrfs, ext4, which have no snapshots in common"),
    ],
)
def test_auto_is_refused_where_the_target_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str | list[str], why: str
) -> None:
    def mount(path: Path) -> Mount:
        return Mount("/", "btrfs" if path.name == "btrfs" else "ext4", "/dev/x", "rw")

    monkeypatch.setattr(snapshots, "mount_of", mount)
    file = tmp_path / "c.toml"
    file.write_text(f'target = {json.dumps(target)}\n[workload]\nkind = "checkpoint"\nsnapshot = "auto"\n')
    campaign, _ = load_campaign(file)
    with pytest.raises(RequestError) as caught:
        setting = campaign.settings()[0]
        executor_of(setting).check(setting, parse_target(campaign.target))
    assert why in str(caught.value)


def test_scale_changes_what_a_round_writes_and_neither_rounds_nor_tasks() -> None:
    campaign = checkpoint('tasks = 4\ntransfer_size = "4k"\ntransfers = 100\nrounds = 5\n')
    (setting,) = campaign.model_copy(update={"scale": 0.1}).settings()
    assert isinstance(setting, CheckpointSetting)
    assert (setting.block_size, setting.rounds, setting.tasks) == (40960, 5, 4)


def test_a_phase_for_each_thing_that_is_asked_for() -> None:
    assert one("").phases == ("checkpoint", "restart", "drop")
    assert one('restart = "no"\n').phases == ("checkpoint", "drop")


def test_snapshots_keep_the_space_of_every_round() -> None:
    text = 'block_size = "8MiB"\nrounds = 5\n'
    assert one(text).space_bytes == 4 * 8 * MIB
    assert one(text + 'snapshot = "reflink"\n').space_bytes == 5 * 4 * 8 * MIB
    assert one(text).write_bytes == 5 * 4 * 8 * MIB
    assert (one(text).read_bytes, one(text + 'restart = "no"\n').read_bytes) == (4 * 8 * MIB, 0)


def test_the_phase_spec_says_all_that_the_engine_asks_for() -> None:
    text = 'snapshot = "rados"\ncoordination = "each"\nrounds = 4\nrestart = 2\nverify = true\nthink = "1s"\n'
    setting = one(text + 'transfer_size = "4k"\ntransfers = 10\nsync = "none"\n')
    written = phase_spec(setting, "checkpoint", "0003-checkpoint", 9, modelled=False)
    assert written == {
        "record": "0003-checkpoint",
        "tasks": {"first": 0, "here": 4, "total": 4},
        "seed": 9,
        "work": {
            "kind": "checkpoint",
            "step": "checkpoint",
            "rounds": 4,
            "think_ns": 10**9,
            "coordination": "each",
            "geometry": {
                "transfer_size": 4096, "block_size": 40960, "segments": 1, "layout": "file-per-task",
                "access": "sequential",
            },
            "queue_depth": 1,
            "durability": "none",
            "cache": "keep",
            "payload": "unique",
            "verify": False,
            "snapshot": {"means": "rados-self-managed"},
            "of_round": None,
        },
    }  # fmt: skip
    read = phase_spec(setting, "restart", "0003-restart", 9, modelled=False)["work"]
    assert (read["of_round"], read["verify"], read["cache"]) == (2, True, "drop")
    assert phase_spec(setting, "drop", "0003-drop", 9, modelled=True)["work"]["snapshot"] == {"means": "model"}
    assert phase_spec(one(""), "drop", "0003-drop", 9, modelled=True)["work"]["snapshot"] is None


def test_a_command_and_its_words_go_to_the_engine_as_they_are() -> None:
    text = 'snapshot = "command"\nsnapshot_command = ["snap", "{directory}", "r{round}; rm -rf /"]\n'
    work = phase_spec(one(text + 'snapshot_timeout = "90s"\n'), "checkpoint", "r", 1, modelled=False)["work"]
    assert work["snapshot"] == {
        "means": "command",
        "argv": ["snap", "{directory}", "r{round}; rm -rf /"],
        "remove_argv": None,
        "read_directory": None,
        "timeout_ns": 90 * 10**9,
    }
    work = phase_spec(one(text), "checkpoint", "r", 1, modelled=False)["work"]
    assert work["snapshot"]["timeout_ns"] == 600 * 10**9


def test_rounds_are_as_patient_as_the_campaign_says() -> None:
    for step in ("checkpoint", "restart"):
        assert phase_spec(one('retry_for = "30s"\n'), step, "r", 1, modelled=True)["work"]["retry_ns"] == 30 * 10**9
        assert "retry_ns" not in phase_spec(one(""), step, "r", 1, modelled=True)["work"]


def test_settings_and_campaign_come_back_from_the_manifest_as_they_were() -> None:
    text = 'snapshot = ["none", "command"]\nsnapshot_command = ["a", "{round}"]\nthink = ["0s", "1s"]\n'
    campaign = checkpoint(text)
    for setting in campaign.settings():
        assert setting_of(json.loads(json.dumps(setting.as_dict()))) == setting
    stored = json.loads(campaign.model_dump_json())
    assert build_campaign(stored, stored=True) == campaign


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            'block_size = "1MiB"\ntransfers = 3\n',
            "block_size and transfers both say how much a round writes; hint: keep one",
        ),
        ('block_size = "1MiB"\ntransfer_size = "3k"\n', "use 1023KiB, or transfers"),
        ('transfer_size = "2GiB"\ntransfers = 1\n', "above the 1GiB that one call can carry"),
        ('snapshot = "command"\n', "c.toml:2: snapshot command needs one; hint: add snapshot_command"),
        ('snapshot_command = ["a"]\n', 'set snapshot = "command"'),
        ('snapshot = "btrfs"\nlayout = "shared"\ncoordination = "each"\n', 'set coordination = "together"'),
        ("restart = 3\n", "restart 3 is not one of 3 rounds"),
        ("restart = 0\n", "without a snapshot round 0 is gone"),
        ('snapshot = "command"\nsnapshot_command = ["a"]\nrestart = 0\n', "give snapshot_directory"),
        ('verify = true\npayload = "constant"\n', "verify needs payload unique"),
        ("rounds = 0\n", "workload.rounds"),
        ('snapshot = "zfs"\n', "workload.snapshot"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_with_its_key(text: str, what: str) -> None:
    assert what in refusal(text)


def test_asynchronous_rounds_need_a_queue() -> None:
    with pytest.raises(RequestError, match="storage posix and mmap do one operation at a time"):
        checkpoint("queue_depth = 8\n", target="/tmp")


@pytest.mark.parametrize(
    ("uri", "means", "hint"),
    [
        ("/tmp", "rados", "use cephfs, btrfs, reflink, command or none"),
        ("rados://p", "btrfs", "use rados, rados-pool, command or none"),
        ("memory:", "reflink", "use command or none"),
    ],
)
def test_a_target_without_such_snapshots_is_refused_with_those_it_has(uri: str, means: str, hint: str) -> None:
    with pytest.raises(RequestError, match=f"has no snapshots of kind {means}; hint: {hint}"):
        setting = one(f'snapshot = "{means}"\n')
        executor_of(setting).check(setting, parse_target(uri))


@pytest.mark.parametrize("means", ["none", "rados", "btrfs", "cephfs", "reflink", "rados-pool"])
def test_a_model_has_every_kind_of_snapshot(means: str) -> None:
    setting = one(f'snapshot = "{means}"\n')
    executor_of(setting).check(setting, parse_target("sim:"))
    tried = executor_of(setting).try_out(setting, parse_target("sim:"))["work"]
    assert tried["snapshot"] == (None if means == "none" else {"means": "model"})
    assert (tried["rounds"], tried["geometry"]["block_size"]) == (1, MIB)
