"""Which files a read still needs, and when old ones go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.target import parse_target
from tonnage.campaign.workspace import Workspace
from tonnage.cluster.launcher import Launcher

READ = next(s for s in parse_campaign('target = "/x"\n', "c").settings() if s.op == "read" and s.tasks == 4)


class FakeLauncher:
    """Counts how often files are cleared."""

    name = "fake"

    def __init__(self) -> None:
        self.cleared = 0

    def open(self, _target: dict[str, Any], _series_directory: Path | None) -> FakeLauncher:
        return self

    def clear(self) -> None:
        self.cleared += 1


def workspace(**keywords: int) -> tuple[Workspace, FakeLauncher]:
    fake = FakeLauncher()
    made = Workspace(parse_target("/x"), cast("Launcher", fake), 1, [Path("/x/s")], None, **keywords)
    made.ensemble(READ)
    return made, fake


def fill(place: Workspace, setting: StreamSetting) -> int | None:
    """Fills as the run loop does; the first task that wrote, None where nothing was missing."""
    wanted = place.fill_for(setting)
    if wanted is None:
        return None
    place.wrote(wanted[0])
    return wanted[1]


def test_files_are_laid_out_once_and_only_missing_ones_later() -> None:
    place, _ = workspace()
    assert fill(place, READ) == 0
    assert fill(place, READ) is None
    assert fill(place, replace(READ, tasks=2, access="random", transfer_size=4096)) is None
    assert fill(place, replace(READ, tasks=6)) == 4


def test_files_of_another_size_or_kind_are_removed_first() -> None:
    place, fake = workspace()
    fill(place, READ)
    for other in (
        replace(READ, block_size=READ.block_size * 2),
        replace(READ, layout="shared"),
        replace(READ, transfer_size=47008, block_size=47008),
    ):
        before = fake.cleared
        assert fill(place, other) == 0
        assert fake.cleared == before + 1


def test_a_clear_forgets_what_was_laid_out() -> None:
    place, _ = workspace()
    fill(place, READ)
    place.clear()
    assert fill(place, READ) == 0


def test_a_search_lays_out_all_files_at_once() -> None:
    place, _ = workspace(lay_out_tasks=32)
    wanted = place.fill_for(READ)
    assert wanted is not None
    assert wanted[0].tasks == 32


def test_a_fill_writes_large_transfers_whose_cells_fall_on_the_same_offsets() -> None:
    place, _ = workspace()
    small = replace(READ, transfer_size=4096, block_size=4096 * 300, verify=True)
    wanted = place.fill_for(small)
    assert wanted is not None
    assert wanted[0].transfer_size == 4096 * 4
    assert not wanted[0].verify
    assert wanted[0].sync == "fsync"


def test_a_write_of_random_blocks_leaves_nothing_that_a_read_could_rely_on() -> None:
    place, _ = workspace()
    place.wrote(replace(READ, op="write", access="random-blocks"))
    assert fill(place, READ) == 0


def test_settings_that_open_their_files_otherwise_have_a_storage_of_their_own() -> None:
    place, fake = workspace()
    asked: list[dict[str, Any]] = []
    fake.open = lambda target, _series: asked.append(target) or fake  # type: ignore[method-assign,func-returns-value]
    for setting in (READ, replace(READ, range_locks=True), replace(READ, storage="mmap", advice=("random",))):
        place.ensemble(setting)
    assert [(target.get("range_locks"), target.get("advice")) for target in asked] == [(True, None), (None, ["random"])]
