"""Whatever a trace holds, an importer tells of it: no traceback, and each line it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tonnage.importers import Trace, read_trace
from tonnage.importers.nextflow import parse

RECORDED = Path(__file__).parent / "recorded"
COLUMNS = (
    "name", "task_id", "process", "status", "exit", "attempt", "submit", "start", "complete", "duration", "realtime",
    "%cpu", "peak_rss", "rchar", "wchar", "read_bytes", "workdir", "hostname", "unheard of",
)  # fmt: skip
NUMBERS = st.from_regex(r"-?[0-9]{0,25}[.,]?[0-9]{0,5} ?(ms|d|h|m|s|KB|MB|EB|%|)", fullmatch=True)
CELL = st.one_of(NUMBERS, st.sampled_from(["-", "", "COMPLETED", "2026-11-21 23:38:54.204"]), st.text(max_size=12))
_ALLOWED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
COMMON = settings(deadline=None, max_examples=150, suppress_health_check=_ALLOWED)


def holds(found: Trace, data: bytes) -> None:
    """Figures fit the records, and each problem's line is one of the file."""
    lines = len(data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"))
    for problem in found.problems:
        line = re.match(r"line (\d+): ", problem)
        assert problem.startswith("and ") or (line and 1 <= int(line[1]) <= lines), problem
    for task in found.tasks:
        for key in ("submit_ns", "start_ns", "end_ns", "complete_ns", "run_ns", "read_call_bytes", "attempt"):
            value = getattr(task, key)
            assert value is None or (isinstance(value, int) and 0 <= value < 2**63)
        assert all(0 <= number < len(found.tasks) for number in task.after or ())


@COMMON
@given(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True), st.data())
def test_any_cells_in_any_columns_are_read_or_told(columns: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(CELL, min_size=1, max_size=len(columns) + 1), max_size=6))
    text = "\n".join("\t".join(row) for row in [columns, *rows]).encode("utf-8", "replace")
    holds(parse(text)[0], text)


@COMMON
@given(st.integers(0, 5000), st.binary(max_size=40), st.integers(0, 5000))
def test_a_trace_with_any_hole_is_read_or_told(begin: int, put: bytes, length: int) -> None:
    whole = (RECORDED / "nextflow-raw.txt").read_bytes()
    damaged = whole[:begin] + put + whole[begin + length :]
    holds(parse(damaged)[0], damaged)


def test_the_line_of_a_problem_is_the_one_that_was_damaged() -> None:
    lines = (RECORDED / "nextflow-raw.txt").read_bytes().split(b"\n")
    for number in range(1, len(lines) - 1):
        damaged = [*lines]
        damaged[number] = damaged[number].replace(b"COMPLETED\t0\t1\t1", b"COMPLETED\t0\t1\tx", 1)
        (problem,) = parse(b"\n".join(damaged))[0].problems
        assert problem.startswith(f"line {number + 1}: submit ")


@COMMON
@given(st.integers(0, 5500), st.binary(max_size=40), st.integers(0, 3000))
def test_a_log_of_snakemake_with_any_hole_is_read_or_told(tmp_path: Path, begin: int, put: bytes, length: int) -> None:
    whole = (RECORDED / "snakemake-run/.snakemake/log/run.snakemake.log").read_bytes()
    damaged = whole[:begin] + put + whole[begin + length :]
    (tmp_path / "log").write_bytes(damaged)
    holds(read_trace("snakemake", tmp_path / "log"), damaged)
