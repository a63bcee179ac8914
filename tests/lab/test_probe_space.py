"""A probe takes at most a tenth of a small file system, whatever it writes there, or does not begin."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_file_system import Watched, file_system, names

MIB = 1 << 20

BUDGET = ("--budget", "4s", "--no-keep")


@pytest.mark.parametrize(
    ("kind", "mib", "words"),
    [
        ("ext4", 40, ()),
        ("ext4", 600, ("--transfer", "16MiB")),
        ("tmpfs", 519, ("--transfer", "16MiB")),
        ("tmpfs", 26, ("--op", "read")),
        ("xfs", 600, ("--direct", "no")),
        ("xfs", 600, ()),
        ("btrfs", 900, ("--storage", "mmap")),
        # Writes alone have few trials of any budget.
        ("btrfs", 600, ("--op", "write", "--budget", "8s")),
        ("btrfs", 900, ("--transfer", "64k", "--direct", "no")),
        ("btrfs", 1500, ("--transfer", "16k")),
    ],
)
def test_a_probe_leaves_nine_tenths_of_what_was_free(
    tmp_path: Path, tonnage: Any, kind: str, mib: int, words: tuple[str, ...]
) -> None:
    with file_system(tmp_path, kind, mib) as path, Watched(path) as watched:
        said = tonnage("probe", path, *BUDGET, *words)
        assert said.code == 0, said.err
        assert sum(line["status"] == "ok" for line in said.trials) > 2
    assert 0 < watched.used_most <= watched.before // 10


def test_its_records_count_where_they_lie_on_the_same_file_system(tmp_path: Path, tonnage: Any) -> None:
    with file_system(tmp_path, "ext4", 600) as path, Watched(path) as watched:
        inside = tonnage.__class__(path)
        assert inside("probe", path, *BUDGET).code == 0
    assert 0 < watched.used_most <= watched.before // 10


@pytest.mark.parametrize("mib", [8, 24])
def test_the_space_that_was_given_is_never_passed(tmp_path: Path, tonnage: Any, mib: int) -> None:
    with file_system(tmp_path, "tmpfs", 200) as path, Watched(path) as watched:
        said = tonnage("probe", path, *BUDGET, "--space", f"{mib}MiB")
        assert said.code == 0, said.err
        assert "instead of 32" in said.err
        assert max(line["setting"]["tasks"] for line in said.trials) < 32
    assert 0 < watched.used_most <= mib * MIB


def test_a_probe_without_room_for_one_task_does_not_begin(tmp_path: Path, tonnage: Callable[..., Any]) -> None:
    with file_system(tmp_path, "tmpfs", 26) as path, Watched(path) as watched:
        said = tonnage("probe", path, *BUDGET, "--transfer", "16MiB")
        assert (said.code, said.trials) == (2, [])
        assert "one task with transfers of 16MiB needs" in said.err and "--space" in said.err
        assert len(said.err.splitlines()) == 1 and list(path.iterdir()) == []
    # One byte was written to a file without a name, which tells the unit of allocation.
    assert watched.used_most <= 4096


@pytest.mark.parametrize(
    "made",
    [
        [("tmpfs", 40)] * 8,
        [("ext4", 150), ("ext4", 150)],
        [("tmpfs", 20), ("tmpfs", 600)],
        [("xfs", 400), ("tmpfs", 24), ("ext4", 60)],
    ],
    ids=str,
)
@pytest.mark.parametrize("assign", ["", "assign = [0]\n"])
def test_each_file_system_of_a_list_keeps_nine_tenths_of_what_was_free(
    tmp_path: Path, tonnage: Any, made: Sequence[tuple[str, int]], assign: str
) -> None:
    with contextlib.ExitStack() as stack:
        paths = [stack.enter_context(file_system(tmp_path, kind, mib)) for kind, mib in made]
        watched = [stack.enter_context(Watched(path)) for path in paths]
        said = tonnage("run", campaign(tmp_path, paths, assign), "--no-report")
        assert said.code == 0, said.err
    assert all(one.used_most <= one.before // 10 for one in watched), [(w.used_most, w.before) for w in watched]
    assert watched[0].used_most > 0


def campaign(home: Path, paths: Sequence[Path], more: str) -> Path:
    file = home / "list.toml"
    listed = ", ".join(f'"{path}"' for path in paths)
    file.write_text(f'target = [{listed}]\n{more}[search]\nmax_tasks = 32\nbudget = "4s"\n')
    return file


@pytest.mark.parametrize(
    ("kind", "mib", "making", "options", "words"),
    [
        ("xfs", 600, ("-d", "extszinherit=1024"), "", ()),
        ("xfs", 600, (), "allocsize=4m", ("--direct", "no")),
        ("ext4", 300, ("-O", "bigalloc", "-C", "1048576"), "", ("--transfer", "64k")),
        ("ext4", 900, ("-O", "bigalloc", "-C", "262144"), "", ("--max-tasks", "300", "--transfer", "4k")),
        ("ext4", 600, ("-b", "1024"), "", ("--transfer", "4k")),
    ],
    ids=str,
)
def test_the_unit_in_which_a_file_system_allocates_counts(
    tmp_path: Path, tonnage: Any, kind: str, mib: int, making: Sequence[str], options: str, words: Sequence[str]
) -> None:
    with file_system(tmp_path, kind, mib, *making, options=options) as path:
        before = sorted(path.iterdir())
        with Watched(path) as watched:
            said = tonnage("probe", path, *BUDGET, *words)
        assert said.code == 0, said.err
        assert sorted(path.iterdir()) == before
    assert 0 < watched.used_most <= watched.before // 10


def test_its_records_count_with_that_unit(tmp_path: Path, tonnage: Any) -> None:
    with file_system(tmp_path, "xfs", 3000, "-d", "extszinherit=256") as path, Watched(path) as watched:
        inside = tonnage.__class__(path)
        said = inside("probe", path, *BUDGET)
        assert said.code == 0 or (said.code == 2 and "records included" in said.err), said.err
    assert watched.used_most <= watched.before // 10


@pytest.mark.parametrize(
    ("kind", "mib", "making", "options", "begins"),
    [
        ("ext4", 40, ("-N", "16"), "", False),
        ("tmpfs", 300, (), "nr_inodes=20", False),
        ("tmpfs", 300, (), "nr_inodes=120", True),
    ],
)
def test_a_probe_leaves_nine_tenths_of_the_names_too_or_does_not_begin(
    tmp_path: Path, tonnage: Any, kind: str, mib: int, making: Sequence[str], options: str, begins: bool
) -> None:
    with file_system(tmp_path, kind, mib, *making, options=options) as path, Watched(path, names) as watched:
        before = sorted(path.iterdir())
        said = tonnage("probe", path, *BUDGET)
        assert said.code == (0 if begins else 2), said.err
        assert " inode" in said.err and "hint: " in said.err
        assert sorted(path.iterdir()) == before
    assert watched.used_most <= watched.before // 10
