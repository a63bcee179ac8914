"""Kept load lines: what was kept is found again, and nothing that others put there does harm."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.records.load_line_files import KeptLine, _line_of, keep_line, kept_lines, lines_in

LINE = KeptLine(
    target="nfs:rcss1:/export", operation="read", access="sequential", transfer_size=1 << 20, tasks=8, low=7, high=9,
    plateau_bytes_per_s=10**9, single_bytes_per_s=2 * 10**8, measured_at_s=1.75e9, host="n1", run="/runs/1",
    kernel="6.1", servers=("rcss1",),
)  # fmt: skip


def test_what_was_kept_is_found_by_its_target_the_oldest_first(tmp_path: Path) -> None:
    lines = [replace(LINE, measured_at_s=LINE.measured_at_s + age) for age in (5, 1, 3)]
    for line in (*lines, replace(LINE, target="other")):
        keep_line(tmp_path, line)
    assert kept_lines([tmp_path], LINE.target) == [lines[1], lines[2], lines[0]]
    assert len(kept_lines([tmp_path])) == 4
    assert kept_lines([tmp_path / "none"], LINE.target) == []


def test_a_line_kept_in_two_directories_counts_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        keep_line(tmp_path / name, LINE)
    assert kept_lines([tmp_path / "a", tmp_path / "b"], LINE.target) == [LINE]


def test_probes_that_end_together_lose_no_line(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=lambda n=n: keep_line(tmp_path, replace(LINE, run=f"/runs/{n}"))) for n in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {line.run for line in kept_lines([tmp_path], LINE.target)} == {f"/runs/{n}" for n in range(32)}


def test_a_full_disk_leaves_what_was_there_and_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_line(tmp_path, LINE)
    write: Callable[[int, bytes], int] = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) <= 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[:10])

    monkeypatch.setattr(os, "write", lambda descriptor, data: full(descriptor, data[: len(data) // 2]))
    with pytest.raises(OSError, match="No space left"):
        keep_line(tmp_path, replace(LINE, run="/runs/2"))
    assert kept_lines([tmp_path], LINE.target) == [LINE]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_others_put_beside_is_passed_over_and_told(tmp_path: Path) -> None:
    kept = keep_line(tmp_path, LINE)
    start = kept.name[:17]
    (tmp_path / f"{start}1.json").write_text("{", encoding="utf-8")
    (tmp_path / f"{start}2.json").symlink_to(kept)
    os.mkfifo(tmp_path / f"{start}3.json")
    (tmp_path / f"{start}4.json").write_text('{"format": "something else"}', encoding="utf-8")
    (tmp_path / f"{start}5.json").write_text(kept.read_text(encoding="utf-8").replace("8, ", "-8, "), encoding="utf-8")
    (tmp_path / "README").write_text("lines of all users", encoding="utf-8")
    lines, problems = lines_in(tmp_path, LINE.target)
    assert lines == [LINE]
    assert sorted(problem.removeprefix(f"{tmp_path}/{start}") for problem in problems) == [
        "1.json is not JSON",
        "2.json cannot be read: Too many levels of symbolic links",
        "3.json cannot be read: it is no regular file",
        "4.json holds no load line that this version reads",
        "5.json holds a load line that cannot be",
    ]


@pytest.mark.parametrize(
    "change",
    [{"low": 9}, {"high": 7}, {"tasks": 0, "low": 0}, {"tasks": True}, {"measured_at_s": "inf"}, {"servers": [1]},
     {"transfer_size": 0}, {"single_bytes_per_s": -1}, {"run": None}],
)  # fmt: skip
def test_a_line_that_cannot_be_is_none(change: dict[str, object]) -> None:
    stored = json.loads(json.dumps({name: getattr(LINE, name) for name in LINE.__slots__}))
    assert _line_of(stored) == LINE
    assert _line_of({**stored, **change}) is None
    del stored["host"]
    assert _line_of(stored) is None


def test_a_file_that_calls_the_transfer_size_by_its_earlier_name_is_read(tmp_path: Path) -> None:
    kept = keep_line(tmp_path, LINE)
    text = kept.read_text(encoding="utf-8")
    assert text.count('"transfer_size"') == 1 and "transfer_bytes" not in text
    kept.write_text(text.replace('"transfer_size"', '"transfer_bytes"'), encoding="utf-8")
    assert lines_in(tmp_path, LINE.target) == ([LINE], [])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=3)
            | st.lists(st.integers())
            for name in ("target", "tasks", "low", "high", "measured_at_s", "servers", "transfer_size", "run")
        },
    )
)
def test_any_object_is_a_line_in_order_or_none(changes: dict[str, object]) -> None:
    stored = json.loads(json.dumps({name: getattr(LINE, name) for name in LINE.__slots__}))
    line = _line_of({**stored, **changes})
    assert line is None or (1 <= line.low <= line.tasks <= line.high and isinstance(line.target, str))


def test_a_rate_that_a_file_has_as_a_float_is_read(tmp_path: Path) -> None:
    path = keep_line(tmp_path, LINE)
    path.write_text(
        json.dumps({**json.loads(path.read_text()), "plateau_bytes_per_s": 1.5e9, "single_bytes_per_s": 2.5})
    )
    (line,) = kept_lines([tmp_path], LINE.target)
    assert (line.plateau_bytes_per_s, line.single_bytes_per_s) == (1_500_000_000, 2)
