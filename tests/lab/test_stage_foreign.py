"""What others put at the destination, and what the destination does not take: nothing of either goes without a word."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultfs import Mounted, mounted, needs_fuse
from stage_trees import DONE, LAB, PATIENCE_S, Stage

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Mounted]:
    """A file system without rename flags and without extended attributes."""
    needs_fuse()
    with mounted(tmp_path) as mount:
        yield mount


def staged_once(work: Path, odd: Mounted, **options: object) -> Stage:
    stage = Stage(work, {"attempts": 2, **options})
    stage.to.rmdir()
    stage.to = odd.path / "to"
    stage.to.mkdir()
    (stage.source / "file").write_bytes(b"first version")
    assert stage.drained()["code"] == 0
    return stage


def test_a_foreign_file_that_comes_while_a_name_is_replaced_without_rename_flags_is_kept(
    tmp_path: Path, odd: Mounted
) -> None:
    stage = staged_once(tmp_path, odd)
    (stage.source / "file").write_bytes(b"the second version")
    odd.obey(hang=["rename"], name="/to/")
    backing = tmp_path / "backing" / "to"
    with stage.mover() as mover:
        until = time.monotonic() + PATIENCE_S
        # It has looked at its own file, and is about to rename.
        while not (tmp_path / "rules.hangs").exists():
            assert not mover.ended() and time.monotonic() < until
        foreign = backing / "foreign"
        foreign.write_bytes(b"somebody else's")
        foreign.replace(backing / "file")
        odd.obey()
        status = mover.end()
    assert (backing / "file").read_bytes() == b"somebody else's"
    assert (status["code"], status["failed"]["files"]) == (1, 1), status
    assert " has the name " in status["failures"][0]["reason"]
    assert stage.temporaries() == [] and not list(backing.glob(".tonnage-*.old"))


def test_what_is_its_own_is_replaced_also_without_rename_flags(tmp_path: Path, odd: Mounted) -> None:
    stage = staged_once(tmp_path, odd)
    (stage.source / "file").write_bytes(b"the second version")
    assert stage.drained()["code"] == 0
    assert [path.name for path in sorted(stage.to.iterdir())] == [".tonnage-stage", "file"]
    assert (stage.to / "file").read_bytes() == b"the second version"


def test_a_source_whose_attributes_the_destination_does_not_take_stays_until_they_may_be_dropped(
    tmp_path: Path, odd: Mounted
) -> None:
    stage = Stage(tmp_path, {"clear": "done"})
    stage.to.rmdir()
    stage.to = odd.path / "to"
    stage.to.mkdir()
    for name in ("with", "without"):
        (stage.source / name).write_bytes(name.encode())
    try:
        os.setxattr(stage.source / "with", "user.origin", b"here")
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP
        pytest.skip("the source's file system has no extended attributes")
    status = stage.drained()
    assert status["code"] == 0 and status["dropped_attributes"] == 1, status
    [note] = [note for note in status["notes"] if "user.origin" in note]
    assert "--drop-attributes" in note
    assert [path.name for path in stage.source.iterdir() if path.is_file()] == ["with"]
    stage.options["drop_attributes"] = True
    assert stage.drained()["code"] == 0
    assert not [path for path in stage.source.iterdir() if path.is_file()]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_foreign_file_that_came_out_of_an_exchange_outlives_a_look_that_fails(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"attempts": 1, "workers": 1})
    (stage.source / "file").write_bytes(b"first version")
    assert stage.drained()["code"] == 0
    (stage.source / "file").write_bytes(b"the second version")
    trace = tmp_path / "trace"
    words = ["strace", "-f", "-o", trace, "-e", "trace=renameat2,statx"]
    # The exchange waits for a foreign file; the look at what came out fails.
    waits = ["-e", "inject=renameat2:delay_enter=1500000:when=1+"]
    mover = [sys.executable, "-I", "-S", LAB / "bare_mover.py", native.__file__, stage.written()]
    with subprocess.Popen(
        [*words, *waits, *mover], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + PATIENCE_S
        while "RENAME_EXCHANGE" not in (trace.read_text() if trace.exists() else ""):
            assert process.poll() is None and time.monotonic() < until
        foreign = stage.to / "foreign"
        foreign.write_bytes(b"somebody else's")
        foreign.replace(stage.to / "file")
        process.communicate(timeout=PATIENCE_S)
    assert (stage.to / "file").read_bytes() == b"somebody else's"
    assert [state for _, state, *_ in stage.journal()] != [DONE]
    assert stage.temporaries() == []
