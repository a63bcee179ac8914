"""Where this user's state may lie: nobody else gets into the way there, and so to run commands as this user."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from local_spool import request
from tonnage.cluster.schedulers.local.rows import WHOLE
from tonnage.cluster.schedulers.local.spool import FILE, Spool
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_state
from tonnage.processes import Process

OTHER = 65534
"""Another user's number."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


def as_other(place: Path, act: Callable[[], object]) -> None:
    """Does it as another user, in a directory that only this process can walk to."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.chdir(place)
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            os.umask(0)
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory as ``/tmp`` is one."""
    base = tmp_path / "base"
    base.mkdir()
    base.chmod(0o1777)
    monkeypatch.setenv("XDG_STATE_HOME", str(base))
    return base


def submit(base: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tonnage.cli", "submit", "--scheduler", "local", "--anywhere", "--", "true"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, cwd=base.parent)


@as_root
def test_nothing_is_submitted_below_a_directory_that_another_user_made(base: Path) -> None:
    as_other(base, lambda: os.mkdir("tonnage", 0o777))  # noqa: PTH102
    done = submit(base)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"{base / 'tonnage'} belongs to another user" in done.stderr
    assert not list((base / "tonnage").iterdir()), "nothing is left where the other user could replace it"


@as_root
@pytest.mark.parametrize("where", ["", "made/before"])
def test_a_way_through_another_users_directory_is_refused_whoever_may_write_there(
    base: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    as_other(base, lambda: os.mkdir("other", 0o755))  # noqa: PTH102
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "other" / where))
    with pytest.raises(RequestError, match="other belongs to another user"):
        user_state("local", "host")


@as_root
def test_another_users_link_is_refused_and_ones_own_is_followed(base: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    as_other(base, lambda: Path("tonnage").symlink_to(mine))
    with pytest.raises(RequestError, match="tonnage belongs to another user"):
        user_state("local")
    (base / "tonnage").unlink()
    (base / "tonnage").symlink_to("../mine")
    assert user_state("local") == mine / "local"


def test_a_directory_on_the_way_that_others_may_write_is_refused_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_one = tmp_path / "open"
    (open_one / "state").mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(open_one / "state"))
    for mode in (0o777, 0o757, 0o2777):
        open_one.chmod(mode)
        with pytest.raises(RequestError) as raised:
            user_state("local")
        assert f"others can write to {open_one}; hint: `chmod go-w {open_one}`" in str(raised.value)
    open_one.chmod(0o755)
    assert user_state("local") == open_one / "state/tonnage/local"


@as_root
def test_a_group_that_others_may_be_in_is_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(shared))
    os.chown(shared, -1, OTHER)
    shared.chmod(0o775)
    with pytest.raises(RequestError, match="others can write to"):
        user_state("local")
    os.chown(shared, -1, os.getgid())
    assert user_state("local").is_dir(), "root's own group"


def test_what_is_missing_is_made_for_this_user_alone_whatever_the_umask(base: Path) -> None:
    before = os.umask(0)
    try:
        place = user_state("local", "host")
    finally:
        os.umask(before)
    assert place == base / "tonnage/local/host"
    assert [path.stat().st_mode & 0o777 for path in (place, *place.parents[:2])] == [0o700] * 3


def test_the_state_itself_is_this_users_alone_even_where_the_sticky_bit_is_set(base: Path) -> None:
    (base / "tonnage").mkdir()
    (base / "tonnage").chmod(0o1777)
    with pytest.raises(RequestError, match="others can write to"):
        user_state()


def test_the_hint_sends_nobody_to_a_place_where_all_may_write(base: Path) -> None:
    (base / "tonnage").write_text("")
    with pytest.raises(RequestError) as raised:
        user_state()
    assert "set XDG_STATE_HOME" in str(raised.value) and "no other user can write" in str(raised.value)


def test_an_open_spool_stays_the_directory_that_it_was(base: Path) -> None:
    place = user_state("local", "host")
    spool = Spool(place)
    spool.add(request("true", key="k", directory=base))
    place.rename(place.with_name("before"))
    other = Spool(user_state("local", "host"))
    for key in "ab":
        other.add(request("true", key=key, directory=base))
    assert spool.numbers() == [1]
    assert base in spool.directory.parents


@as_root
def test_no_spool_is_opened_that_another_user_can_replace(base: Path) -> None:
    place = base / "spool"
    as_other(base, lambda: os.mkdir("spool", 0o777))  # noqa: PTH102
    with pytest.raises(RequestError, match="belongs to another user"):
        Spool(place)
    assert not list(place.iterdir())


# A group may write where it is the user's own, and only root can give a file to another.
@pytest.mark.parametrize("mode", [0o777, 0o1777, pytest.param(0o620, marks=as_root)])
def test_no_spool_is_opened_of_which_others_can_write_to_a_part(base: Path, mode: int) -> None:
    place = user_state("local", "host")
    Spool(place)
    os.chown(place / FILE, -1, OTHER if os.geteuid() == 0 else -1)
    (place / FILE).chmod(mode)
    with pytest.raises(RequestError, match=f"others can write to {place / FILE}"):
        Spool(place)
    assert base in place.parents


@as_root
def test_no_spool_is_opened_of_which_a_part_is_another_users_or_a_link(base: Path) -> None:
    place = user_state("local", "host")
    Spool(place)
    os.chown(place / FILE, OTHER, OTHER)
    with pytest.raises(RequestError, match=f"{place / FILE} belongs to another user"):
        Spool(place)
    (place / FILE).unlink()
    (place / FILE).symlink_to(base / "elsewhere")
    with pytest.raises(RequestError, match=f"{place / FILE} is a link"):
        Spool(place)
    assert not (base / "elsewhere").exists()


def foreign_file(file: Path) -> None:
    os.chown(file, OTHER, OTHER)


def open_file(file: Path) -> None:
    file.chmod(0o666)


def linked_file(file: Path) -> None:
    file.rename(file.parent / "elsewhere")
    file.symlink_to(file.parent / "elsewhere")


@as_root
@pytest.mark.parametrize("change", [foreign_file, open_file, linked_file])
def test_no_job_is_run_that_another_user_could_have_written(base: Path, change: Callable[[Path], None]) -> None:
    spool = Spool(user_state("local", "host"))
    number, _ = spool.add(request("true", key="k", directory=base))
    assert number == 1
    change(spool.directory / FILE)
    with pytest.raises(RequestError, match="not safe from other users"):
        spool.due(1)
    with pytest.raises(RequestError, match="not safe from other users"):
        spool.claim(number, WHOLE, Process.this())


def test_jobs_of_an_older_version_are_left_as_they_are_and_told_of(base: Path) -> None:
    place = user_state("local", platform.node())
    (place / "jobs" / "1").mkdir(parents=True)
    done = submit(base)
    assert done.returncode == 2
    assert "has jobs of an older version of Tonnage" in done.stderr
    assert [path.name for path in place.iterdir()] == ["jobs"]


def test_a_spool_of_a_newer_version_is_not_touched(base: Path) -> None:
    spool = Spool(base / "spool")
    with spool.change() as db:
        db.execute("pragma user_version = 99")
    with pytest.raises(RequestError, match="newer version"):
        Spool(spool.directory)
