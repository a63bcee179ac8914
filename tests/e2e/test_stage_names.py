"""Names that are somebody else's, whatever their bytes, and names that movers give."""

from __future__ import annotations

import os
import subprocess

import pytest

from .stage import Stage


def test_a_file_of_the_same_bytes_stays_somebody_else_s_and_no_source_is_deleted_for_it(stage: Stage) -> None:
    stage.remote.mkdir()
    theirs = stage.remote / "same"
    theirs.write_text("bytes")
    os.utime(theirs, ns=(10**18, 10**18))
    kept = theirs.stat()
    for name in ("same", "own"):
        (stage.local / name).write_text("bytes")
    said = stage("run", *stage.trees, "--delete", "done", "--drop-attributes", "--", "true")
    assert sorted(path.name for path in stage.local.iterdir() if path.is_file()) == ["same"]
    assert "same stays at the source: " in said.err and "--overwrite always" in said.err, said.err
    (stage.local / "same").write_text("other")
    said = stage("run", *stage.trees, "--", "true", check=1)
    assert "same: another file has the name " in said.err, said.err
    now = theirs.stat()
    assert (theirs.read_text(), now.st_ino, now.st_mtime_ns) == ("bytes", kept.st_ino, kept.st_mtime_ns)
    # It is so after the journal's loss, too, of which the manifest tells.
    (stage.local / "same").write_text("bytes")
    stage("run", *stage.trees, "--", "true")
    for path in stage.state.glob("journal*"):
        path.unlink()
    (stage.local / "same").write_text("other")
    stage("run", *stage.trees, "--", "true", check=1)
    assert theirs.read_text() == "bytes"
    stage("run", *stage.trees, "--overwrite", "always", "--delete", "done", "--", "true")
    assert theirs.read_text() == "other" and not (stage.local / "same").exists()


@pytest.mark.parametrize("lost", [False, True], ids=["journal whole", "journal lost"])
@pytest.mark.parametrize("check", ["written", "read-back"])
def test_another_file_of_the_copy_s_size_and_time_is_no_copy(stage: Stage, check: str, lost: bool) -> None:
    for name in ("unchanged", "changed"):
        (stage.local / name).write_text("bytes")
    (stage.local / "link").symlink_to("here")
    stage("run", *stage.trees, "--", "true")
    for name in ("unchanged", "changed"):
        copy, theirs = stage.remote / name, stage.remote / "theirs"
        theirs.write_text("THEIR")
        os.utime(theirs, ns=(copy.stat().st_mtime_ns,) * 2)
        theirs.rename(copy)
    kept_ns = (stage.remote / "link").lstat().st_mtime_ns
    (stage.remote / "theirs").symlink_to("away")
    os.utime(stage.remote / "theirs", ns=(kept_ns, kept_ns), follow_symlinks=False)
    (stage.remote / "theirs").rename(stage.remote / "link")
    (stage.local / "changed").write_text("other bytes")
    if lost:
        for path in stage.state.glob("journal*"):
            path.unlink()
    said = stage("run", *stage.trees, "--delete", "done", "--check", check, "--", "true", check=1)
    for name in ("unchanged", "changed", "link"):
        assert f"{name}: another file has the name " in said.err, said.err
    assert ((stage.remote / "unchanged").read_text(), (stage.remote / "changed").read_text()) == ("THEIR", "THEIR")
    assert (stage.remote / "link").readlink().name == "away"
    assert (stage.local / "unchanged").read_text() == "bytes"


def test_a_copy_that_was_brought_back_is_compared_and_is_one(stage: Stage) -> None:
    (stage.local / "file").write_text("bytes")
    (stage.local / "link").symlink_to("file")
    stage("run", *stage.trees, "--", "true")
    copy, again = stage.remote / "file", stage.remote / "again"
    for path in (copy, stage.remote / "link"):
        subprocess.run(["cp", "-a", path, again], check=True)
        again.rename(path)
    brought = copy.stat().st_ino
    os.utime(stage.local / "link", ns=(10**18, 10**18), follow_symlinks=False)
    stage("run", *stage.trees, "--delete", "done", "--", "true")
    assert (stage.remote / "link").lstat().st_mtime_ns == 10**18, "its time came, too"
    assert (copy.read_text(), (stage.local / "file").exists()) == ("bytes", False)
    assert copy.stat().st_ino == brought, "its bytes did not go again"


