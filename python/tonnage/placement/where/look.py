"""One look at a path, by a process that may be left behind when its mount hangs."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.errors import RequestError
from tonnage.machine.bounded import in_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What there is at a path."""

    path: str
    """Without links: of the path, or of its nearest parent that is there."""
    rest: str
    """What is not there yet, below ``path``."""
    mount_number: int
    is_directory: bool
    size_bytes: int
    inode: int
    denied: bool
    """``rest`` may be there: who asks may not look."""
    deleted: bool


def look(path: str, *, timeout_s: float) -> Look:
    """Looks at ``path``, mounting what is mounted on demand. TimeoutError where it hangs; OSError.

    RequestError for a path that leads nowhere: a broken link, a loop of links, a file where a directory should be.
    """
    return read_look(in_time(lambda: look_here(path), timeout_s=timeout_s))


def read_look(said: dict[str, Any]) -> Look:
    """What :func:`look_here` told; RequestError as :func:`look`."""
    if "wrong" in said:
        raise RequestError(said["wrong"])
    return Look(**said)


def absolute(path: str) -> str:
    """``path`` from the root on, links and all; also from a working directory that was deleted."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:
        here = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")  # noqa: PTH115
    return os.path.normpath(os.path.join(here, path)) if ".." not in path.split("/") else os.path.join(here, path)  # noqa: PTH118


def look_here(path: str) -> dict[str, Any]:
    """As :func:`look`, in this process, which may hang for ever; for :func:`read_look`."""
    at, denied = path, False
    while True:
        try:
            handle = _open(at)
            break
        except FileNotFoundError:
            with suppress(OSError):
                to = os.readlink(at)  # noqa: PTH115
                return {
                    "wrong": f"{at} is a broken symbolic link to {to}; hint: mend it, or name what it should lead to"
                }
        except PermissionError:
            denied = True
        except NotADirectoryError:
            return {"wrong": f"{path} is below a file that is no directory; hint: give a path that can exist"}
        parent = os.path.dirname(at.rstrip("/")) or ("/" if at.startswith("/") else ".")  # noqa: PTH120
        if parent == at:
            raise PermissionError(13, "Permission denied", path)
        at = parent
    facts = os.fstat(handle)
    with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as lines:  # noqa: PTH123
        number = next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
    deleted = facts.st_nlink == 0 or (real.endswith(" (deleted)") and not os.path.lexists(real))
    return {
        "path": real.removesuffix(" (deleted)") if deleted else real,
        "rest": path[len(at) :].strip("/") if at != "." else ("" if path == "." else path),
        "mount_number": number,
        "is_directory": os.path.isdir(f"/proc/self/fd/{handle}"),  # noqa: PTH112
        "size_bytes": facts.st_size,
        "inode": facts.st_ino,
        "denied": denied,
        "deleted": deleted,
    }


def _open(path: str) -> int:
    """A handle that reads nothing. Only opening it as a directory makes an automount happen."""
    try:
        return os.open(path, os.O_PATH | os.O_DIRECTORY)
    except NotADirectoryError:
        return os.open(path, os.O_PATH)
