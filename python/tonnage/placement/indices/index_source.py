"""The source of load indices: an address of the site file, and the function that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from time import monotonic

from tonnage.errors import TonnageError
from tonnage.placement.indices.reading import Counters


class SourceError(TonnageError):
    """A source cannot be reached, or returns something else than indices; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """One server's source."""

    name: str
    """``node_exporter``, ``proc`` or ``ssh``."""
    module: str
    function: str
    """Of that module, ``function(target, timeout_s)`` asks it."""
    target: str
    prompt: bool
    """Whether it usually answers while a decision waits."""

    def read(self, timeout_s: float) -> Counters:
        """Asks it, within ``timeout_s``; SourceError."""
        found: Counters = getattr(import_module(f"{__package__}.{self.module}"), self.function)(self.target, timeout_s)
        return found


def source(address: str) -> Source:
    """The source of an address of the site file; SourceError where it is no address."""
    kind, _, rest = address.partition(":")
    if kind in ("http", "https"):
        return Source("node_exporter", "node_exporter", "read_counters", address, prompt=True)
    if kind == "ssh":
        return Source("ssh", "kernel_files", "read_counters_over_ssh", rest, prompt=False)
    if address == "proc:":
        return Source("proc", "kernel_files", "read_counters", "/proc", prompt=True)
    raise SourceError(f"{address!r} is no source of indices; hint: write http://HOST:9100/metrics, ssh:HOST or proc:")


class Deadline:
    """The end of a time limit that several steps share."""

    def __init__(self, timeout_s: float) -> None:
        self._end_s = monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """What is left of it; TimeoutError where it is over."""
        left_s = self._end_s - monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s
