"""Where a job's output goes: to nothing that another user planted, and to nothing that holds the job."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from local_spool import ended, request
from tonnage.cluster.schedulers.local import Local, streams
from tonnage.cluster.schedulers.local.rows import WHOLE
from tonnage.cluster.schedulers.local.spool import Spool
from tonnage.cluster.schedulers.local.spooler import Spooler
from tonnage.errors import RequestError
from tonnage.processes import Process

from .test_local_owners import as_other, as_root


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory that everybody may write to, without the sticky bit: no setting of the kernel's helps there."""
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o777)
    return place


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of this user's that no job is to write to."""
    file = tmp_path / "precious"
    file.write_text("kept\n")
    return file


def link(precious: Path) -> None:
    Path("tonnage-1.out").symlink_to(precious)


def plain_file(_: Path) -> None:
    Path("tonnage-1.out").write_text("theirs\n")


def fifo(_: Path) -> None:
    os.mkfifo("tonnage-1.out", 0o666)


@as_root
@pytest.mark.parametrize(
    ("plant", "words"),
    [(link, "is a link of another user"), (plain_file, "belongs to another user"), (fifo, "is a FIFO")],
)
def test_what_another_user_planted_under_the_name_of_an_output_is_not_written_to(
    local: Local, shared: Path, precious: Path, plant: Callable[[Path], None], words: str
) -> None:
    as_other(shared, lambda: plant(precious))
    job = local.submit(request("sh", "-c", "echo attacked; touch ran", key="k", directory=shared)).job
    end = ended(local, job)
    assert (end.state, end.exit_status) == ("failed", 126)
    assert f"{shared / 'tonnage-1.out'} {words}" in end.reason
    assert precious.read_text() == "kept\n"
    assert plant is not plain_file or (shared / "tonnage-1.out").read_text() == "theirs\n"
    assert not (shared / "ran").exists(), "the program does not run"


def test_a_second_name_of_a_file_is_not_written_to_where_others_may_have_given_it(
    local: Local, shared: Path, precious: Path, tmp_path: Path
) -> None:
    (shared / "tonnage-1.out").hardlink_to(precious)
    assert "has other names" in ended(local, local.submit(request("true", key="a", directory=shared)).job).reason
    assert precious.read_text() == "kept\n"
    (tmp_path / "mine").hardlink_to(precious)
    job = local.submit(request("echo", "more", key="b", directory=tmp_path, output="mine")).job
    assert (ended(local, job).state, precious.read_text()) == ("done", "kept\nmore\n"), "nobody else gives names here"


@as_root
def test_a_directory_that_another_users_link_stands_for_is_not_entered(
    local: Local, shared: Path, tmp_path: Path
) -> None:
    (tmp_path / "private").mkdir()
    as_other(shared, lambda: Path("logs").symlink_to(tmp_path / "private"))
    job = local.submit(request("echo", "x", key="k", directory=shared, output="logs/%J.out")).job
    assert f"{shared / 'logs'} is a link of another user" in ended(local, job).reason
    assert not list((tmp_path / "private").iterdir())


@as_root
def test_a_link_of_ones_own_is_followed_but_not_to_what_belongs_to_another_user(local: Local, shared: Path) -> None:
    (shared / "1.out").symlink_to("to/../mine")
    (shared / "to").mkdir()
    (shared / "2.out").symlink_to("theirs")
    as_other(shared, lambda: Path("theirs").write_text("theirs\n"))
    for key in ("a", "b"):
        local.submit(request("echo", "x", key=key, directory=shared, output="%J.out"))
    assert ended(local, "1").state == "done"
    assert (shared / "mine").read_text() == "x\n"
    assert f"{shared / 'theirs'} belongs to another user" in ended(local, "2").reason
    assert (shared / "theirs").read_text() == "theirs\n"


