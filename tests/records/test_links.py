"""A run's files are its own: nothing is written through a link, and what was put among the records is told of."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis.verify import verify
from tonnage.errors import RecordError
from tonnage.records import Run, RunWriter

Append = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("name", ["trials.jsonl", "tasks.jsonl", "chain.jsonl", "files.sha256"])
def test_a_run_whose_files_have_a_second_name_does_not_go_on(tmp_path: Path, append: Append, name: str) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    append(RunWriter.create(run, {"state": "running"}), 0)
    os.link(run / name, other)
    before = other.read_bytes()
    with pytest.raises(RecordError, match=rf"{name} has 2 names.*cp -r"):
        RunWriter.reopen(run)
    assert other.read_bytes() == before
    other.unlink()
    append(RunWriter.reopen(run), 1)


def test_a_linked_copy_of_a_run_leaves_the_run_as_it_is(tmp_path: Path, append: Append) -> None:
    run, copy = tmp_path / "run", tmp_path / "copy"
    append(RunWriter.create(run, {"state": "interrupted"}), 0)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    subprocess.run(["cp", "-al", run, copy], check=True)
    with pytest.raises(RecordError, match="names"):
        RunWriter.reopen(copy)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_a_directory_of_records_that_is_a_link_is_not_written_to(tmp_path: Path, append: Append) -> None:
    run, theirs = tmp_path / "run", tmp_path / "theirs"
    append(RunWriter.create(run, {"state": "running"}), 0)
    theirs.mkdir()
    (run / "latency").rmdir()
    (run / "latency").symlink_to(theirs)
    with pytest.raises(RecordError, match="latency is a symbolic link"):
        RunWriter.reopen(run)


def test_what_was_added_to_the_rooms_of_a_sealed_run_is_told(tmp_path: Path, append: Append) -> None:
    writer = RunWriter.create(tmp_path, {"state": "running", "target": {"kind": "sim"}})
    append(writer, 0)
    writer.seal(state="complete")
    (tmp_path / "output").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    for name in ("series/9999-write.parquet", "output/x"):
        (tmp_path / name).write_text("added")
    (tmp_path / "heat").rename(tmp_path / "heat2")
    (tmp_path / "heat").symlink_to("heat2")
    said = " ".join(verify(Run.open(tmp_path)).seal.wrong)
    for name in ("series/9999-write.parquet was added", "output/x was added", "heat is a symbolic link"):
        assert name in said, said
    assert "notes.txt" not in said
