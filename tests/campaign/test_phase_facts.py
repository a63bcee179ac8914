"""Which files a write makes, by name: what is asked for on the devices after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.kinds.stream import Stream, StreamSetting
from tonnage.campaign.phase_facts import FileLayout, NfsCounts
from tonnage.campaign.target import Target, parse_target
from tonnage.campaign.workspace import Workspace


def workspace_of(target: Target, directories: tuple[Path, ...]) -> Workspace:
    """Nothing is started: only names are asked for."""
    nobody: Any = None
    return Workspace(target, nobody, 0, directories, None)


def setting(**changes: Any) -> StreamSetting:
    return replace(Stream().first(), op="write", storage="posix", **changes)


def names(found: list[tuple[str, int, int | None]], home: Path) -> list[tuple[str, int | None]]:
    return [(str(Path(path).relative_to(home)), task) for path, _, task in found]


def test_files_go_to_directories_in_turn_or_where_they_are_assigned(tmp_path: Path) -> None:
    homes = (tmp_path / "a", tmp_path / "b")
    target = parse_target([str(home) for home in homes])
    found = workspace_of(target, homes).files_of(setting(tasks=3))
    wanted = [("a/data.00000000", 0), ("b/data.00000001", 1), ("a/data.00000002", 2)]
    assert names(found, tmp_path) == wanted
    assigned = workspace_of(replace(target, assign=(1, 1, 0)), homes).files_of(setting(tasks=3))
    assert [name[0] for name, _ in names(assigned, tmp_path)] == ["b", "b", "a"]
    alone = workspace_of(replace(target, assign=(0,)), homes).files_of(setting(tasks=2, device=1))
    assert [name[0] for name, _ in names(alone, tmp_path)] == ["b", "b"]


def test_a_shared_file_is_no_tasks_own_and_segments_are_files(tmp_path: Path) -> None:
    room = workspace_of(parse_target(str(tmp_path)), (tmp_path,))
    assert names(room.files_of(setting(tasks=4, layout="shared")), tmp_path) == [("data.00000000", None)]
    cut = room.files_of(setting(tasks=2, layout="file-per-segment", segments=2))
    assert [(number, task) for _, number, task in cut] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_a_target_without_files_has_none(tmp_path: Path) -> None:
    assert workspace_of(parse_target("null:"), ()).files_of(setting(tasks=2)) == []
    room = workspace_of(parse_target(str(tmp_path)), (tmp_path,))
    assert room.files_of(replace(setting(tasks=2), storage="null")) == []


def test_a_read_has_what_was_found_after_the_write_and_a_failed_write_forgets_it(tmp_path: Path) -> None:
    (tmp_path / "data.00000000").write_bytes(b"123")
    placement = FileLayout(workspace_of(parse_target(str(tmp_path)), (tmp_path,)))
    one = setting(tasks=1)
    told, _ = placement.after(one, "write", "0000-write", moved=True)
    if told is None:
        pytest.skip(f"{tmp_path} is in memory")
    assert (told["record"], told["examined"]) == ("0000-write", 1)
    assert placement.after(one, "read", "0001-read", moved=True) == (told, [])
    assert placement.after(one, "write", "0002-write", moved=False) == (None, [])
    assert placement.after(one, "read", "0003-read", moved=True) == (None, [])


def test_where_the_target_is_on_no_nfs_mount_nothing_is_counted(tmp_path: Path) -> None:
    counts = NfsCounts([tmp_path])
    counts.begin()
    counts.end()
    assert counts.take() is None
