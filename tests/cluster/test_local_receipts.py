"""The numbers of a spool that was taken away: a receipt of it is no receipt of another job, and nothing of it touches
one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from local_spool import ended, kill_spooler, request, spool_of
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local.rows import WHOLE, Ended
from tonnage.cluster.schedulers.local.spool import FILE, LOCK, Spool
from tonnage.processes import Process
from waiting import wait_until


def submit(key: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tonnage.cli", "submit", "--scheduler=local", "--anywhere", f"--key={key}"]
    return subprocess.run([*argv, "--", *words], capture_output=True, text=True, check=False, timeout=120)


def moved(spool: Spool) -> None:
    (spool.directory / FILE).rename(spool.directory / "elsewhere")


def emptied(spool: Spool) -> None:
    (spool.directory / FILE).write_bytes(b"")


def removed(spool: Spool) -> None:
    for path in spool.directory.iterdir():
        path.unlink()
    spool.directory.rmdir()


@pytest.mark.parametrize("take_away", [moved, emptied, removed])
def test_an_old_key_is_not_answered_with_another_jobs_number(local: Local, take_away: object) -> None:
    assert "Job <1>" in submit("old", "true").stdout
    ended(local, "1")
    kill_spooler(local)
    assert callable(take_away)
    take_away(spool_of(local))
    new = local.submit(request("sleep", "600", key="new", directory=Path.cwd())).job
    again = submit("old", "true")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("tonnage: error: the job of the key old was job 1 of another spool: ")
    assert again.stderr.count("\n") == 1 and "hint: put that file back, or give another --key" in again.stderr
    assert [line.job for line in local.jobs()] == [new], "nothing was submitted or cancelled"


def test_a_key_whose_job_is_there_or_was_forgotten_is_answered_with_its_number(local: Local) -> None:
    assert "Job <1>" in submit("old", "true").stdout
    ended(local, "1")
    assert "Job <1>" in submit("old", "true").stdout
    spool = spool_of(local)
    wait_until(lambda: not spool.numbers())
    with spool.change() as db:
        db.execute("delete from job")
        db.execute("delete from copy")
    local.submit(request("true", key="new", directory=Path.cwd()))
    assert "Job <1>" in submit("old", "true").stdout, "its number is nobody else's"


@pytest.mark.parametrize("take_away", [moved, emptied])
def test_a_number_of_a_spool_that_was_taken_away_is_of_no_other_job(local: Local, take_away: object) -> None:
    assert local.submit(request("true", key="old", directory=Path.cwd())).job == "1"
    ended(local, "1")
    kill_spooler(local)
    assert callable(take_away)
    take_away(spool_of(local))
    new = local.submit(request("sleep", "600", key="new", directory=Path.cwd())).job
    with pytest.raises(SchedulerError, match="there is no job 1"):
        local.cancel("1")
    with pytest.raises(SchedulerError, match="there is no job 1"):
        local.set_cap("1", 1)
    assert [line.state for line in local.jobs()] != [] and new != "1"


HOLDS = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("serves", flush=True)
sys.stdin.read()
"""


def test_no_spool_is_made_anew_while_a_spooler_may_have_the_file_before_open(tmp_path: Path) -> None:
    # Its transaction would be undone with the journal of the new file, which has the same name.
    spool = Spool(tmp_path / "spool")
    number, _ = spool.add(request("true", key="old", directory=tmp_path))
    (spool.directory / LOCK).touch(0o600)
    moved(spool)
    argv = [sys.executable, "-c", HOLDS, str(spool.directory / LOCK)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "serves\n"
        with pytest.raises(SchedulerError, match="before still runs; nothing was changed; hint: try again"):
            Spool(spool.directory, timeout_s=0.2)
        assert (spool.directory / FILE).stat().st_size == 0
        process.stdin.close()
    assert Spool(spool.directory).numbers() == []
    (spool.directory / "elsewhere").replace(spool.directory / FILE)
    assert Spool(spool.directory).numbers() == [number]


def test_a_spooler_makes_room_for_the_spool_that_takes_the_place_of_its_own(local: Local, tmp_path: Path) -> None:
    spool = spool_of(local)
    local.submit(request("true", key="old", directory=tmp_path))
    before = spooler_contact.spooler(spool)
    ended(local, "1")
    moved(spool)
    new = local.submit(request("sh", "-c", "exit 3", key="new", directory=tmp_path)).job
    assert ended(local, new).exit_status == 3
    assert spooler_contact.spooler(spool_of(local)) not in (None, before)


def test_who_waits_for_a_job_of_a_spool_that_was_taken_away_writes_nothing_of_another(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    number, _ = spool.add(request("true", key="new", directory=tmp_path))
    me, other = Process.this(), Process(os.getpid(), 1, "another")
    assert spool.claim(number, WHOLE, me)
    spool.note_program(number, WHOLE, other, other)
    assert not spool.end(number, WHOLE, Ended("failed", 1, ""), other)
    (copy,) = spool.running()
    assert (copy.state, copy.program) == ("running", None)
    assert spool.end(number, WHOLE, Ended("done", 0, ""), me)


def test_a_job_that_ends_after_its_spool_was_removed_ends_no_other(local: Local, tmp_path: Path) -> None:
    script = "echo >on{0}; while [ ! -e go{0} ]; do sleep 0.02; done; exit 7"
    assert local.submit(request("sh", "-c", script.format("a"), key="a", directory=tmp_path)).job == "1"
    wait_until((tmp_path / "ona").exists)
    spool = spool_of(local)
    wait_until(lambda: all(copy.program for copy in spool.running()))
    (old,) = spool.running()
    kill_spooler(local)
    for path in spool.directory.iterdir():
        path.unlink()
    assert local.submit(request("sh", "-c", script.format("b"), key="b", directory=tmp_path)).job == "1"
    wait_until((tmp_path / "onb").exists)
    (tmp_path / "goa").touch()
    assert old.waiter is not None
    wait_until(lambda: not old.waiter.alive, "the end of the process that waited for the first")
    assert [line.state for line in local.jobs()] == ["running"]
    (tmp_path / "gob").touch()
    assert ended(local, "1").exit_status == 7
