"""A process that dies, stops or is told to end: the record says who, nothing hangs, nothing is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from waiting import wait_until

from .ranks import Started, lines, manifest, needs_mpi, scratches, tonnage

pytestmark = [needs_mpi(), pytest.mark.timeout(900)]

CAMPAIGN = """
name = "long"
target = "."
order = "given"
[[workload]]
name = "short"
op = "write"
tasks = 3
block_size = "1MiB"
[[workload]]
name = "long"
op = "write"
tasks = 3
block_size = "1MiB"
time_limit = "1000s"
wrap = true
[[workload]]
name = "last"
op = "write"
tasks = 3
block_size = "1MiB"
[repeat]
count = 1
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "long.toml").write_text(CAMPAIGN)
    return tmp_path


def _start(cwd: Path, **extra: str) -> Started:
    return Started(3, "run", "long.toml", "--out", "run", "--no-report", cwd=cwd, extra=extra)


def _in_the_long_phase(cwd: Path) -> None:
    """A file was written to long after the first trial had its record."""
    record = cwd / "run/trials.jsonl"
    wait_until(lambda: len(lines(cwd / "run")) == 1 and _latest(cwd) > record.stat().st_mtime + 1.0)


def _latest(cwd: Path) -> float:
    return max((path.stat().st_mtime for path in cwd.glob(".tonnage-*/data.*")), default=0.0)


def test_a_killed_rank_is_named_in_the_record_and_the_rest_is_measured_later(campaign: Path) -> None:
    with _start(campaign) as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.ranks[2], signal.SIGKILL)
        code, _, _ = started.ended()
    assert code
    short, long = lines(campaign / "run")
    assert short["status"] == "ok" and long["status"] == "failed"
    assert "process 2 on " in long["reason"] and "its process ended" in long["reason"] and "(seen 20" in long["reason"]
    assert manifest(campaign / "run")["state"] == "failed"
    assert scratches(campaign) == []
    done = tonnage(4, "run", "--resume", "run", "--no-report", cwd=campaign)
    # The trial that failed stays failed.
    assert done.returncode == 1
    found = lines(campaign / "run")
    assert [line["setting"]["workload"] for line in found] == ["short", "long", "last"]
    assert found[-1]["status"] == "ok" and manifest(campaign / "run")["launcher"]["processes"] == 4


def test_a_rank_that_is_killed_while_it_has_no_task_is_lost_and_the_run_not_interrupted(campaign: Path) -> None:
    # What is lost is measured anew, for as long.
    (campaign / "long.toml").write_text(CAMPAIGN.replace("tasks = 3", "tasks = 1").replace("1000s", "45s"))
    with _start(campaign) as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.ranks[2], signal.SIGKILL)
        code, _, said = started.ended()
    # Its launcher told the others to end, which alone would look like a user's wish.
    assert code not in (0, 130) and "process 2 on " in said and "is lost" in said, said
    assert manifest(campaign / "run")["state"] == "failed"
    assert scratches(campaign) == []
    assert tonnage(3, "run", "--resume", "run", "--no-report", cwd=campaign).returncode == 0
    assert [line["status"] for line in lines(campaign / "run")][-2:] == ["ok", "ok"]


def test_a_stopped_rank_is_given_up_after_the_stated_time(campaign: Path) -> None:
    with _start(campaign, TONNAGE_LOST_AFTER="2") as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.ranks[1], signal.SIGSTOP)
        code, _, said = started.ended()
    assert code == 1, said
    assert "process 1 on " in said and "no sign of life" in said
    long = lines(campaign / "run")[1]
    assert long["status"] == "failed" and "process 1 on" in long["reason"]
    assert scratches(campaign) == []


@pytest.mark.parametrize("rank", [0, 2])
def test_a_signal_to_any_rank_interrupts_the_run_and_resume_measures_the_trial_again(campaign: Path, rank: int) -> None:
    with _start(campaign) as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.ranks[rank], signal.SIGTERM)
        code, _, said = started.ended()
    assert code == 130, said
    long = lines(campaign / "run")[1]
    assert long["status"] == "interrupted" and len(long["ensemble"]["hosts"]) == 1
    assert manifest(campaign / "run")["state"] == "interrupted"
    assert scratches(campaign) == []


def test_a_first_process_that_takes_its_time_ends_the_run_as_interrupted_too(campaign: Path) -> None:
    with _start(campaign) as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.ranks[0], signal.SIGSTOP)
        os.kill(started.ranks[2], signal.SIGTERM)
        time.sleep(4.0)  # how long it is away: longer than a process is left alone that cannot see it
        os.kill(started.ranks[0], signal.SIGCONT)
        code, _, said = started.ended()
    assert code == 130, said
    assert manifest(campaign / "run")["state"] == "interrupted"
    assert scratches(campaign) == []


def test_a_job_that_is_ended_by_its_launcher_leaves_its_records_and_no_files(campaign: Path) -> None:
    with _start(campaign) as started:
        started.await_ranks()
        _in_the_long_phase(campaign)
        os.kill(started.process.pid, signal.SIGTERM)
        code, _, _ = started.ended()
    assert code
    wait_until(lambda: all(not Path(f"/proc/{pid}").exists() for pid in started.ranks.values()))
    assert manifest(campaign / "run")["state"] == "interrupted"
    assert scratches(campaign) == []
