"""Who may use a copy: its directory's owner, mode and attributes are the source's before ``wait`` says safe, and no
access list of the destination widens it."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest

from .stage import Stage, contents

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
NOBODY = 65534
LARGE = 9 << 20
"""Goes in chunks."""


def access_list(group: int, other: int) -> bytes:
    """The owner and ``nobody`` may do everything; the mask allows it."""
    none = 2**32 - 1
    entries = ((1, 7, none), (2, 7, NOBODY), (4, group, none), (0x10, 7, none), (0x20, other, none))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def set_list(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"no access lists here: {error}")


def described(path: Path) -> tuple[str, int, int, dict[str, bytes]]:
    about = path.lstat()
    names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith(("user.", "system.posix"))]
    values = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return oct(stat.S_IMODE(about.st_mode)), about.st_uid, about.st_gid, values


def assert_like(stage: Stage, *paths: str) -> None:
    for path in paths:
        assert described(stage.remote / path) == described(stage.local / path), path


def narrow(stage: Stage) -> None:
    """Everything of directories that a user may change and that is no name in them."""
    chmod, given, marked, listed, unlisted = (
        stage.local / name for name in ("chmod", "chown", "xattr", "acl", "no-acl")
    )
    chmod.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(given, 8, 9)
    os.setxattr(marked, "user.kind", b"secret")
    os.setxattr(listed, ACCESS, access_list(0, 0))
    os.setxattr(listed, DEFAULT, access_list(5, 0))
    os.removexattr(unlisted, ACCESS)
    os.removexattr(unlisted, DEFAULT)
    unlisted.chmod(0o750)


DIRECTORIES = ("chmod", "chown", "xattr", "acl", "no-acl", "acl/inner")


def test_a_directory_that_changed_after_it_was_staged_is_as_its_source_before_wait_says_safe(stage: Stage) -> None:
    for name in DIRECTORIES:
        (stage.local / name).mkdir()
        (stage.local / name / "file").write_text(name)
    for name, default in ((ACCESS, 5), (DEFAULT, 7)):
        set_list(stage.local / "no-acl", name, access_list(default, 5))
    stage("start", *stage.trees)
    stage("wait")
    assert_like(stage, *DIRECTORIES)
    narrow(stage)
    stage("wait")
    assert_like(stage, *DIRECTORIES)
    # Files that come later do not bring any of it back, nor does the end.
    for name in DIRECTORIES:
        (stage.local / name / "later").write_text(name)
    stage("wait")
    assert_like(stage, *DIRECTORIES, *(f"{name}/later" for name in DIRECTORIES))
    stage.kill()
    assert_like(stage, *DIRECTORIES)
    os.setxattr(stage.local / "chmod", "user.kind", b"while nobody looks")
    stage("resume", "--from", stage.local)
    stage("wait")
    assert_like(stage, *DIRECTORIES)
    stage("stop")
    assert_like(stage, *DIRECTORIES)
    assert contents(stage.local) == contents(stage.remote)


def test_a_directory_without_rights_for_its_owner_gets_its_mode_at_the_end_and_its_files_all_the_same(
    stage: Stage,
) -> None:
    directory = stage.local / "closed"
    directory.mkdir()
    stage("start", *stage.trees)
    stage("wait")
    (directory / "file").write_text("in time")
    directory.chmod(0o510)
    stage("wait")
    assert stat.S_IMODE((stage.remote / "closed").stat().st_mode) == 0o710
    stage("stop")
    assert contents(stage.local) == contents(stage.remote)
    assert stat.S_IMODE((stage.remote / "closed").stat().st_mode) == 0o510
    directory.chmod(0o710)


def test_no_access_list_of_the_destination_widens_a_copy(stage: Stage) -> None:
    stage.remote.mkdir()
    set_list(stage.remote, DEFAULT, access_list(5, 5))
    (stage.local / "one/two").mkdir(parents=True)
    for directory in (stage.local / "one", stage.local / "one/two"):
        directory.chmod(0o750)
    for name, size in (("small", 10), ("large", LARGE), ("one/small", 10), ("one/two/large", LARGE), ("listed", 10)):
        path = stage.local / name
        path.write_bytes(os.urandom(size))
        path.chmod(0o640)
    set_list(stage.local / "listed", ACCESS, access_list(4, 0))
    os.link(stage.local / "small", stage.local / "one/linked")
    os.mkfifo(stage.local / "fifo", 0o640)
    stage("start", *stage.trees)
    stage("wait")
    names = ("small", "large", "one", "one/small", "one/linked", "one/two", "one/two/large", "listed", "fifo")
    assert_like(stage, *names)
    stage("stop")
    assert_like(stage, *names)


def test_a_list_that_a_directory_of_the_source_hands_down_does_not_widen_copies_of_files_without(stage: Stage) -> None:
    """The copy of such a directory hands it down as well."""
    for number in range(12):
        directory = stage.local / f"d{number}"
        directory.mkdir()
        for name in ("one", "two", "three"):
            (directory / name).write_text(name)
            (directory / name).chmod(0o640)
        set_list(directory, DEFAULT, access_list(5, 5))
    names = [str(path.relative_to(stage.local)) for path in stage.local.rglob("*")]
    stage("start", *stage.trees)
    stage("wait")
    assert_like(stage, *names)
    stage("stop")
