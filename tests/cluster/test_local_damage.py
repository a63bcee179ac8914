"""A spool that holds what no spool writes: one sentence that names it, and nothing changed."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from local_spool import LIMIT_S, ended, request, spool_of
from tonnage.cluster.scheduler import SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local.rows import UNREADABLE
from tonnage.cluster.schedulers.local.spool import FILE, LOCK, Spool
from tonnage.errors import RequestError
from waiting import wait_until


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path


def damaged(spool: Spool, *statements: str) -> None:
    with spool.change() as db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update copy set program = '1', waiter = '1', state = 'running', started_ns = 1", "copy 0 of job 1"),
        ("update copy set started_ns = 'noon', state = 'running'", "'noon' is no time"),
        ("update copy set state = 'wibble', started_ns = 1", "has the state 'wibble'"),
        ("update job set slots = 'abc'", "job 1: "),
        ("update job set licences = '{'", "job 1: "),
    ],
)
def test_a_row_that_no_spool_writes_is_named(base: Path, statement: str, said: str) -> None:
    spool = Spool(base / "spool")
    spool.add(request("true", key="k", directory=base))
    damaged(spool, statement)
    with pytest.raises(RequestError, match=re.escape(said)) as caught:
        spool.jobs(2, ended=True)
    assert "jobs.sqlite is damaged" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"no database at all, and longer than a page" * 200, b"\xff" * 8192], ids=["text", "bytes"]
)
def test_a_file_that_is_no_spool_is_refused_and_nothing_is_made_beside_it(base: Path, content: bytes) -> None:
    place = base / "spool"
    place.mkdir(0o700)
    (place / FILE).touch(0o600)
    (place / FILE).write_bytes(content)
    with pytest.raises(RequestError, match="damaged"):
        Spool(place)
    assert (place / FILE).read_bytes() == content
    assert [path.name for path in place.iterdir()] == [FILE]


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("version", [0, 1])
def test_another_programs_database_stays_as_it_is(base: Path, version: int, journal: str) -> None:
    place = base / "spool"
    place.mkdir(0o700)
    (place / FILE).touch(0o600)
    with closing(sqlite3.connect(place / FILE)) as db:
        db.execute(f"pragma journal_mode = {journal}")
        db.execute("create table foo (a)")
        db.execute(f"pragma user_version = {version}")
        db.commit()
    before = (place / FILE).read_bytes()
    with pytest.raises(RequestError, match="another program's"):
        Spool(place)
    assert (place / FILE).read_bytes() == before
    assert [path.name for path in place.iterdir()] == [FILE]


@pytest.mark.parametrize("table", ["job", "copy"])
def test_a_spool_without_one_of_its_tables_is_damaged_and_not_another_programs(base: Path, table: str) -> None:
    damaged(spool := Spool(base / "spool"), f"drop table {table}")
    with pytest.raises(RequestError, match=f"damaged: it has no table {table}; hint: "):
        Spool(spool.directory)


@pytest.mark.parametrize("text", ["{", "[]", '{"argv": 3}'])
def test_a_job_of_which_nobody_can_tell_what_it_asks_for_is_listed(base: Path, text: str) -> None:
    spool = Spool(base / "spool")
    number, _ = spool.add(request("true", key="k", directory=base))
    damaged(spool, f"update job set request = '{text}'")
    (line,) = spool.jobs(2)
    assert (line.job, line.state, line.key, line.reason) == (str(number), "pending", "k", UNREADABLE)
    spool.cancel(number)
    assert spool.jobs(2) == [] and [one.state for one in spool.jobs(2, ended=True)] == ["cancelled"]


def test_slots_are_counted_where_the_spoolers_file_has_anything_else_in_it(local: Local, base: Path) -> None:
    spool = spool_of(local)
    (spool.directory / LOCK).write_bytes(b"\xff" * 3000)
    job = local.submit(request("true", key="k", directory=base)).job
    assert ended(local, job).state == "done"
    assert local.hosts()[0].slots > 0


@pytest.mark.parametrize("name", ["spooler", "log"])
def test_a_link_in_a_files_place_is_not_written_through(local: Local, base: Path, name: str) -> None:
    mine = base / "mine"
    mine.write_bytes(b"x" * (2 << 20))
    (spool_of(local).directory / name).symlink_to(mine)
    with pytest.raises(SchedulerError, match=r"does not start.*; nothing was submitted") as refused:
        local.submit(request("true", key="k", directory=base))
    assert not isinstance(refused.value, SubmissionUnknown) and spool_of(local).numbers() == []
    assert mine.read_bytes() == b"x" * (2 << 20)
    (spool_of(local).directory / name).unlink()


def spooler_argv(spool: Spool) -> list[str]:
    """A spooler in the foreground."""
    return [sys.executable, "-m", "tonnage.cluster.schedulers.local.spooler", str(spool.directory), "30"]


def lose_the_file(spool: Spool) -> None:
    (spool.directory / FILE).rename(spool.directory / "elsewhere")


def overwrite(spool: Spool) -> None:
    (spool.directory / FILE).write_bytes(b"no database\n" * 1000)


def drop(spool: Spool) -> None:
    damaged(spool, "drop table copy")


def spoil_a_row(spool: Spool) -> None:
    damaged(spool, "update copy set state = 'running', waiter = 'nobody' where job = 1")


@pytest.mark.parametrize("damage", [lose_the_file, overwrite, drop, spoil_a_row])
def test_a_spooler_whose_spool_is_damaged_says_so_once_and_ends(base: Path, damage: Callable[[Spool], None]) -> None:
    spool = Spool(base / "spool")
    with subprocess.Popen(spooler_argv(spool)) as process:
        wait_until((spool.directory / "log").exists, "its start")
        # It has the turn that finds the damage: it looks again when a job is there.
        spool.add(request("true", key="k", directory=base, slots=10_000))
        with (spool.directory / "log").open("ab") as log:
            log.write(bytes(2 << 20))
        damage(spool)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCHLD)
        try:
            assert process.wait(timeout=LIMIT_S) == 1
        finally:
            process.kill()
    # What was too long is gone.
    lines = (spool.directory / "log").read_text().splitlines()
    assert len(lines) == 1 and str(spool.directory / FILE) in lines[0] and "hint: " in lines[0]


def test_a_file_that_is_the_standard_error_of_whoever_starts_a_spooler_is_not_cut(base: Path) -> None:
    spool, mine = Spool(base / "spool"), base / "mine"
    damaged(spool, "drop table copy")
    mine.write_bytes(b"x" * (2 << 20))
    with mine.open("ab") as errors:
        assert subprocess.run(spooler_argv(spool), stderr=errors, timeout=LIMIT_S, check=False).returncode == 1
    kept = mine.read_bytes()
    assert kept.startswith(b"x" * (2 << 20)) and b"it has no table copy" in kept


def test_a_spool_that_was_moved_away_under_load_is_not_called_damaged(base: Path) -> None:
    spool = Spool(base / "spool")
    lose_the_file(spool)
    (spool.directory / FILE).touch(mode=0o600)
    for use in (spool.running, lambda: spool.cancel(1)):
        with pytest.raises(RequestError, match=r"jobs\.sqlite was moved away or emptied by another process; hint: "):
            use()


def test_a_submission_to_a_spool_of_which_a_row_is_damaged_is_told_why_it_does_not_run(base: Path) -> None:
    state = base / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        local = scheduler("local", timeout_s=20)
        assert isinstance(local, Local)
        spool = spool_of(local)
        spool.add(request("true", key="a", directory=base))
        spoil_a_row(spool)
        with pytest.raises(
            SchedulerError, match=r"damaged: copy 0 of job 1.*; nothing was submitted; hint: move"
        ) as told:
            local.submit(request("true", key="b", directory=base))
        assert str(told.value).count("hint: ") == 1
        with pytest.raises((RequestError, SchedulerError), match="damaged: copy 0 of job 1"):
            local.jobs()
        assert spool.find("b") is None
        wait_until(lambda: spooler_contact.spooler(spool) is None, "the spooler's end")


def switches(pid: int) -> int:
    """How often a process has waited."""
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_what_hinders_a_spooler_again_and_again_is_in_its_log_once(base: Path) -> None:
    spool = Spool(base / "spool")
    spool.add(request("touch", "ran", key="k", directory=base))
    log = spool.directory / "log"
    # Its journal does not fit, as on a full disk; many lines of a log would.
    argv = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *spooler_argv(spool)]
    with subprocess.Popen(argv) as process:
        wait_until(lambda: log.exists() and log.stat().st_size)
        before = switches(process.pid)
        wait_until(lambda: switches(process.pid) >= before + 6, "some tries more")
        process.terminate()
        assert process.wait(timeout=LIMIT_S) == 0
    (line,) = log.read_text().splitlines()
    assert "the local scheduler's spool: " in line and not (base / "ran").exists()
