"""What this host sees at a path: is it there, on which mount, may it be written, does it take O_DIRECT."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tonnage.errors import TonnageError
from tonnage.machine.host_facts import PathFacts
from tonnage.machine.mounts import find_mount, identity, read_mounts
from tonnage.machine.time_limit import in_time

_T = TypeVar("_T")
LOOK_S = 5.0
"""A mount that answers nothing for so long is dead, or as good as that."""
_NAME = re.compile(r"\.tonnage-look-[0-9a-f]{16}")
_DIRECT_BYTES = 1 << 16
"""A multiple of the sector of every device, and of the page."""


def path_facts(path: str, *, probe: bool = False, timeout_s: float = LOOK_S) -> PathFacts:
    """Service ``path-facts``: facts about an absolute ``path`` on this host.

    ``{"path", "problem", "is_directory", "mount_point", "file_system", "device", "options", "identity", "free_bytes",
    "size_bytes", "writable", "not_writable", "direct", "not_direct"}``. ``problem``: why it is not there, then all else
    but the mount is None. With ``probe`` a file of 64 KiB is made in the directory, written past the page cache and
    removed; without it ``writable`` is what permissions say, and ``direct`` None. TonnageError where nothing answered.
    """
    if not path.startswith("/"):
        raise TonnageError(f"{path} is not absolute: it would mean another place on each host; hint: write it from /")
    return _answered(path, lambda: _examine(path, probe=probe), timeout_s)


def leave_mark(path: str, *, timeout_s: float = LOOK_S) -> str:
    """Service ``leave-mark``: makes an empty file in a directory, by which other hosts know whether theirs is the same
    one; its name, of our own making."""
    name = _new_name()
    _answered(path, lambda: Path(path, name).touch(mode=0o600, exist_ok=False), timeout_s)
    return name


def sees_mark(path: str, name: str, *, timeout_s: float = LOOK_S) -> bool:
    """Service ``sees-mark``: whether it is in this host's directory of that path."""
    return bool(_answered(path, lambda: _mark(path, name).exists(), timeout_s))


def remove_mark(path: str, name: str, *, timeout_s: float = LOOK_S) -> None:
    """Service ``remove-mark``: takes it away again, and nothing else."""
    _answered(path, lambda: _mark(path, name).unlink(), timeout_s)


def _answered(path: str, call: Callable[[], _T], timeout_s: float) -> _T:
    try:
        return in_time(call, timeout_s=timeout_s)
    except TimeoutError:
        raise TonnageError(f"{path} did not answer within {timeout_s:g} s; hint: its mount may be dead") from None


def _new_name() -> str:
    return f".tonnage-look-{secrets.token_hex(8)}"


def _mark(path: str, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise TonnageError(f"{name!r} is no mark")
    return Path(path, name)


def _examine(path: str, *, probe: bool) -> PathFacts:
    real = os.path.realpath(path)
    mount = find_mount(read_mounts(), real)
    found: PathFacts = {
        "problem": None,
        "is_directory": None,
        "free_bytes": None,
        "size_bytes": None,
        "writable": None,
        "not_writable": None,
        "direct": None,
        "not_direct": None,
        "path": path,
        "mount_point": mount.mount_point if mount else None,
        "file_system": mount.file_system if mount else None,
        "device": mount.device if mount else None,
        "options": mount.options if mount else None,
        "identity": identity(mount, real) if mount else None,
    }
    try:
        found["is_directory"] = Path(real).is_dir()
        space = os.statvfs(real)
    except OSError as error:
        return found | {"problem": error.strerror}
    found |= {"free_bytes": space.f_bavail * space.f_frsize, "size_bytes": space.f_blocks * space.f_frsize}
    if probe and found["is_directory"]:
        return found | _probe(real)
    writable = os.access(real, os.W_OK)
    why = None if writable else os.strerror(_errno_of_read_only(space))
    return found | {"writable": writable, "not_writable": why}


def _errno_of_read_only(space: os.statvfs_result) -> int:
    return errno.EROFS if space.f_flag & os.ST_RDONLY else errno.EACCES


def _probe(directory: str) -> PathFacts:
    name = _new_name()
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=held)
        except OSError as error:
            return {"writable": False, "not_writable": error.strerror}
        try:
            os.close(file)
            return {"writable": True, **_probe_direct(name, held)}
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=held)
    finally:
        os.close(held)


def _probe_direct(name: str, held: int) -> PathFacts:
    """Whether a write past the page cache is taken: some file systems take the flag, and refuse the write."""
    try:
        file = os.open(name, os.O_WRONLY | os.O_DIRECT, dir_fd=held)
    except OSError as error:
        return {"direct": False, "not_direct": error.strerror}
    try:
        with mmap.mmap(-1, _DIRECT_BYTES) as aligned:
            os.write(file, aligned)
    except OSError as error:
        return {"direct": False, "not_direct": error.strerror}
    finally:
        os.close(file)
    return {"direct": True}
