"""This user, and the directory of files that are kept from one command to the next: nobody else can write there."""

from __future__ import annotations

import errno
import functools
import grp
import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.machine.time_limit import in_time


def knows_user(name: str) -> bool:
    """Whether this host knows a user of this name, or number."""
    try:
        pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError, ValueError):
        return False
    return True


def user_name() -> str:
    """The name of the user that this process acts as; the number where it has no name, as in some containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


_MOST_LINKS = 40
"""As many as the kernel follows."""
_LISTING_S = 2.0
"""How long the list of accounts may take: a directory service may have very many."""


class NotSafeError(Exception):
    """Another user could get in; says where, and what mends it if that is in this user's hands."""


class NoFileError(Exception):
    """Something else has the name of a file; says what to do."""


def own_directory(place: Path) -> Path:
    """``place`` without links, made where it is missing; NotSafeError, OSError.

    Each directory and link on the way from / belongs to root or to this user, and others may write to none of them, but
    where the sticky bit keeps them from what is not theirs. The last one is this user's, and nobody else may write to
    it at all. Looked at from / downwards: the entries of a directory that was found safe cannot change afterwards.
    """
    # The owner of / owns everything, whatever number a user namespace shows for it.
    trusted = {0, os.geteuid(), Path("/").stat().st_uid}
    way, ahead, links = Path("/"), [*reversed(place.parts[1:])], 0
    _check(way, way.stat(), trusted)
    while ahead:
        part = ahead.pop()
        if part == "..":
            way = way.parent
            continue
        way = way / part
        found = _made(way)
        if stat.S_ISLNK(found.st_mode):
            _check_owner(way, found, trusted)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(place))
            to = way.readlink()
            way = Path("/") if to.is_absolute() else way.parent
            ahead += reversed(to.parts[1:] if to.is_absolute() else to.parts)
            continue
        _check(way, found, trusted)
    _check(way, way.stat(), {os.geteuid()}, shared=False)
    if not is_open(way):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(way))
    return way


def is_open(directory: Path) -> bool:
    """Whether this user may list and change what is in it."""
    return os.access(directory, os.R_OK | os.W_OK | os.X_OK)


def check_inside(file: Path) -> None:
    """Checks a file inside of such a directory: it is this user's, and no other user may write to it; NotSafeError,
    NoFileError, OSError."""
    found = file.lstat()
    anew = "hint: move it away, and it is made anew"
    if stat.S_ISLNK(found.st_mode):
        raise NotSafeError(f"{file} is a link, which may lead to a file of theirs; {anew}")
    if not stat.S_ISREG(found.st_mode):
        raise NoFileError(f"{file} is no regular file; {anew}")
    if found.st_uid != os.geteuid():
        raise NotSafeError(f"{file} belongs to another user; {anew}")
    _check(file, found, {os.geteuid()}, shared=False)


def _made(way: Path) -> os.stat_result:
    """Of the link, or of the directory: of what is mounted there, where that is done on demand."""
    try:
        found = way.lstat()
    except FileNotFoundError:
        with suppress(FileExistsError):
            way.mkdir(mode=0o700)
            way.chmod(0o700)  # whatever the umask
        found = way.lstat()
    return found if stat.S_ISLNK(found.st_mode) else os.stat(f"{way}/.")  # noqa: PTH116 - a Path drops the dot


def _check(way: Path, found: os.stat_result, trusted: set[int], *, shared: bool = True) -> None:
    """``shared``: others may write to it where they cannot rename or remove what is not theirs."""
    _check_owner(way, found, trusted)
    writable = found.st_mode & (stat.S_IWOTH | (0 if _alone(way, found) else stat.S_IWGRP))
    if writable and not (shared and found.st_mode & stat.S_ISVTX):
        mend = f"; hint: `chmod go-w {shlex.quote(str(way))}`" if found.st_uid == os.geteuid() else ""
        raise NotSafeError(f"others can write to {way}{mend}")


def _check_owner(way: Path, found: os.stat_result, trusted: set[int]) -> None:
    if found.st_uid not in trusted:
        raise NotSafeError(f"{way} belongs to another user")


def _alone(way: Path, found: os.stat_result) -> bool:
    """Whether its group is root's own, or that which many systems give each user. An access list may name others
    besides."""
    if not found.st_mode & stat.S_IWGRP:
        return True
    if _has_list(way):
        return False
    if found.st_gid == 0:
        return True
    private = _is_private(found.st_gid, os.geteuid())
    return any(map(_is_shut, way.parents)) if private is None else private


