"""Hints of MPI as IOR takes them: from the environment, then from a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tonnage.compat.ior.options import Parameters
from tonnage.errors import RequestError
from tonnage.toml_documents import read_text

PREFIX = "IOR_HINT__MPI__"
OTHERS = "IOR_HINT__"


def hints_of(test: Parameters) -> dict[str, str]:
    """By name; a line of the file counts more than the environment. RequestError where one is no hint."""
    found = {}
    for name, value in sorted(os.environ.items()):
        if name.startswith(PREFIX):
            if name == PREFIX or not value.strip():
                raise RequestError(
                    f"{name}={value} in the environment is no hint of MPI; hint: unset it, or give a value"
                )
            found[name.removeprefix(PREFIX)] = value.strip()
    if test.mpiio_hints_file:
        found |= _of_file(test.mpiio_hints_file)
    return found


def _of_file(path: str) -> dict[str, str]:
    try:
        lines = read_text(Path(path)).splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot read the hints {path}: {reason}; hint: give the path after -U") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        # IOR passes over each line that is no hint, whatever was meant by it.
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = re.fullmatch(rf"\s*{PREFIX}([^\s=]+)[ =]+(\S+)\s*", line)
        if parts is None:
            raise RequestError(
                f"{path}:{number}: {line.strip()!r} is no hint of MPI; hint: write {PREFIX}NAME=VALUE, such as "
                f"{PREFIX}cb_nodes=4, or # before a remark"
            )
        if parts[1] in found:
            raise RequestError(f"{path}:{number}: {parts[1]} has a value already; hint: leave one of the lines out")
        found[parts[1]] = parts[2]
    return found


def unused_hints(test: Parameters) -> list[str]:
    """Variables of the environment that have no effect on this test."""
    used = PREFIX if test.api == "MPIIO" else None
    return sorted(name for name in os.environ if name.startswith(OTHERS) and not (used and name.startswith(used)))
