"""A path on a mount, and the queries to its file system: by attributes and by its own user tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tonnage.machine.mounts import Mount
from tonnage.machine.site_tools import ToolError, ask
from tonnage.machine.time_limit import in_time

_SIDE_ROOMS = ("/usr/sbin", "/sbin", "/usr/lpp/mmfs/bin", "/opt/beegfs/sbin")
"""Where tools are that an ordinary user may run, though his PATH seldom has them."""


Facts = dict[str, Any]
"""Facts of a file system (``docs/file-systems.md``): each type has its own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedPath:
    """Where a file system is asked. Every question ends after ``timeout_s``."""

    path: str
    """Absolute, without links."""
    mount: Mount
    timeout_s: float

    def tool(self, *argv: str) -> str:
        """What a tool prints. ToolError as of ``tonnage.machine.site_tools``."""
        beside = None if shutil.which(argv[0]) else shutil.which(argv[0], path=os.pathsep.join(_SIDE_ROOMS))
        return ask([beside or argv[0], *argv[1:]], timeout_s=self.timeout_s, directory="/").out

    def attribute(self, *names: str) -> str | None:
        """The first of these extended attributes that the file system gives. TimeoutError, OSError."""
        path = self.path
        value: str | None = in_time(lambda: first_attribute(path, names), timeout_s=self.timeout_s)
        return value


def first_attribute(path: str, names: tuple[str, ...]) -> str:
    """The first of these extended attributes of ``path`` that is there; the OSError of the last where none is."""
    for name in names:
        try:
            return os.getxattr(path, name).decode("utf-8", "surrogateescape").rstrip("\0")
        except OSError as error:
            last = error
    raise last


class Gathering:
    """Facts as they come, and of those that did not come why: nothing is guessed."""

    def __init__(self) -> None:
        self.facts: Facts = {}
        self.unknown: dict[str, str] = {}

    def ask(self, name: str, call: Callable[[], Any]) -> Any:
        """Keeps what ``call`` returns under ``name`` and returns it; None where it is unknown."""
        try:
            value = call()
        except ToolError as error:
            self.unknown[name] = str(error)
        except TimeoutError:
            self.unknown[name] = "it did not answer in time"
        except (OSError, ValueError, LookupError) as error:
            self.unknown[name] = getattr(error, "strerror", None) or str(error)
        else:
            if value is not None:
                self.facts[name] = value
            return value
        return None

    def as_dict(self) -> Facts:
        """As it stands in the manifest."""
        return {**self.facts, "unknown": self.unknown}
