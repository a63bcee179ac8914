"""Changes that move no time, or a time that was set back: what a source holds in the end is what its copy holds, and
what has no right copy stays at the source."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import wait_until

from .shell import Shell
from .stage import Stage

MEMORY = Path("/dev/shm")
STORE = "import numpy, sys\nfor name in sys.argv[1:]:\n m = numpy.memmap(name, 'u1', 'r+'); m += 1; m.flush(); del m\n"
"""A store through a mapping to pages that were read before. In memory it moves no time."""


@pytest.fixture
def stage(shell: Shell) -> Iterator[Stage]:
    """The local tree is in memory."""
    if not MEMORY.is_dir():
        pytest.skip(f"there is no {MEMORY}")
    made = Stage(shell)
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="tonnage-e2e-") as local:
        made.local = Path(local)
        yield made
        made.clean_up()


def store(*names: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", STORE, *map(str, names))


def put(stage: Stage, name: str, size: int = 100_000) -> tuple[Path, bytes]:
    """A file of zeros, and its bytes after one store to each."""
    path = stage.local / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path, bytes([1]) * size


@pytest.mark.parametrize("delete", ["never", "done"])
@pytest.mark.parametrize("size", [100_000, 10_000_000])
@pytest.mark.parametrize("check", ["none", "written"])
def test_a_store_through_a_mapping_after_the_staging_arrives(stage: Stage, delete: str, size: int, check: str) -> None:
    name, after = put(stage, "d/array", size)
    stage("run", *stage.trees, "--check", check, "--", "true")
    before = name.stat()
    if delete == "done":
        # With the mover beside it the file might be gone before the program comes to it.
        assert os.spawnv(os.P_WAIT, sys.executable, store(name)) == 0
    program = store(name) if delete == "never" else ("true",)
    stage("run", *stage.trees, "--check", check, "--delete", delete, "--", *program)
    assert (stage.remote / "d/array").read_bytes() == after
    if delete == "never":
        assert name.stat().st_mtime_ns == before.st_mtime_ns, "this file system moves times: the test shows nothing"
    assert name.exists() == (delete == "never")


def test_a_store_beside_a_mover_that_watches_is_safe_when_wait_returns(stage: Stage) -> None:
    name, after = put(stage, "array")
    stage("start", *stage.trees)
    stage("wait")
    copied = stage.status()["copied_bytes"]
    stage("wait")
    assert stage.status()["copied_bytes"] == copied, "nothing was written, and nothing goes again"
    assert os.spawnv(os.P_WAIT, sys.executable, store(name)) == 0
    stage("wait")
    assert (stage.remote / "array").read_bytes() == after
    assert os.spawnv(os.P_WAIT, sys.executable, store(name)) == 0
    stage("stop")
    assert (stage.remote / "array").read_bytes() == bytes([2]) * len(after)


def assert_waits(stage: Stage) -> None:
    """``stage wait`` goes on, for one file."""
    waiting = stage.begin("wait", "--from", stage.local)
    wait_until(lambda: waiting.poll() is not None or stage.status()["queued"]["files"] == 1, "one file waits")
    assert waiting.poll() is None, "it may be written at any moment"
    waiting.send_signal(signal.SIGINT)
    stage.said_by(waiting)


def test_wait_never_calls_a_file_safe_whose_mapping_may_still_be_written(stage: Stage) -> None:
    name, _ = put(stage, "array")
    put(stage, "other")
    stage("start", *stage.trees)
    stage("wait")
    with name.open("r+b") as file, mmap.mmap(file.fileno(), 0) as kept:
        file.close()
        for number in range(1, 4):
            assert kept[5] == number - 1
            kept[5] = number
            kept.flush()
            assert_waits(stage)
        again = stage.begin("wait", "--from", stage.local)
    after = name.read_bytes()
    assert stage.said_by(again).code == 0
    assert after[5] == 3 and (stage.remote / "array").read_bytes() == after


def test_a_store_while_no_mover_lives_or_while_it_is_stopped_is_safe_after_resume_and_wait(stage: Stage) -> None:
    name, after = put(stage, "array")
    stage("start", *stage.trees)
    stage("wait")
    pid = stage.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert os.spawnv(os.P_WAIT, sys.executable, store(name)) == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    stage("wait")
    assert (stage.remote / "array").read_bytes() == after
    stage.kill()
    assert os.spawnv(os.P_WAIT, sys.executable, store(name)) == 0
    stage("resume", "--wait", "--from", stage.local)
    assert (stage.remote / "array").read_bytes() == bytes([2]) * len(after)


def test_a_store_through_another_name_outside_the_tree_is_found_at_the_end(stage: Stage) -> None:
    name, after = put(stage, "tree/array")
    other = stage.local / "other"
    os.link(name, other)
    trees = ("--from", str(name.parent), "--to", str(stage.remote))
    stage("run", *trees, "--delete", "done", "--check", "written", "--", "true")
    assert not name.exists()
    os.link(other, name)
    stage("run", *trees, "--", "true")
    stage("run", *trees, "--", *store(other))
    assert (stage.remote / "array").read_bytes() == after


@pytest.mark.parametrize("delete", ["never", "done"])
def test_bytes_written_in_place_at_a_restored_time_arrive_whatever_links_came_or_went(
    stage: Stage, delete: str
) -> None:
    stage.local = stage.shell.home / "local"
    one, two = stage.local / "one", stage.local / "two"
    one.write_bytes(b"old bytes")
    os.link(one, two)
    stage("run", *stage.trees, "--", "true")
    script = (
        "import os, sys; one, two = sys.argv[1:]; was = os.stat(one)\n"
        "with open(one, 'r+b') as out: out.write(b'new bytes')\n"
        "os.utime(one, ns=(was.st_atime_ns, was.st_mtime_ns)); os.unlink(two)\n"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, ("python", "-c", script, str(one), str(two))) == 0
    stage("run", *stage.trees, "--delete", delete, "--", "true")
    assert (stage.remote / "one").read_bytes() == b"new bytes"
    assert one.exists() == (delete == "never")


def test_an_attribute_that_changed_with_the_number_of_links_arrives_and_no_byte_is_copied_for_links_alone(
    stage: Stage,
) -> None:
    stage.local = stage.shell.home / "local"
    name = stage.local / "file"
    name.write_bytes(bytes(1_000_000))
    try:
        os.setxattr(name, "user.what", b"old")
    except OSError as error:
        pytest.skip(f"no user attributes here: {error}")
    stage("run", *stage.trees, "--", "true")
    os.setxattr(name, "user.what", b"new")
    os.link(name, stage.local / "again")
    stage("run", *stage.trees, "--", "true")
    assert os.getxattr(stage.remote / "file", "user.what") == b"new"
    assert (stage.remote / "file").stat().st_ino == (stage.remote / "again").stat().st_ino
    os.link(name, stage.local / "third")
    name.chmod(0o640)
    assert "; 0 B copied" in stage("run", *stage.trees, "--", "true").err
    assert {path.stat().st_mode & 0o777 for path in stage.remote.glob("[aft]*")} == {0o640}


def test_directories_keep_the_time_that_the_program_left_although_their_files_are_cleared(stage: Stage) -> None:
    for name in ("a/b/one", "a/b/two", "a/three"):
        put(stage, name, 10)
    times = {"a/b": 1_500_000_000_000_000_000, "a": 1_400_000_000_000_000_000}
    for name, time_ns in times.items():
        os.utime(stage.local / name, ns=(time_ns, time_ns))
    stage("run", *stage.trees, "--delete", "done", "--", "true")
    assert not list(stage.local.glob("a/**/o*"))
    for tree in (stage.remote, stage.local):
        assert {name: (tree / name).stat().st_mtime_ns for name in times} == times, tree


def test_deleting_reads_back_unless_told_otherwise_and_then_says_so(stage: Stage) -> None:
    put(stage, "array")
    stage("start", *stage.trees, "--delete", "done")
    stage("stop")
    assert '"check": "read-back"' in (stage.state / "plan.json").read_text()
    put(stage, "array")
    stage("start", *stage.trees, "--delete", "done", "--check", "written")
    wait_until(lambda: not (stage.local / "array").exists(), "it is cleared")
    assert any("not read back" in note for note in stage.status()["notes"])
    stage("stop")
