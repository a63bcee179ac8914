"""A destination, or a source, that fails in every way under the mover: nothing is called done that is not whole, the
rest goes on, and what failed says why."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faultfs import Mounted, mounted, needs_fuse
from stage_trees import DONE, MIB, Stage, digest

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Mounted]:
    needs_fuse()
    with mounted(tmp_path) as mount:
        yield mount


def begin(work: Path, broken: Mounted, **options: Any) -> Stage:
    """A few small files and one that has chunks, to be staged to where things break."""
    stage = Stage(work, {"attempts": 2, **options})
    stage.to.rmdir()
    stage.to = broken.path / "to"
    stage.to.mkdir()
    rng = random.Random(7)
    for number in range(8):
        (stage.source / f"file-{number}").write_bytes(rng.randbytes(30_000))
    (stage.source / "large").write_bytes(rng.randbytes(10 * MIB))
    return stage


def only_what_is_whole_is_done(stage: Stage) -> set[str]:
    """Compares every file that the journal calls done, and returns their names."""
    done = set()
    for path, state, *_ in stage.journal():
        if state == DONE:
            name = os.fsdecode(path)
            assert digest(stage.to / name) == digest(stage.source / name), f"{name} is called done and is not whole"
            done.add(name)
    return done


EVERYTHING = {*(f"file-{number}" for number in range(8)), "large"}


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ("write", "EIO"),
        ("write", "ENOSPC"),
        ("fsync", "EIO"),
        ("create", "EROFS"),
        ("link", "EIO"),
        ("fsyncdir", "EIO"),
    ],
)
def test_a_file_that_fails_says_why_and_the_others_go_on(
    tmp_path: Path, broken: Mounted, operation: str, error: str
) -> None:
    stage = begin(tmp_path, broken)
    # A temporary's name does not tell which file it is; the directory does.
    (stage.source / "bad").mkdir()
    (stage.source / "bad" / "one").write_bytes(b"some bytes")
    broken.obey(fail={operation: error}, name="/bad")
    status = stage.drained()
    assert only_what_is_whole_is_done(stage) == EVERYTHING
    assert (status["code"], status["failed"]["files"] > 0) == (1, True)
    assert [os.strerror(getattr(errno, error)) in found["reason"] for found in status["failures"]] == [True] * len(
        status["failures"]
    )
    broken.obey()
    assert stage.drained()["code"] == 0
    assert only_what_is_whole_is_done(stage) == {*EVERYTHING, "bad/one"}
    assert stage.temporaries() == []


@pytest.mark.parametrize("operation", ["write", "fsync", "link", "create"])
def test_errors_now_and_then_are_retried_until_everything_is_whole(
    tmp_path: Path, broken: Mounted, operation: str
) -> None:
    stage = begin(tmp_path, broken, attempts=12)
    broken.obey(fail={operation: "EIO"}, name="/to/", each=50 if operation == "write" else 4)
    status = stage.drained()
    assert status["code"] == 0, status["failures"]
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_a_write_may_take_fewer_bytes_than_it_was_given(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken)
    broken.obey(short=3000)
    assert stage.drained()["code"] == 0
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_a_destination_that_is_full_fails_what_does_not_fit_and_takes_it_later(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken, order="smallest")
    broken.obey(full_after_bytes=2 * MIB)
    status = stage.drained()
    assert status["code"] == 1 and "No space left" in status["failures"][0]["reason"]
    assert only_what_is_whole_is_done(stage) == EVERYTHING - {"large"}
    broken.obey()
    assert stage.drained()["code"] == 0
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_a_destination_that_turns_read_only_loses_nothing(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken)
    with stage.mover() as mover:
        while not any(stage.to.iterdir()):
            assert not mover.ended()
        broken.obey(read_only=True)
        assert mover.process.wait(60) in (0, 1)
    only_what_is_whole_is_done(stage)
    broken.obey()
    assert stage.drained()["code"] == 0
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_a_destination_that_hangs_is_waited_for(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken)
    broken.obey(hang=["write", "fsync"], name=".part")
    with stage.mover() as mover:
        while not stage.temporaries():
            assert not mover.ended()
        only_what_is_whole_is_done(stage)
        broken.obey()
        assert mover.end()["code"] == 0
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_a_flipped_bit_is_found_by_reading_back_and_never_placed(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken, check="read-back", clear="done")
    (stage.source / "bad").mkdir()
    (stage.source / "bad" / "one").write_bytes(b"some bytes")
    broken.obey(flip=True, name="/bad/")
    status = stage.drained()
    assert status["code"] == 1
    assert [found["path"] for found in status["failures"]] == ["bad/one"]
    assert (stage.source / "bad" / "one").read_bytes() == b"some bytes", "what is not verified stays at the source"
    assert not (stage.to / "bad" / "one").exists()


@pytest.mark.parametrize("cached", [False, True])
def test_deleting_finds_a_flipped_bit_also_of_what_an_earlier_mover_staged_without(
    tmp_path: Path, cached: bool
) -> None:
    needs_fuse()
    with mounted(tmp_path, cached=cached) as broken:
        stage = begin(tmp_path, broken)
        # Not the mark, without which no mover starts.
        broken.obey(flip=True, name=".part")
        wanted = {name: (stage.source / name).read_bytes() for name in EVERYTHING}
        assert stage.drained()["code"] == 0, "nobody looks"
        # Also a foreign file of the same bytes, which is only found there.
        (stage.source / "adopted").write_bytes(b"some bytes")
        broken.obey(flip=True, name="/adopted")
        (stage.to / "adopted").write_bytes(b"some bytes")
        broken.obey(flip=True, name=".part")
        stage.options |= {"check": "read-back", "clear": "done"}
        status = stage.drained()
        assert status["code"] == 1 and status["cleared"]["files"] == 0, status
        assert {name: (stage.source / name).read_bytes() for name in EVERYTHING} == wanted
        assert (stage.source / "adopted").exists()
        broken.obey()
        for name in {*EVERYTHING, "adopted"}:
            (stage.to / name).unlink()
        status = stage.drained()
        assert status["code"] == 0, [status[key] for key in ("failures", "queued", "notes")]
        assert {name: (stage.to / name).read_bytes() for name in EVERYTHING} == wanted
        assert not any((stage.source / name).exists() for name in EVERYTHING)


def test_a_flipped_bit_that_nobody_read_back_is_found_by_verify(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken)
    (stage.source / "bad").mkdir()
    (stage.source / "bad" / "one").write_bytes(b"some bytes")
    broken.obey(flip=True, name="/bad/")
    assert stage.drained()["code"] == 0
    report = native.stage_verify(str(stage.to), 1, lambda *_: True)
    assert report["checksum_differs"] == ["bad/one"], report


def test_storage_that_does_not_keep_the_mark_is_refused_in_one_line_and_used_once_it_does(
    tmp_path: Path, broken: Mounted
) -> None:
    stage = begin(tmp_path, broken)
    for _ in range(2):
        broken.obey(flip=True, name="/mover-")
        with pytest.raises(AssertionError, match="its mark reads back different; hint: "):
            stage.drained()
        assert not [path for path in stage.to.rglob("*") if path.is_file()], "nothing is staged, and no mark is left"
    broken.obey()
    for _ in range(2):
        assert stage.drained()["code"] == 0
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_lines_of_the_manifest_that_are_stored_as_others_are_written_again(tmp_path: Path, broken: Mounted) -> None:
    stage = begin(tmp_path, broken, check="read-back", attempts=2)
    broken.obey(flip=True, name="/manifest-")
    status = stage.drained()
    assert status["code"] == 1 and "reads back different" in status["failures"][0]["reason"], status
    broken.obey()
    assert stage.drained()["code"] == 0
    report = native.stage_verify(str(stage.to), 1, lambda *_: True)
    assert (report["damaged"], report["checksum_differs"]) == ([], []), report
    assert only_what_is_whole_is_done(stage) == EVERYTHING


def test_directories_and_links_get_their_times_where_setting_one_alone_does_nothing(
    tmp_path: Path, broken: Mounted
) -> None:
    stage = begin(tmp_path, broken)
    (stage.source / "d" / "deep").mkdir(parents=True)
    (stage.source / "d" / "link").symlink_to("nowhere")
    for place in ("d/link", "d/deep", "d"):
        os.utime(stage.source / place, ns=(10**18, 10**18), follow_symlinks=False)
    assert stage.drained()["code"] == 0
    assert [os.lstat(stage.to / place).st_mtime_ns for place in ("d/link", "d/deep", "d")] == [10**18] * 3


def test_a_source_that_cannot_be_read_fails_by_itself(tmp_path: Path, broken: Mounted) -> None:
    stage = Stage(tmp_path, {"attempts": 2, "state": str(tmp_path / "state")})
    stage.source.rmdir()
    stage.source, stage.state = broken.path / "from", tmp_path / "state"
    stage.source.mkdir()
    stage.state.mkdir()
    for name in ("good", "bad", "fine"):
        (stage.source / name).write_bytes(name.encode() * 5000)
    broken.obey(fail={"read": "EIO"}, name="/bad")
    status = stage.drained()
    assert status["code"] == 1
    assert [found["path"] for found in status["failures"]] == ["bad"]
    assert only_what_is_whole_is_done(stage) == {"good", "fine"}
