"""Nextflow's traces: recorded ones, and every way in which one may differ or be damaged."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

import pytest
from tonnage.importers import read_trace
from tonnage.importers.nextflow import parse, read

RECORDED = Path(__file__).parent / "recorded"
SECOND = 10**9
HEAD = "task_id\tname\tstatus\texit\tsubmit\tstart\tcomplete\trealtime\trchar"


def trace(*lines: str, end: str = "\n") -> bytes:
    return ("\n".join(lines) + end).encode()


def test_a_raw_trace_gives_every_task_with_its_instants_and_bytes() -> None:
    found = read(RECORDED / "nextflow-raw.txt")
    assert not found.problems and len(found.tasks) == 17
    first = found.tasks[0]
    assert (first.name, first.process, first.status, first.exit_code) == ("prepare (2)", "prepare", "ok", 0)
    assert (first.submit_ns, first.complete_ns) == (1795303713581 * 10**6, 1795303713837 * 10**6)
    assert (first.run_ns, first.read_call_bytes, first.device_write_bytes) == (59 * 10**6, 625738, 360448)
    assert first.cpu_ns == 59 * 10**6 * 138 // 1000
    assert first.max_resident_bytes is None, "0 says that it ended before anybody looked"
    assert first.times_from == "engine" and first.after is None, "its directory is not there"


def test_the_usual_columns_as_people_read_them_give_the_same_kind_of_figures() -> None:
    found = read(RECORDED / "nextflow-human.txt")
    assert not found.problems and len(found.tasks) == 7
    pack = next(task for task in found.tasks if task.name == "pack (sample_1)")
    assert pack.process == "pack"
    assert pack.submit_ns == int(datetime(2026, 11, 21, 23, 38, 54).timestamp()) * SECOND + 204 * 10**6
    assert pack.complete_ns == pack.submit_ns + 5700 * 10**6, "submitted and so long after"
    assert pack.start_ns == pack.complete_ns - 5200 * 10**6
    assert pack.read_call_bytes == 163 * 1024**2 // 10


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("585ms", 585 * 10**6),
        ("1.2s", 1200 * 10**6),
        ("1,5s", 1500 * 10**6),
        ("1m 20s", 80 * SECOND),
        ("2d 3h 4m 5s", 183845 * SECOND),
        ("90061000", 90061 * SECOND),
        ("0", 0),
    ],
)
def test_durations_of_every_length_are_read(text: str, ns: int) -> None:
    (task,) = parse(trace("name\trealtime", f"a\t{text}"))[0].tasks
    assert task.run_ns == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("0", 0),
        ("7 B", 7),
        ("611.1 KB", 6111 * 1024 // 10),
        ("611,1 KB", 6111 * 1024 // 10),
        ("3 MiB", 3 << 20),
        ("1.234,5 MB", 2469 * (1 << 20) // 2),
        ("1.2 GB", 12 * 1024**3 // 10),
    ],
)
def test_sizes_are_powers_of_two_in_any_language(text: str, size: int) -> None:
    (task,) = parse(trace("name\trchar", f"a\t{text}"))[0].tasks
    assert task.read_call_bytes == size


def test_what_cannot_be_read_is_told_with_its_line_and_the_rest_kept() -> None:
    rows = ["1\ta\tCOMPLETED\t0\t1000\t2000\t3000\t900\t12"]
    rows += ["2\tb\tCOMPLETED\t0\tyesterday\t2000\t3000\tlong\t-"]
    rows += ["3\tc\tCOMPLETED\t0\t1000"]
    rows += ["", "4\td\tFAILED\t137\t1000\t2000\t3000\t-\tmany"]
    found, _ = parse(trace(HEAD, *rows))
    assert [(task.name, task.status) for task in found.tasks] == [("a", "ok"), ("b", "ok"), ("d", "failed")]
    assert found.problems == (
        "line 3: realtime 'long' is not a duration",
        "line 3: submit 'yesterday' is not a date and time",
        "line 4: it has 5 columns and not 9; left out",
        "line 6: rchar 'many' is not a size",
    )
    assert found.tasks[1].submit_ns is None and found.tasks[2].exit_code == 137


def test_a_line_that_was_cut_off_keeps_what_it_holds() -> None:
    found, _ = parse(trace(HEAD, "1\ta\tCOMPLETED\t0\t1000\t2000\t30", end=""))
    assert found.problems == ("line 2: it was cut off; what it holds is kept",)
    assert (found.tasks[0].name, found.tasks[0].submit_ns, found.tasks[0].run_ns) == ("a", SECOND, None)


@pytest.mark.parametrize("data", [b"", b"\n", b"no columns\nof a trace\n", b"\xff\xfe\x00"])
def test_what_is_no_trace_says_so_in_its_first_line(data: bytes) -> None:
    found, _ = parse(data)
    assert not found.tasks and len(found.problems) == 1 and found.problems[0].startswith("line 1: ")


def test_many_problems_are_counted_and_not_all_told() -> None:
    found, _ = parse(trace("name\trchar", *(f"{n}\tx" for n in range(100))))
    assert len(found.tasks) == 100 and found.problems[-1] == "and 80 more like these"


def test_retries_and_cached_tasks_are_told_apart() -> None:
    rows = ["a\tCACHED\t1", "b\tFAILED\t1", "b\tCOMPLETED\t2", "c\tABORTED\t-", "d\tNEW\t-"]
    found, _ = parse(trace("name\tstatus\tattempt", *rows))
    told = [(task.status, task.attempt) for task in found.tasks]
    assert told == [("cached", 1), ("failed", 1), ("ok", 2), ("aborted", 1), ("unfinished", 1)]


def seen(tmp_path: Path, begun_ns: int, ended_ns: int) -> Path:
    """A trace of two tasks that the engine saw late, and the directories of both."""
    now = time.time_ns() // 10**6
    rows = []
    for number, name in enumerate("ab"):
        directory = tmp_path / "work" / name
        directory.mkdir(parents=True)
        for file, at in ((".command.begin", begun_ns), (".exitcode", ended_ns)):
            (directory / file).touch()
            os.utime(directory / file, ns=(now * 10**6 + at, now * 10**6 + at))
        rows.append(f"{name}\tCOMPLETED\t{now}\t{now + 4900}\t{now + 5000}\t{directory}\t{number}")
    (tmp_path / "work/b/input").symlink_to(tmp_path / "work/a/output")
    (tmp_path / "trace.txt").write_bytes(trace("name\tstatus\tsubmit\tstart\tcomplete\tworkdir\ttask_id", *rows))
    return tmp_path / "trace.txt"


def test_the_tasks_own_files_say_when_it_ran_and_its_links_what_it_waited_for(tmp_path: Path) -> None:
    first, second = read_trace("nextflow", seen(tmp_path, SECOND, 2 * SECOND)).tasks
    assert first.submit_ns is not None and first.start_ns is not None and first.end_ns is not None
    assert first.start_ns - first.submit_ns == SECOND and first.end_ns - first.submit_ns == 2 * SECOND
    assert first.complete_ns == first.submit_ns + 5 * SECOND, "when the engine looked"
    assert first.times_from == "task"
    assert (first.after, second.after) == ((), (0,))


@pytest.mark.parametrize(("begun", "ended"), [(-60, -50), (60, 70), (2, 1)])
def test_files_dated_by_a_clock_that_is_far_off_move_no_task(tmp_path: Path, begun: int, ended: int) -> None:
    first, _ = read(seen(tmp_path, begun * SECOND, ended * SECOND)).tasks
    assert first.submit_ns is not None
    assert first.start_ns == first.submit_ns + 4900 * 10**6 and first.times_from == "engine"
