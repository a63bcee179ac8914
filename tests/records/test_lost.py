"""Files of a run that are removed, cut or changed while it goes on: it ends with an error, and never with a seal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import RecordError
from tonnage.records import Run, RunWriter, verify_files

Append = Callable[..., dict[str, Any]]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def change(path: Path) -> None:
    """As ``sed -i`` does: another file of the same size."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-2] + b"x\n")


def state(run: Path) -> Any:
    return Run.open(run).manifest["state"]


@pytest.mark.parametrize("harm", [Path.unlink, cut, empty])
@pytest.mark.parametrize("name", ["trials.jsonl", "tasks.jsonl", "chain.jsonl"])
def test_the_next_record_tells_what_was_removed_or_cut(
    tmp_path: Path, append: Append, name: str, harm: Callable[[Path], None]
) -> None:
    writer = RunWriter.create(tmp_path, {"state": "running"})
    append(writer, 0)
    harm(tmp_path / name)
    with pytest.raises(RecordError, match=f"^{tmp_path / name} has lost what was recorded: .*hint: "):
        append(writer, 1)
    writer.seal(state="complete")
    assert state(tmp_path) == "running" and not (tmp_path / "SHA256SUMS").exists()


@pytest.mark.parametrize("harm", [Path.unlink, cut, empty, change])
@pytest.mark.parametrize("name", ["trials.jsonl", "tasks.jsonl", "chain.jsonl", "files.sha256"])
def test_the_end_tells_it_of_the_last_record_and_the_run_has_no_seal(
    tmp_path: Path, append: Append, name: str, harm: Callable[[Path], None]
) -> None:
    writer = RunWriter.create(tmp_path, {"state": "running"})
    (tmp_path / "series" / "0000-write.parquet").write_bytes(b"rows")
    append(writer, 0)
    harm(tmp_path / name)
    with pytest.raises(RecordError, match=str(tmp_path / name)):
        writer.seal(state="complete")
    assert state(tmp_path) == "running" and not (tmp_path / "SHA256SUMS").exists()


def test_a_file_of_a_record_that_was_removed_is_told_at_the_end(tmp_path: Path, append: Append) -> None:
    writer = RunWriter.create(tmp_path, {"state": "running"})
    series = tmp_path / "series" / "0000-write.parquet"
    series.write_bytes(b"rows")
    append(writer, 0)
    series.unlink()
    with pytest.raises(RecordError, match=str(series)):
        writer.seal(state="complete")
    assert state(tmp_path) == "running"


def test_what_nobody_touched_is_sealed_also_after_a_resume(tmp_path: Path, append: Append) -> None:
    append(RunWriter.create(tmp_path, {"state": "running"}), 0)
    writer = RunWriter.reopen(tmp_path)
    append(writer, 1)
    writer.seal(state="complete")
    assert state(tmp_path) == "complete"


@pytest.mark.parametrize("room", ["heat", "latency", "series"])
def test_a_file_that_a_record_promises_and_does_not_have_is_named(simulated: Run, room: str) -> None:
    assert verify_files(simulated) == []
    next((simulated.path / room).glob("0001-*")).unlink()
    (said,) = verify_files(simulated)
    assert said.startswith("0001-write: ") and room in said and said.endswith("missing")
