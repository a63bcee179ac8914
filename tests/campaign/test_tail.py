"""The campaign kind ``tail``: its factors, its settings, and what it refuses."""

from __future__ import annotations

import json

import pytest
from tonnage.campaign.campaign_file import build_campaign, parse_campaign
from tonnage.campaign.execute.tail import phase_spec
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.model import Campaign
from tonnage.errors import RequestError

MIB = 1 << 20


def tail(text: str = "") -> Campaign:
    return parse_campaign(f'target = "memory:"\n[workload]\nkind = "tail"\n{text}', "c.toml")


def refusal(text: str) -> str:
    with pytest.raises(RequestError) as caught:
        tail(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_tasks_are_the_writer_and_its_readers() -> None:
    settings = tail("readers = [0, 1, 8]\n").settings()
    assert [(setting.tasks, setting.phases) for setting in settings] == [(1, ("tail",)), (2, ("tail",)), (9, ("tail",))]


def test_a_writer_alone_is_one_setting_whatever_its_readers_would_do() -> None:
    settings = tail('readers = [0, 2]\nfollow = ["whole", "share"]\nwait = ["poll", "notify"]\n').settings()
    assert len(settings) == 1 + 4


def test_a_rate_is_a_number_or_unlimited() -> None:
    settings = tail('readers = 1\nrate = ["100MB/s", "unlimited"]\n').settings()
    paces = [phase_spec(setting, "0000-tail", 1).get("pace") for setting in settings]
    assert paces == [{"bytes_per_s": 100_000_000}, None]
    assert refusal('rate = "fast"\n') == (
        "c.toml:4: workload.rate: 'fast' is not a size; hint: write it like 4k, 1MiB or 2GB, or \"unlimited\""
    )


def test_the_phase_spec_says_all_that_the_engine_asks_for() -> None:
    text = 'readers = 3\nfollow = "share"\nwait = "notify"\npoll = "20ms"\nfile_size = "4MiB"\nverify = true\n'
    (setting,) = tail(text + 'time_limit = "2s"\ngrace = "5s"\nsync = "fsync"\n').settings()
    spec = phase_spec(setting, "0007-tail", 9)
    assert spec["tasks"] == {"first": 0, "here": 4, "total": 4}
    assert spec["limit"] == {"time_ns": 2_000_000_000}
    assert spec["work"] == {
        "kind": "tail",
        "transfer_size": MIB,
        "file_bytes": 4 * MIB,
        "follow": "share",
        "waiting": "notify",
        "poll_ns": 20_000_000,
        "grace_ns": 5_000_000_000,
        "durability": "fsync",
        "verify": True,
    }


def test_what_is_read_is_the_file_for_each_reader_or_once_by_shares() -> None:
    whole, share = tail('readers = 4\nfollow = ["whole", "share"]\nfile_size = "8MiB"\n').settings()
    assert (whole.space_bytes, whole.write_bytes, whole.read_bytes) == (8 * MIB, 8 * MIB, 32 * MIB)
    assert share.read_bytes == 8 * MIB


def test_scale_shrinks_the_file_and_not_the_readers() -> None:
    campaign = tail('readers = 8\nfile_size = "100MiB"\n').model_copy(update={"scale": 0.015})
    (setting,) = campaign.settings()
    assert (setting.tasks, setting.space_bytes) == (9, 2 * MIB)


def test_a_file_that_is_not_whole_transfers_says_which_would_be() -> None:
    assert refusal('transfer_size = "3MiB"\nfile_size = "10MiB"\n') == (
        "c.toml:5: file_size 10MiB is not a multiple of transfer_size 3MiB; hint: use 9MiB"
    )
    assert "above the 1GiB that one call can carry" in refusal('transfer_size = "2GiB"\nfile_size = "4GiB"\n')
    assert refusal("reader = 1\n") == "c.toml:4: unknown key 'reader' in [workload]; hint: did you mean 'readers'?"


def test_a_setting_and_a_campaign_read_back_equal() -> None:
    campaign = tail('rate = ["unlimited", "1MB/s"]\npoll = "3ms"\n')
    assert build_campaign(json.loads(campaign.model_dump_json()), stored=True) == campaign
    for setting in campaign.settings():
        assert setting_of(json.loads(json.dumps(setting.as_dict()))) == setting
