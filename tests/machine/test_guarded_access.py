"""A look is taken in a child where a server could hold it up, and only there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.machine import guarded_access as careful
from tonnage.machine.guarded_access import carefully, stays_here
from tonnage.machine.mounts import Mount


@pytest.fixture
def mounts(tmp_path: Path) -> list[Mount]:
    """All that is here is in memory, but for what is below ``away``."""
    return [Mount("/", "tmpfs", "tmpfs", "rw"), Mount(str(tmp_path / "away"), "nfs4", "server:/export", "rw")]


def test_a_path_on_this_hosts_memory_stays_here_and_one_on_a_server_does_not(
    tmp_path: Path, mounts: list[Mount]
) -> None:
    assert stays_here(mounts, str(tmp_path / "not" / "there"))
    assert not stays_here(mounts, str(tmp_path / "away"))
    assert not stays_here(mounts, str(tmp_path / "away" / "x"))
    assert not stays_here(mounts, "relative")
    assert not stays_here([], "/")


def test_links_are_followed_as_far_as_they_stay_here(tmp_path: Path, mounts: list[Mount]) -> None:
    (tmp_path / "here").mkdir()
    links = {"a": "here", "b": "away/x", "c": "b", "d": "here/../away", "e": str(tmp_path / "away"), "loop": "loop"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    assert [name for name in links if stays_here(mounts, str(tmp_path / name / "x"))] == ["a"]


def test_only_a_look_that_could_be_held_up_is_taken_in_a_child(
    tmp_path: Path, mounts: list[Mount], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(careful, "read_mounts", lambda: mounts)
    assert carefully(os.getpid, [tmp_path], timeout_s=5) == os.getpid()
    assert carefully(os.getpid, [tmp_path, tmp_path / "away"], timeout_s=5) != os.getpid()
