"""Runs on several directories, and on files that the user named: what is made, what is told, what stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import Outcome, run_campaign
from tonnage.campaign.scratch import RunScratch, leftovers
from tonnage.errors import RequestError
from tonnage.records import Run

WORK = """
[workload]
op = {op}
tasks = {tasks}
transfer_size = "64KiB"
block_size = "256KiB"
verify = true
{more}
[repeat]
count = 1
"""


class Listener(Observer):
    """Keeps what the user is told, and looks at places when a phase begins or ends."""

    def __init__(self, *places: Path) -> None:
        self.notes: list[str] = []
        self.places = places
        self.seen: list[list[int]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def recorded(self, _line: object) -> None:
        self.seen.append([len(list(place.glob(".tonnage-*/data.*"))) for place in self.places])


def campaign(head: str, *, op: str = '["write", "read"]', tasks: str = "4", more: str = "") -> Campaign:
    return parse_campaign(f'{head}\norder = "given"\n' + WORK.format(op=op, tasks=tasks, more=more), "c.toml")


def run(what: Campaign, out: Path, observer: Observer | None = None) -> Outcome:
    return run_campaign(what, text=None, command_line=[], out=str(out), observer=observer or Observer())


@pytest.fixture
def devices(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"device{number}" for number in range(3)]
    for device in found:
        device.mkdir()
    return found


def listed(paths: list[Path]) -> str:
    return f"target = {[str(path) for path in paths]}"


def test_files_are_spread_over_all_devices_and_gone_at_the_end(devices: list[Path], tmp_path: Path) -> None:
    listener = Listener(*devices)
    outcome = run(campaign(listed(devices), tasks="[4]", more="devices = [1, 3]"), tmp_path / "run", listener)
    assert (outcome.state, outcome.failed) == ("complete", ())
    assert listener.seen[0] == [4, 0, 0]
    assert [2, 1, 1] in listener.seen
    assert [list(device.iterdir()) for device in devices] == [[], [], []]
    facts = Run.open(str(tmp_path / "run")).manifest["target"]
    assert [place["path"] for place in facts["directories"]] == [str(device) for device in devices]


def test_files_are_where_they_are_assigned(devices: list[Path], tmp_path: Path) -> None:
    listener = Listener(*devices)
    run(campaign(f"{listed(devices)}\nassign = [2, 0, 2]", op='"write"'), tmp_path / "run", listener)
    assert listener.seen == [[1, 0, 3]]


def test_one_directory_that_cannot_be_had_leaves_nothing_in_the_others(devices: list[Path]) -> None:
    what = campaign(listed([*devices, Path("/proc")]))
    target = make_plan(what).target
    with pytest.raises(RequestError, match="cannot make a scratch directory in /proc"):
        RunScratch(target, what, "a1")
    assert [list(device.iterdir()) for device in devices] == [[], [], []]


def test_what_stands_in_the_way_in_one_directory_does_not_keep_the_others(devices: list[Path]) -> None:
    what = campaign(listed(devices))
    scratch = RunScratch(make_plan(what).target, what, "a1")
    assert [len(leftovers(device)) for device in devices] == [1, 1, 1]
    (scratch.directories[0] / "mine").touch()
    with pytest.raises(OSError, match="mine"):
        scratch.leave(well=True)
    assert [len(leftovers(device)) for device in devices] == [1, 0, 0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("devices = 4", "4 devices are asked for and the target has 3 directories"),
        ("", None),
    ],
)
def test_more_devices_than_directories_are_refused(devices: list[Path], more: str, said: str | None) -> None:
    what = campaign(listed(devices), more=more)
    if said is None:
        check(what, make_plan(what))
        return
    with pytest.raises(RequestError, match=said):
        check(what, make_plan(what))


def test_one_directory_stands_for_all_devices_and_a_finding_says_so(devices: list[Path], tmp_path: Path) -> None:
    class Looks(Listener):
        def recorded(self, _line: object) -> None:
            self.seen.append(sorted(len(list(place.glob("data.*"))) for place in devices[0].glob(".tonnage-*")))

    listener = Looks()
    what = campaign(f'target = "{devices[0]}"', op='"write"', more="devices = [1, 2]")
    outcome = run(what, tmp_path / "run", listener)
    assert (outcome.state, outcome.failed) == ("complete", ())
    assert sorted(map(tuple, listener.seen)) == [(0, 4), (2, 2)]
    assert list(devices[0].iterdir()) == []
    done = Run.open(str(tmp_path / "run"))
    assert done.manifest["target"]["name"] == str(devices[0])
    assert "same-device" in {found.code for found in analyse(done).findings}


def test_a_directory_given_twice_is_refused(devices: list[Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(devices[0])
    what = campaign(listed([devices[0], tmp_path / "link"]))
    with pytest.raises(RequestError, match="link is given twice; hint: "):
        check(what, make_plan(what))


def test_directories_on_one_file_system_share_its_room(devices: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # 3 MiB free; four tasks write 1 MiB each, two of them to the first of three devices.
    facts = os.statvfs_result((4096, 4096, 9999, 768, 768, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: facts)
    fits = campaign(listed(devices), tasks="3", more="segments = 4")
    check(fits, make_plan(fits))
    assert make_plan(fits).free_bytes == 3 << 20
    full = campaign(listed(devices), tasks="4", more="segments = 4")
    with pytest.raises(RequestError, match=r"the files need 4 MiB and .*device0, .*device2 has 3 MiB free"):
        check(full, make_plan(full))


def test_striping_that_cannot_be_set_is_told_and_the_run_goes_on(devices: list[Path], tmp_path: Path) -> None:
    listener = Listener()
    what = campaign(f"{listed(devices)}\nstripe = {{ count = 2 }}", op='"write"', tasks="1")
    assert run(what, tmp_path / "run", listener).failed == ()
    done = Run.open(str(tmp_path / "run"))
    striped = done.manifest["target"]["stripe"]
    assert striped["wanted"]["count"] == 2
    assert len(striped["directories"]) == 3
    assert [problem.partition(" has no striping")[1] for problem in striped["problems"]] == [" has no striping"]
    assert any("the files are not striped as asked" in note for note in listener.notes)
    assert "no-striping" in {found.code for found in analyse(done).findings}


def named(paths: list[Path], more: str = "") -> str:
    return f'target = "{paths[0].parent}"\nfile_names = {[str(path) for path in paths]}\n{more}'


def test_named_files_are_written_read_and_removed_and_neighbours_stay(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine").write_text("precious")
    names = [place / f"testFile.{task:08}" for task in range(4)]
    assert run(campaign(named(names)), tmp_path / "run").failed == ()
    assert [path.name for path in place.iterdir()] == ["mine"]
    assert Run.open(str(tmp_path / "run")).manifest["target"]["files"] == [str(name) for name in names]


def test_kept_files_are_read_by_a_later_run_and_replaced_by_the_next(tmp_path: Path) -> None:
    name = tmp_path / "testFile"
    keep = named([name], "keep = true\nexisting = 'ours'\nseed = 7\n")
    shared = 'layout = "shared"'
    assert run(campaign(keep, op='"write"', more=shared), tmp_path / "one").failed == ()
    first = name.stat()
    assert run(campaign(keep, op='"read"', more=shared), tmp_path / "two").failed == ()
    assert name.stat().st_mtime_ns == first.st_mtime_ns
    assert run(campaign(keep, op='"write"', more=shared), tmp_path / "three").failed == ()
    assert name.stat().st_mtime_ns != first.st_mtime_ns
    reading = named([name], "existing = 'ours'\nseed = 7\n")
    assert run(campaign(reading, op='"read"', more=shared), tmp_path / "four").failed == ()
    assert not name.exists()


def test_a_file_of_the_user_is_refused_or_overwritten_and_stays(tmp_path: Path) -> None:
    name = tmp_path / "results"
    name.write_bytes(b"x" * (2 << 20))
    write = {"op": '"write"', "tasks": "1"}
    with pytest.raises(
        RequestError, match=f"{name} exists and Tonnage did not make it; hint: remove it yourself, or give -E"
    ):
        run(campaign(named([name], "existing = 'ours'"), **write), tmp_path / "one")
    assert name.read_bytes() == b"x" * (2 << 20)
    listener = Listener()
    run(campaign(named([name], "existing = 'overwrite'"), **write), tmp_path / "two", listener)
    assert name.stat().st_size == 2 << 20
    assert f"note: {name} stays: Tonnage did not make it" in listener.notes
    told = Run.open(str(tmp_path / "two")).manifest["target"]["notes"]
    assert [note["code"] for note in told] == ["kept-foreign"]


def test_a_named_file_that_is_missing_or_too_short_to_read_is_refused(tmp_path: Path) -> None:
    name = tmp_path / "testFile"
    read = campaign(named([name]), op='"read"', tasks="1")
    with pytest.raises(RequestError, match=f"cannot measure {name}: No such file or directory"):
        run(read, tmp_path / "one")
    name.write_bytes(b"x" * 1000)
    with pytest.raises(RequestError, match="has 1000 bytes and the read needs 262144"):
        run(read, tmp_path / "two")
    assert name.exists()


def test_more_tasks_than_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="the target names 1 files and a task needs another"):
        run(campaign(named([tmp_path / "testFile"])), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
