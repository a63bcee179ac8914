"""The spooler killed at random moments: every copy runs exactly once, and its end is known."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from local_spool import own_local, request, spool_of
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local.rows import WHOLE, Ended
from tonnage.cluster.schedulers.local.runner import attend
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.machine.user_state import user_state
from tonnage.processes import Process
from waiting import wait_until

SEEDS = range(50)
KILLS = 4
SCRIPT = 'echo "$1.$TONNAGE_COPY" >> "$2"; sleep "$3"; exit "$4"'


def submit_some(local: Local, chance: random.Random, directory: Path, batch: int) -> dict[str, int]:
    """What is expected of each copy: its line in the file, and its status."""
    expected: dict[str, int] = {}
    for index in range(2):
        name, status = f"{batch}-{index}", chance.choice((0, 0, 3))
        copies, cap = chance.choice((None, 3)), chance.choice((None, 1))
        words = (name, str(directory / "ran"), f"{chance.random() * 0.05:.3f}", str(status))
        local.submit(
            request(
                "sh",
                "-c",
                SCRIPT,
                "sh",
                *words,
                key=name,
                directory=directory,
                name=name,
                numbers=upto(copies) if copies else (),
                cap=cap,
            )
        )
        expected |= {f"{name}.{copy}": status for copy in ([""] if copies is None else range(1, copies + 1))}
    return expected


def kill_soon(local: Local, chance: random.Random) -> None:
    """At some moment from its start to its end."""
    time.sleep(chance.random() ** 2 * 0.15)
    pid = spooler_contact.spooler(spool_of(local))
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_copy_runs_exactly_once_however_often_the_spooler_is_killed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chance = random.Random(seed)
    with own_local() as local:
        expected: dict[str, int] = {}
        for batch in range(KILLS):
            expected |= submit_some(local, chance, tmp_path, batch)
            kill_soon(local, chance)
            local.jobs()
        wait_until(lambda: not local.jobs(), "the end of all jobs")
        lines = local.jobs(ended=True)
        log = spool_of(local).directory / "log"
        assert not log.exists() or "Traceback" not in log.read_text()
    ran = Counter((tmp_path / "ran").read_text().split())
    assert ran == Counter(dict.fromkeys(expected, 1))
    told = {f"{line.name}.{'' if line.copy is None else line.copy}": line.exit_status for line in lines}
    assert told == expected, "only the spooler was killed: those that wait for the programs know their ends"


def kill_a_waiter(local: Local, chance: random.Random) -> None:
    """One of the processes that wait for programs, if there is one."""
    spool = spool_of(local)
    waiting = [copy.waiter for copy in spool.running() if copy.state == "running"]
    for waiter in chance.sample(waiting, min(len(waiting), 1)):
        if waiter is not None and waiter.alive:
            with suppress(ProcessLookupError):
                os.kill(waiter.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_copy_runs_twice_and_each_has_an_end_when_whoever_waits_for_it_is_killed_too(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chance = random.Random(1000 + seed)
    with own_local() as local:
        expected: dict[str, int] = {}
        for batch in range(KILLS):
            expected |= submit_some(local, chance, tmp_path, batch)
            kill_a_waiter(local, chance)
            kill_soon(local, chance)
            local.jobs()
        wait_until(lambda: not local.jobs(), "the end of all jobs")
        lines = local.jobs(ended=True)
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran.values()) == {1}
    assert len(lines) == len(expected)
    for line in lines:
        name = f"{line.name}.{'' if line.copy is None else line.copy}"
        assert (line.exit_status == expected[name] and name in ran) or line.state == "unknown"


SUBMIT = """
import sys
from tonnage.cluster.scheduler import JobRequest
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
key, directory, *argv = sys.argv[1:]
print("begins", flush=True)
scheduler("local", timeout_s=20).submit(JobRequest(argv=tuple(argv), key=key, directory=directory, name=key))
"""


def submit_and_be_killed(chance: random.Random, directory: Path, key: str) -> None:
    """A submission by a process that is killed at some moment of it."""
    argv = [sys.executable, "-c", SUBMIT, key, str(directory), "sh", "-c", SCRIPT, "sh", key, "ran", "0", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begins\n"
        time.sleep(chance.random() * 0.1)
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_nothing_runs_twice_or_is_lost_where_submitters_and_spoolers_are_killed_and_jobs_cancelled(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chance = random.Random(2000 + seed)
    with own_local() as local:
        expected: dict[str, int] = {}
        cancelled: set[str] = set()
        for batch in range(KILLS):
            expected |= submit_some(local, chance, tmp_path, batch)
            key = f"again-{batch}"
            submit_and_be_killed(chance, tmp_path, key)
            kill_soon(local, chance)
            local.submit(request("sh", "-c", SCRIPT, "sh", key, "ran", "0", "0", key=key, directory=tmp_path, name=key))
            expected[f"{key}."] = 0
            for line in chance.sample(found := local.jobs(), min(len(found), 1)):
                with suppress(SchedulerError):  # it has ended meanwhile
                    local.cancel(line.job)
                    cancelled.add(line.name)
            kill_soon(local, chance)
        wait_until(lambda: not local.jobs(), "the end of all jobs")
        lines = local.jobs(ended=True)
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran.values()) == {1}
    assert {name for name in expected if name.partition(".")[0] not in cancelled} <= ran.keys() <= expected.keys()
    for line in lines:
        name = f"{line.name}.{'' if line.copy is None else line.copy}"
        if line.name not in cancelled:
            assert line.exit_status == expected[name], line
        elif line.exit_status is None:
            assert line.state == "cancelled" and name not in ran, line


def test_of_many_that_would_start_a_copy_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spool = Spool(user_state("local", "host"))
    number, _ = spool.add(request("true", key="k", directory=tmp_path))
    me = Process.this()
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: spool.claim(number, WHOLE, me), range(64)))
    assert won.count(True) == 1


def test_a_copy_that_a_killed_spooler_had_begun_to_start_is_started_by_the_next_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with own_local() as local:
        spool = spool_of(local)
        slots = local.hosts()[0].slots
        late, _ = spool.add(request("sh", "-c", "echo ran >> ran", key="late", directory=tmp_path, slots=slots))
        assert [one.job for one in spool.due(slots)] == [late], "as the killed spooler saw it"
        local.submit(request("true", key="k", directory=tmp_path))
        wait_until(lambda: not local.jobs(), "the end of both jobs")
        # As the process that the killed spooler had forked for it, of which the spool does not know.
        attend(spool, late, WHOLE)
        assert not spool.claim(late, WHOLE, Process.this()), "it comes too late to run it again"
        assert (tmp_path / "ran").read_text() == "ran\n"
        assert [line.exit_status for line in local.jobs(ended=True)] == [0, 0]


KILLED = """
import os, signal, sys, time
from tonnage.cluster.schedulers.local import spooler
from tonnage.cluster.schedulers.local.spool import Spool

