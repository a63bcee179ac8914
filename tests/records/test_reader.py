"""Whatever is wrong with a file becomes a RecordError that names it."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tonnage.errors import RecordError
from tonnage.records import Run, RunWriter

LINE = {
    "trial": 0, "record": "0000-write", "setting": {"op": "write", "tasks": 1, "transfer_size": 1}, "repetition": 0,
    "phase": "write", "purpose": "measure", "status": "ok", "bytes": 1, "operations": 1, "errors": 0,
}  # fmt: skip


def run_with(directory: Path, trials: bytes) -> Run:
    RunWriter.create(directory, {})
    (directory / "trials.jsonl").write_bytes(trials)
    return Run.open(directory)


def test_a_directory_without_a_manifest_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="it has no manifest"):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ('{"format": "other"}', "no run of Tonnage"),
        ('{"format": "tonnage-run", "format_version": 2}', "use the version that wrote it"),
        ("{", "is not JSON"),
        ("[]", "not a JSON object"),
    ],
)
def test_a_foreign_manifest_says_what_it_is(tmp_path: Path, manifest: str, says: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(RecordError, match=says):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bytes": -1}, "bytes is -1"),
        ({"bytes": 1.5}, "bytes is 1.5, not an integer"),
        ({"bytes": True}, "bytes is True"),
        ({"record": "../../etc/passwd"}, "record"),
        ({"setting": {"op": "write"}}, "setting: tasks is None"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    good, bad = json.dumps(LINE), json.dumps({**LINE, **change})
    run = run_with(tmp_path, f"{good}\n{bad}\n".encode())
    with pytest.raises(RecordError, match=rf"trials\.jsonl, line 2.*{says}"):
        run.trials()


def test_a_line_that_is_still_being_written_is_not_read_yet(tmp_path: Path) -> None:
    text = json.dumps(LINE).encode()
    assert run_with(tmp_path, text + b"\n" + text[:-5]).trials() == [LINE]


def test_a_record_cannot_lead_out_of_the_run(tmp_path: Path) -> None:
    run = run_with(tmp_path, b"")
    with pytest.raises(RecordError, match="not the name of a record"):
        run.series("../../x")


def test_a_series_that_is_not_one_is_named(simulated: Run) -> None:
    (simulated.path / "series" / "0000-write.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(RecordError, match=r"0000-write\.parquet cannot be read"):
        simulated.series("0000-write")
    assert simulated.series("0009-write") is None


def damage(data: bytes, at: int, kind: str, byte: int) -> bytes:
    at %= len(data)
    if kind == "flip":
        return data[:at] + bytes([byte]) + data[at + 1 :]
    if kind == "cut":
        return data[:at]
    return data[:at] + bytes([byte] * 40) + data[at:]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.sampled_from(["flip", "cut", "insert"]), st.integers(0, 255))
def test_any_damage_gives_lines_or_an_error_that_names_the_file(at: int, kind: str, byte: int) -> None:
    text = (json.dumps(LINE) + "\n").encode() * 3
    with tempfile.TemporaryDirectory() as directory:
        run = run_with(Path(directory), damage(text, at, kind, byte))
        try:
            lines = run.trials()
        except RecordError as error:
            assert "trials.jsonl, line" in str(error)
        else:
            assert all(line["bytes"] >= 0 for line in lines)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_raise_anything_else(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        run = run_with(Path(directory), data)
        for name in ("tasks.jsonl", "events.jsonl"):
            (run.path / name).write_bytes(data)
        readers: list[Callable[[], list[dict[str, Any]]]] = [run.trials, run.tasks, run.events]
        for read in readers:
            with contextlib.suppress(RecordError):
                assert isinstance(read(), list)


def test_deep_nesting_and_endless_digits_are_errors_not_crashes(tmp_path: Path) -> None:
    for number, text in enumerate((b"[" * 100_000, b'{"a":' + b"9" * 10_000 + b"}", b'{"a":NaN}')):
        run = run_with(tmp_path / str(number), text + b"\n")
        with pytest.raises(RecordError, match="line 1"):
            run.trials()


def test_a_run_that_goes_on_is_followed_line_by_line(tmp_path: Path) -> None:
    first, second = (json.dumps({**LINE, "trial": trial}).encode() + b"\n" for trial in (0, 1))
    run = run_with(tmp_path, first + second[:7])
    lines, offset = run.trials_after(0, 1 << 20)
    assert ([line["trial"] for line in lines], offset) == ([0], len(first))
    (tmp_path / "trials.jsonl").write_bytes(first + second)
    lines, offset = run.trials_after(offset, 1 << 20)
    assert ([line["trial"] for line in lines], offset) == ([1], len(first) + len(second))
    assert run.trials_after(offset, 1 << 20) == ([], offset)


def test_who_follows_is_told_of_a_line_without_an_end_and_of_a_damaged_one(tmp_path: Path) -> None:
    run = run_with(tmp_path, b"x" * 100)
    with pytest.raises(RecordError, match="longer than 50 bytes"):
        run.trials_after(0, 50)
    (tmp_path / "trials.jsonl").write_bytes(b'{"trial": -1}\n')
    with pytest.raises(RecordError, match="trial is -1, below 0"):
        run.trials_after(0, 50)
