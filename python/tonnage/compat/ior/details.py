"""The files that directives ask for besides the summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.results import Row, TestResult
from tonnage.errors import RequestError
from tonnage.records import Run

_RANK_HEAD = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n"
OPERATIONS_MOST = 1 << 20
"""Operations of a task that are kept one by one, at most: 16 MiB of memory a task."""


def operations_kept(test: Parameters) -> int:
    """How many of each task."""
    return min(test.segment_count * (test.block_size // test.transfer_size), OPERATIONS_MOST)


def save_operations(result: TestResult) -> None:
    """``savePerOpDataCSV``: a file a task and repetition. As with IOR, a read replaces what a write left."""
    test = result.test
    if not test.save_per_op_data_csv:
        return
    for row in result.rows:
        columns = Run.open(result.run_of(row)).operations(row.line["record"]) or {}
        lines: dict[int, list[str]] = {task["task"]: [] for task in row.tasks}
        for task, end_ns, latency_ns in zip(*(columns[key] for key in ("task", "end_ns", "latency_ns")), strict=True):
            seconds = latency_ns / 1e9
            speed = test.transfer_size / seconds if seconds else 0.0
            lines[task].append(f"{(end_ns - latency_ns) / 1e9:.8e},{seconds:.8e},{speed:e}\n")
        for task, found in lines.items():
            name = f"{test.save_per_op_data_csv}-{row.repetition}-{task:05d}.csv"
            with open_text(name, "savePerOpDataCSV") as file:
                file.write("time,runtime,tp\n" + "".join(found))


def save_ranks(test: Parameters, rows: Sequence[Row], written: int) -> int:
    """Appends what ``saveRankPerformanceDetailsCSV`` wants of the rows from ``written`` on; how many there are."""
    if not test.save_rank_details_csv:
        return len(rows)
    with open_text(test.save_rank_details_csv, "saveRankPerformanceDetailsCSV", "a" if written else "w") as file:
        if not written:
            file.write(_RANK_HEAD)
        for row in rows[written:]:
            # IOR takes every task's share to be the same.
            share = row.bytes / test.num_tasks
            for task, times in zip(row.tasks, row.times, strict=True):
                whole = times.close_stop - times.open_start
                moved = times.transfer_stop - times.transfer_start
                numbers = (whole, moved, share / whole, share / moved)
                file.write(f"{row.access},{task['task']},{','.join(f'{number:.10e}' for number in numbers)}\n")
    return len(rows)


def save_stonewall(test: Parameters, rows: Sequence[Row]) -> None:
    """IOR's status file: how many transfers a task made, for a later read."""
    writes = [row for row in rows if row.access == "write"]
    if test.stone_walling_status_file and writes:
        pairs = max(task["operations"] for task in writes[-1].tasks)
        with open_text(test.stone_walling_status_file, "stoneWallingStatusFile") as file:
            file.write(f"{pairs}\n")


def open_text(path: str, directive: str, mode: str = "w") -> TextIO:
    """A file that a directive names; RequestError where it cannot be opened."""
    try:
        return Path(path).open(mode, encoding="utf-8")  # type: ignore[return-value]
    except OSError as error:
        raise RequestError(
            f"cannot open {path} for {directive}: {error.strerror}; hint: give a file that you may write"
        ) from None
