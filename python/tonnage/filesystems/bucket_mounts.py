"""Buckets mounted by s3fs, goofys, rclone or mountpoint-s3: the endpoint is in the command line of the program."""

from __future__ import annotations

import re
from pathlib import Path

from tonnage.filesystems.servers import Answer, Device, ObservedPath

_OPTIONS = re.compile(r"(?:^|,)(?:url|endpoint)=([^,]+)")
_WORDS = ("--endpoint-url", "--endpoint", "--s3-endpoint")


def served_by(observed: ObservedPath) -> Answer:
    """The endpoint's host. A process of another user, or one that reads it from a file, does not show it."""
    for words in _daemons(observed.mount.mount_point):
        if endpoint := endpoint_of(words):
            host = re.sub(r"^\w+://", "", endpoint).partition("/")[0]
            name = re.sub(r":[0-9]+$", "", host).strip("[]")
            server = observed.spelled(name, host)
            if server:
                how = f"{Path(words[0]).name}: endpoint {endpoint}"
                return Answer(servers=(server,), devices=(Device(observed.mount.device, server),), how=(how,))
    return Answer(
        problem=f"{observed.mount.file_system} at {observed.mount.mount_point} does not show its endpoint; "
        f'hint: give its server holds = ["{observed.mount.mount_point}"] in tonnage.toml'
    )


def endpoint_of(words: list[str]) -> str | None:
    """Returns the host of ``s3fs bucket /mnt -o url=https://host`` and ``mount-s3 --endpoint-url https://host bucket
    /mnt``."""
    for number, word in enumerate(words):
        if match := _OPTIONS.search(word.removeprefix("-o")):
            return match[1]
        name, separator, value = word.partition("=")
        if name in _WORDS:
            return value if separator else (words[number + 1] if number + 1 < len(words) else None)
    return None


def _daemons(mount_point: str) -> list[list[str]]:
    """The command line of each process that names this mount point."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                words = (process / "cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")
            except OSError:
                continue
            if mount_point in (word.rstrip("/") for word in words):
                found.append(words)
    return found
