"""What a host sees at a path, on real file systems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.errors import TonnageError
from tonnage.machine.path_facts import path_facts


def test_a_directory_is_told_with_its_mount_and_its_space(tmp_path: Path) -> None:
    told = path_facts(str(tmp_path))
    assert told["problem"] is None and told["is_directory"] and told["writable"] and told["direct"] is None
    assert 0 < told["free_bytes"] <= told["size_bytes"]
    assert told["mount_point"] and told["file_system"] and told["identity"] and told["options"]


def test_a_probe_leaves_nothing_behind(tmp_path: Path) -> None:
    told = path_facts(str(tmp_path), probe=True)
    assert told["writable"] and told["direct"] in (True, False) and (told["direct"] or told["not_direct"])
    assert list(tmp_path.iterdir()) == []


def test_what_takes_no_file_says_why() -> None:
    told = path_facts("/proc", probe=True)
    assert told["writable"] is False and told["not_writable"] and told["direct"] is None
    read_only = "/sys/kernel"
    if os.statvfs(read_only).f_flag & os.ST_RDONLY:
        assert path_facts(read_only)["not_writable"] == "Read-only file system"


def test_what_is_not_there_is_told_with_the_mount_above_it(tmp_path: Path) -> None:
    told = path_facts(str(tmp_path / "nowhere"), probe=True)
    assert told["problem"] == "No such file or directory" and told["free_bytes"] is None
    assert told["mount_point"] == path_facts(str(tmp_path))["mount_point"]


def test_a_relative_path_would_mean_another_place_on_each_host() -> None:
    with pytest.raises(TonnageError, match="data is not absolute"):
        path_facts("data")


def test_a_file_is_no_directory_and_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("words")
    told = path_facts(str(tmp_path / "file"), probe=True)
    assert told["is_directory"] is False and told["problem"] is None
    assert (tmp_path / "file").read_text() == "words"