def _has_list(way: Path) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(way)
    except OSError:
        return False  # a file system without attributes has no such lists


def _is_shut(way: Path) -> bool:
    """Whether only this user can reach what is below it."""
    found = way.stat()
    through = found.st_mode & (stat.S_IXGRP | stat.S_IXOTH)
    return found.st_uid == os.geteuid() and not through and not _has_list(way)


@functools.cache
def _is_private(gid: int, uid: int) -> bool | None:
    """Whether a group is the user's own, of his name, with nobody else in it: neither among the members of any entry
    for it, nor by an account whose first group it is. None where accounts cannot be listed, in time or at all, so that
    the user himself is not among them."""
    try:
        me, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    if (group.gr_gid, group.gr_name) != (me.pw_gid, me.pw_name) or not {*group.gr_mem} <= {me.pw_name}:
        return False
    try:
        is_listed, has_others = in_time(lambda: _listed(me, gid), timeout_s=_LISTING_S)
    except OSError:  # a TimeoutError too
        return None
    return False if has_others else True if is_listed else None


def _listed(me: pwd.struct_passwd, gid: int) -> tuple[bool, bool]:
    """Whether the list of accounts contains this user, and whether it has another user in that group."""
    accounts = pwd.getpwall()
    mine = {me.pw_name, *(one.pw_name for one in accounts if one.pw_uid == me.pw_uid)}
    others = any(one.pw_gid == gid and one.pw_name not in mine for one in accounts)
    more = any(one.gr_gid == gid and not {*one.gr_mem} <= mine for one in grp.getgrall())
    return any(one.pw_uid == me.pw_uid for one in accounts), others or more


_ELSEWHERE = "set XDG_STATE_HOME to a directory of yours that no other user can write to or replace"
STATE_HINT = f"hint: {_ELSEWHERE}"


def user_state(*parts: str) -> Path:
    """``$XDG_STATE_HOME/tonnage`` (``~/.local/state/tonnage``) or a directory below it, without links; made, for this
    user alone.

    RequestError where it cannot be made, or where another user could write there or on the way there: what is planted
    there would be run as this user.
    """
    home = os.environ.get("XDG_STATE_HOME") or ""
    try:
        base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
        return checked_own(base.joinpath("tonnage", *parts))
    except RuntimeError as error:
        raise RequestError(f"there is no directory for what is kept: {error}; {STATE_HINT}") from None


def checked_own(place: Path) -> Path:
    """``place`` without links, made where it is missing. RequestError as ``user_state``."""
    try:
        return own_directory(place)
    except NotSafeError as error:
        raise _unsafe(place, str(error)) from None
    except NotADirectoryError as error:
        # As a Path, for it was looked at as what is mounted there: with a dot behind it.
        in_the_way = Path(error.filename or place)
        hint = f"hint: move it away, or {_ELSEWHERE}"
        raise RequestError(f"cannot make {place}: {in_the_way} is no directory; {hint}") from None
    except PermissionError as error:
        there = next(way for way in (place, *place.parents) if os.path.lexists(way))
        is_mine = not is_open(there) and there.stat().st_uid == os.geteuid()
        hint = f"hint: `chmod u+rwx {shlex.quote(str(there))}`" if is_mine else STATE_HINT
        raise RequestError(f"cannot use {place}: {error.strerror}; {hint}") from None
    except OSError as error:
        raise RequestError(f"cannot make {place}: {error.strerror or error}; {STATE_HINT}") from None


def checked_inside(file: Path, *, told: Path) -> None:
    """Checks a file inside of such a directory; ``told``: its name in messages. RequestError as ``user_state``."""
    try:
        check_inside(file)
    except NoFileError as error:
        raise RequestError(str(error).replace(str(file), str(told))) from None
    except NotSafeError as error:
        raise _unsafe(told, str(error).replace(str(file), str(told))) from None
    except OSError as error:
        raise RequestError(f"cannot read {told}: {error.strerror or error}; {STATE_HINT}") from None


def _unsafe(place: Path, why: str) -> RequestError:
    more = "" if "hint: " in why else f"; {STATE_HINT}"
    return RequestError(f"{place} is not safe from other users: {why}{more}")