moment, claim = sys.argv.pop(), Spool.claim


def killed(*arguments):
    if moment == "after":
        claim(*arguments)
    elif moment == "closing":
        # As the kernel does it, slowly: first the files go, then the process.
        os.closerange(3, 1024)
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


Spool.claim = killed
spooler.main(*sys.argv[1:])
"""
"""A spooler that is killed beside the one statement by which a copy gets its process."""


@pytest.mark.parametrize("moment", ["before", "closing", "after"])
def test_a_spooler_that_is_killed_as_it_writes_down_a_process_starts_nothing_twice_and_loses_nothing(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with own_local() as local:
        spool = spool_of(local)
        number, _ = spool.add(request("sh", "-c", "echo ran >> ran; exit 5", key="k", directory=tmp_path))
        argv = [sys.executable, "-c", KILLED, str(spool.directory), "30", moment]
        assert subprocess.run(argv, timeout=60, check=False).returncode == -signal.SIGKILL
        # Nobody asks for anything: the process that it had forked calls the next spooler.
        wait_until(lambda: number not in spool.numbers(), "the job's end")
        (line,) = local.jobs(ended=True)
        assert (line.state, line.exit_status) == ("failed", 5)
        assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_copy_that_was_claimed_before_the_spooler_was_killed_is_left_to_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with own_local() as local:
        spool = spool_of(local)
        number, _ = spool.add(request("touch", "ran", key="k", directory=tmp_path))
        assert spool.claim(number, WHOLE, Process.this())
        # The spooler finds the copy claimed by us, who live, and has nothing to start.
        after = local.submit(request("true", key="after", directory=tmp_path)).job
        wait_until(lambda: int(after) not in spool.numbers(), "the end of the job behind it")
        assert [line.state for line in local.jobs()] == ["running"] and not (tmp_path / "ran").exists()
        spool.end(number, WHOLE, Ended("done", 0, ""), Process.this())
        wait_until(lambda: not local.jobs())
        assert not (tmp_path / "ran").exists()


def test_many_who_submit_at_once_get_numbers_of_their_own_one_a_key_and_one_spooler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    keys = [f"k{index % 40}" for index in range(80)]

    def submit(key: str) -> str:
        # Nobody has started a spooler yet: all of them want to.
        other = scheduler("local", timeout_s=30)
        return other.submit(request("sh", "-c", 'echo "$0" >> ran', key, key=key, directory=tmp_path)).job

    with own_local() as local:
        with ThreadPoolExecutor(8) as pool:
            numbers = list(pool.map(submit, keys))
        assert numbers[:40] == numbers[40:]
        assert sorted(map(int, numbers[:40])) == list(range(1, 41))
        wait_until(lambda: not local.jobs(), "the end of all jobs")
    assert Counter((tmp_path / "ran").read_text().split()) == Counter(set(keys))