def test_a_device_is_written_to_where_it_is_named_and_a_directory_is_none(local: Local, tmp_path: Path) -> None:
    (tmp_path / "nothing").symlink_to("/dev/null")
    (tmp_path / "tonnage-3.out").symlink_to("/dev/null")
    for key, output in (("a", "/dev/null"), ("b", "nothing"), ("c", None), ("d", ".")):
        local.submit(request("echo", "x", key=key, directory=tmp_path, output=output))
    assert [ended(local, job).state for job in "1234"] == ["done", "done", "failed", "failed"]
    assert "is no regular file" in ended(local, "3").reason
    assert "Is a directory" in ended(local, "4").reason


@as_root
def test_a_named_output_that_is_not_to_be_written_to_is_refused_before_anything_is_submitted(
    local: Local, shared: Path, precious: Path
) -> None:
    as_other(shared, lambda: Path("out").symlink_to(precious))
    os.mkfifo(shared / "pipe")
    for names in ({"output": "out"}, {"error": "out"}, {"output": "pipe"}, {"input": "pipe"}):
        with pytest.raises(RequestError, match=r"another user|FIFO"):
            local.check(request("true", key="k", directory=shared, **names))
    local.check(request("true", key="k", directory=shared, output="not/there/yet"))
    argv = [sys.executable, "-m", "tonnage.cli", "submit", "--scheduler", "local", "--anywhere", "-o", "out", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, cwd=shared)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{shared / 'out'} is a link of another user" in done.stderr
    assert not local.jobs(ended=True)


def test_what_takes_the_place_of_a_file_after_the_look_is_not_opened(
    shared: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shared / "way").mkdir()
    open_path = streams.Walk.open_path

    def exchanged(walk: streams.Walk) -> int | None:
        found = open_path(walk)
        if (shared / "way").is_dir() and not (shared / "way").is_symlink():
            (shared / "way").rename(shared / "before")
            (shared / "way").symlink_to(precious.parent)
        return found

    monkeypatch.setattr(streams.Walk, "open_path", exchanged)
    handle = streams.open_output(shared / "way" / "precious", named=True)
    os.write(handle, b"x")
    os.close(handle)
    assert precious.read_text() == "kept\n"
    assert (shared / "before" / "precious").read_text() == "x", "the directory that was looked at"


def test_an_input_that_is_a_fifo_holds_nobody(local: Local, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "1.in")
    job = local.submit(request("cat", key="k", directory=tmp_path, input="%J.in")).job
    assert f"{tmp_path / '1.in'} is a FIFO" in ended(local, job).reason


def a_spooler(spool: Spool) -> Spooler:
    """One that serves nobody."""
    return Spooler(spool, -1)


def long_cancelled(spool: Spool, number: int) -> None:
    """The end of a job was ordered long ago."""
    spool.cancel(number)
    with spool.change() as db:
        db.execute("update copy set cancelled_ns = 1")


def test_a_copy_that_hangs_before_its_program_is_there_is_ended_by_cancel(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    number, _ = spool.add(request("true", key="k", directory=tmp_path))
    held = a_spooler(spool)
    # As a process that opens a file of a server which does not answer: no signal but one reaches it.
    with subprocess.Popen(["sh", "-c", "trap '' TERM; exec sleep 1000"]) as waiter:
        try:
            process = Process.of(waiter.pid)
            assert process is not None
            assert spool.claim(number, WHOLE, process)
            long_cancelled(spool, number)
            held.settle()
            assert waiter.wait(60) == -9
        finally:
            waiter.kill()
    held.settle()
    end = spool.copy(number, WHOLE)
    assert end is not None
    assert (end.state, end.reason) == ("cancelled", "ended before its program began")
    assert not spool.running(), "its slot is free"


def test_who_only_claims_a_copy_so_that_it_does_not_run_is_not_signalled(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    # As whoever waits in the foreground: it reads the order by itself, and does not run the copy.
    with subprocess.Popen(["sleep", "1000"]) as claimer:
        try:
            process = Process.of(claimer.pid)
            assert process is not None
            number, _ = spool.add(request("true", key="k", directory=tmp_path), waiter=process)
            assert spool.claim(number, WHOLE, process)
            long_cancelled(spool, number)
            a_spooler(spool).settle()
            with pytest.raises(subprocess.TimeoutExpired):
                claimer.wait(0.2)
        finally:
            claimer.kill()