def test_a_journal_that_is_lost_twice_in_a_second_is_set_aside_twice(stage: Stage) -> None:
    (stage.local / "file").write_text("bytes")
    for _ in range(3):
        stage("run", *stage.trees, "--", "true")
        (stage.state / "journal.sqlite").unlink()
        (stage.state / "journal.sqlite-wal").write_bytes(b"left")
    stage("run", *stage.trees, "--", "true")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_file_that_is_given_to_the_mover_s_own_user_is_given_to_it_at_the_destination(stage: Stage) -> None:
    (stage.local / "d").mkdir()
    for path in (stage.local / "file", stage.local / "d"):
        path.touch()
        os.chown(path, 1234, 55)
    stage("run", *stage.trees, "--", "true")
    for path in (stage.local / "file", stage.local / "d"):
        os.chown(path, 0, 0)
    stage("run", *stage.trees, "--", "true")
    for name in ("file", "d"):
        found = (stage.remote / name).stat()
        assert (found.st_uid, found.st_gid) == (0, 0), name


def test_of_two_movers_with_one_destination_neither_deletes_for_the_copy_of_the_other(stage: Stage) -> None:
    second = stage.shell.home / "second"
    second.mkdir()
    for tree in (stage.local, second):
        (tree / "x").write_text("first")
    stage("run", *stage.trees, "--", "true")
    stage("run", "--from", second, "--to", stage.remote, "--delete", "done", "--", "true")
    (stage.local / "x").write_text("second, of the first mover")
    stage("run", *stage.trees, "--", "true")
    assert (second / "x").read_text() == "first"


def test_names_that_movers_give_are_not_staged_and_that_is_said(stage: Stage) -> None:
    inner = stage.local / "sub" / ".tonnage-stage"
    inner.mkdir(parents=True)
    (inner / "journal.sqlite").write_text("another mover's")
    names = [".tonnage-deadbeef-1.part", ".tonnage-deadbeef-1.old"]
    for name in [*names, "file"]:
        (stage.local / name).write_text("precious")
    said = stage("run", *stage.trees, "--delete", "done", "--", "true")
    notes = [line for line in said.err.splitlines() if "is not staged: " in line]
    assert sorted(note.split(" ")[0] for note in notes) == sorted([*names, "sub/.tonnage-stage"])
    assert (inner / "journal.sqlite").exists() and all((stage.local / name).exists() for name in names)
    assert not (stage.remote / "sub" / ".tonnage-stage").exists() and (stage.remote / "file").exists()


def test_a_file_that_cannot_be_deleted_stays_and_that_is_said(stage: Stage) -> None:
    path = stage.local / "stays"
    path.write_text("precious")
    if subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("no file can be made immutable here: that needs root, chattr and a file system that knows it")
    try:
        said = stage("run", *stage.trees, "--delete", "done", "--", "true")
        assert path.read_text() == "precious" and "stays is done and stays at the source: " in said.err, said.err
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


def test_a_later_time_and_a_name_given_to_another_file_reach_the_copies(stage: Stage) -> None:
    stage.local.mkdir(exist_ok=True)
    one, two = stage.local / "one", stage.local / "two"
    one.write_bytes(b"bytes")
    os.utime(one, (1_000_000_000, 1_000_000_000))
    stage("start", *stage.trees)
    stage("wait", "--name", "local")
    # An even second, then an odd one: some file systems could not tell them apart, this one can.
    os.utime(one, (1_000_000_001, 1_000_000_001))
    stage("wait", "--name", "local")
    assert (stage.remote / "one").stat().st_mtime == 1_000_000_001
    one.rename(two)
    stage("wait", "--name", "local")
    os.link(two, one)
    stage("wait", "--name", "local")
    stage("stop", "--name", "local")
    stage.assert_equal()
    assert (stage.remote / "one").samefile(stage.remote / "two")


def test_a_file_that_became_a_directory_at_the_source_is_told_once_with_what_to_do(stage: Stage) -> None:
    stage.local.mkdir(exist_ok=True)
    (stage.local / "x").write_text("bytes")
    stage("run", *stage.trees, "--", "true")
    (stage.local / "x").unlink()
    (stage.local / "x").mkdir()
    (stage.local / "x" / "z").write_text("below")
    for options in ((), ("--overwrite", "always")):
        said = stage("run", *stage.trees, *options, "--", "true", check=1)
        assert said.err.count("failed: x: ") == 1 and said.err.count("failed: x/z: ") == 1, said.err
        assert "is no directory, and the source's x is one; hint: move it away, then stage again" in said.err, said.err
        assert "os error" not in said.err and "--overwrite" not in said.err, said.err
        assert (stage.remote / "x").read_text() == "bytes"
    (stage.remote / "x").rename(stage.remote / "x.before")
    stage("run", *stage.trees, "--", "true")
    assert (stage.remote / "x" / "z").read_text() == "below"
