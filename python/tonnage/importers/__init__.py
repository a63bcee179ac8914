"""What other tools left, read into records' terms: traces of workflow engines, reports of iperf3 (``iperf3.read``)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tonnage import plugins
from tonnage.importers.trace import Trace, TracedTask

__all__ = ["Trace", "TracedTask", "read_trace"]


def read_trace(engine: str, path: Path) -> Trace:
    """What a trace file of an engine says. OSError where it cannot be read; RequestError where a plug-in fails."""
    if engine in plugins.OWN[plugins.WORKFLOWS]:
        found: Trace = import_module(f"tonnage.importers.{engine}").read(path)
        return found
    read: Callable[[Path], Trace] = plugins.load(plugins.WORKFLOWS, engine)
    return plugins.call(plugins.WORKFLOWS, engine, lambda: read(path))
