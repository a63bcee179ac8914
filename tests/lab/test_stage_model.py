"""Whatever is done to a tree while a mover watches it, in the end the copy is what the tree is."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from staged import MIB, PATIENCE_S, Found, Stage, differences, memory_directory, tree

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")

FILES = [f"{directory}{name}" for directory in ("", "d/", "d/e/", "g/") for name in ("one", "two")]
DIRECTORIES = ["d", "d/e", "g", "g/h"]
SIZES = [0, 1, 5000, 300_000, 9 * MIB]
"""The last one goes in chunks."""


STEPS = ("create", "write", "append", "overwrite", "shorten", "chmod", "rename", "unlink", "link", "symlink", "fifo")
Step = tuple[str, str, str, int, int]
"""What is done, to which name, with which other one, bytes, and the milliseconds after it."""

name = st.sampled_from(FILES)
of_files = st.tuples(st.sampled_from(STEPS), name, name, st.sampled_from(SIZES), st.sampled_from((0, 0, 3, 40)))
directory = st.sampled_from(DIRECTORIES)
of_directories = st.tuples(
    st.sampled_from(("mkdir", "rmdir", "rename", "chmod")), directory, directory, st.just(0), st.just(0)
)


def do(step: str, path: Path, other: Path, size: int) -> None:
    """What makes no sense at its moment, such as a link to nothing, does nothing. Links and FIFOs are never opened."""
    opens = step in ("write", "append", "overwrite", "shorten", "chmod")
    if opens and (path.is_symlink() or path.is_fifo()):
        return
    with contextlib.suppress(OSError):
        match step:
            case "create" | "write":
                if step == "create":
                    path.unlink(missing_ok=True)
                path.write_bytes(other.name.encode()[:1] * size)
            case "append" | "overwrite":
                with path.open("ab" if step == "append" else "rb+") as out:
                    out.write(b"more" * (size % 1000 + 1))
            case "shorten":
                os.truncate(path, path.stat().st_size // 2)
            case "chmod":
                path.chmod(0o700 + size % 5)
            case "rename":
                path.rename(other)
            case "unlink":
                path.unlink()
            case "link":
                os.link(path, other)
            case "symlink":
                path.symlink_to(other.name)
            case "fifo":
                os.mkfifo(path)
            case "mkdir":
                path.mkdir()
            case "rmdir":
                path.rmdir()


# What depends on the moment is not found again by shorter steps.
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.one_of(of_files, of_files, of_files, of_directories), min_size=4, max_size=30), st.integers(1, 3))
def test_whatever_changes_under_the_mover_the_copy_is_the_source_in_the_end(steps: list[Step], workers: int) -> None:
    with memory_directory() as work:
        stage = Stage(work, {"workers": workers, "settle_ns": 1_000_000})
        for made in DIRECTORIES[:3]:
            (stage.source / made).mkdir()
        mover = native.Mover(stage.written().read_text())
        mover.start()
        for step, path, other, size, pause_ms in steps:
            do(step, stage.source / path, stage.source / other, size)
            time.sleep(pause_ms / 1000)
        mover.drain()
        assert mover.wait(PATIENCE_S)
        status = mover.status()
        assert status["progress"] == "finished" and not status["failures"] and not status["queued"]["files"], status
        source = tree(stage.source)
        assert differences(source, only(tree(stage.to), source)) == []
        assert stage.temporaries() == []
        report = native.stage_verify(str(stage.to), 1, lambda *_: True)
        assert not any(report[key] for key in ("missing", "size_differs", "checksum_differs", "unreadable")), report


def only(found: dict[bytes, Found], wanted: dict[bytes, Found]) -> dict[bytes, Found]:
    """Without what was staged and then removed or renamed at the source: a mover removes nothing at the destination."""
    return {path: replace(about, names=about.names & wanted.keys()) for path, about in found.items() if path in wanted}
