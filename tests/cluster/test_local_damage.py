"""A spool that holds what no spool writes: one sentence that names it, and nothing changed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tonnage.cluster.scheduler import SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local.spool import FILE, UNREADABLE, Spool
from tonnage.errors import RequestError

from .local_spool import ended, own_local, request, spool_of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with own_local() as found:
        yield found


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
    spooler_contact.lock_path(spool).write_bytes(b"\xff" * 3000)
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
