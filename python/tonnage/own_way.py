"""The way to a directory of this user's: nobody else can write to it, or put another in its place."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import shlex
import stat
from pathlib import Path

_MOST_LINKS = 40
"""As many as the kernel follows."""


class NotSafeError(Exception):
    """Another user could get in; says where, and what mends it if that is in this user's hands."""


def own_directory(place: Path) -> Path:
    """``place`` without links, made where it is missing; NotSafeError, OSError.

    Each directory and link on the way from / belongs to root or to this user, and others may write to none of them, but
    where the sticky bit keeps them from what is not theirs. The last one is this user's, and nobody else may write to
    it at all. Looked at from / downwards: what lies in a directory that was found safe stays as it was found.
    """
    # Who owns / owns everything, under whatever number a user namespace shows that.
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
    return way


def _made(way: Path) -> os.stat_result:
    """Of the link, or of the directory: of what is mounted there, where that is done on demand."""
    try:
        found = way.lstat()
    except FileNotFoundError:
        way.mkdir(mode=0o700, exist_ok=True)
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
    """Whether its group is root's own, or that which many systems give each user: of the user's name, with nobody else
    in it. An access list may name others besides."""
    if not found.st_mode & stat.S_IWGRP:
        return True
    try:
        if "system.posix_acl_access" in os.listxattr(way):
            return False
    except OSError:
        pass  # a file system without attributes has no such lists
    if found.st_gid == 0:
        return True
    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return (group.gr_gid, group.gr_name) == (me.pw_gid, me.pw_name) and {*group.gr_mem} <= {me.pw_name}
