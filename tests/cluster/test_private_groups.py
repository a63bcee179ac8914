"""Whose group may write on the way to this user's state: the one that is his alone."""

from __future__ import annotations

import grp
import os
import pwd
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tonnage.machine import user_state as own_way

ME = 12001
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
SLOW_S = 600.0


@dataclass(frozen=True)
class Accounts:
    """What the host knows of users and groups."""

    users: tuple[tuple[str, int, int], ...] = ()
    """(name, number, first group) beside the user's own."""
    groups: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """(name, number, members) beside the user's own."""
    lists_me: bool = True
    waits_s: float = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        me = pwd.struct_passwd(("vic", "x", ME, ME, "", "/", "/bin/sh"))
        mine = grp.struct_group(("vic", "x", ME, []))
        users = [pwd.struct_passwd((name, "x", uid, gid, "", "/", "/bin/sh")) for name, uid, gid in self.users]
        groups = [grp.struct_group((name, "x", gid, list(members))) for name, gid, members in self.groups]

        def every() -> list[pwd.struct_passwd]:
            time.sleep(self.waits_s)
            return [*([me] if self.lists_me else []), *users]

        monkeypatch.setattr(pwd, "getpwuid", lambda _: me)
        monkeypatch.setattr(grp, "getgrgid", lambda _: mine)
        monkeypatch.setattr(pwd, "getpwall", every)
        monkeypatch.setattr(grp, "getgrall", lambda: [mine, *groups])


@pytest.fixture
def home() -> Iterator[Path]:
    """Of the user, where he can walk to it, with a directory as a umask of 002 makes it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        (home / "state").mkdir()
        for place, mode in ((home / "state", 0o775), (home, 0o755)):
            os.chown(place, ME, ME)
            place.chmod(mode)
        yield home


def refusal(place: Path) -> str:
    """What the user is told there; nothing where it is good."""
    readable, writable = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(ME)
            os.setuid(ME)
            own_way.own_directory(place)
        except BaseException as error:
            os.write(writable, str(error).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text


@as_root
@pytest.mark.parametrize(
    "accounts",
    [Accounts(), Accounts(users=(("vic2", ME, ME), ("ann", 12002, 12002)), groups=(("alias", ME, ("vic",)),))],
)
def test_a_group_with_nobody_else_in_it_may_write(
    home: Path, monkeypatch: pytest.MonkeyPatch, accounts: Accounts
) -> None:
    accounts.install(monkeypatch)
    assert refusal(home / "state" / "tonnage") == ""


@as_root
@pytest.mark.parametrize(
    "accounts",
    [
        Accounts(users=(("svc", 12002, ME),)),
        Accounts(groups=(("team", ME, ("svc",)),)),
        Accounts(users=(("svc", 12002, ME),), lists_me=False),
    ],
)
def test_a_group_that_another_account_has_first_or_by_a_second_entry_is_not_private(
    home: Path, monkeypatch: pytest.MonkeyPatch, accounts: Accounts
) -> None:
    accounts.install(monkeypatch)
    home.chmod(0o700)
    assert f"others can write to {home / 'state'}; hint: `chmod go-w" in refusal(home / "state" / "tonnage")


@as_root
@pytest.mark.parametrize("accounts", [Accounts(lists_me=False), Accounts(waits_s=SLOW_S)])
def test_where_accounts_cannot_be_listed_the_group_may_write_only_below_what_others_cannot_enter(
    home: Path, monkeypatch: pytest.MonkeyPatch, accounts: Accounts
) -> None:
    accounts.install(monkeypatch)
    monkeypatch.setattr(own_way, "_LISTING_S", 0.5, raising=False)
    assert f"others can write to {home / 'state'}" in refusal(home / "state" / "tonnage")
    home.chmod(0o700)
    assert refusal(home / "state" / "tonnage") == ""
    home.chmod(0o770)
    assert f"others can write to {home}" in refusal(home / "state" / "tonnage")
