"""Reads files of other tools into records' terms: traces of workflow engines, reports of iperf3 (``iperf3.read``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
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
    read: Callable[[Path], object] = plugins.load(plugins.WORKFLOWS, engine)
    unread: list[OSError] = []

    def checked() -> Trace:
        try:
            found = read(path)
        except OSError as error:
            unread.append(error)
            return Trace((), ())
        if not isinstance(found, Trace):
            raise TypeError(f"it returned {found!r}, which is no Trace")
        for task in found.tasks:
            _check(task)
        plugins.require_json("it", found)
        return found

    found = plugins.call(plugins.WORKFLOWS, engine, checked)
    if unread:
        raise unread[0]  # the caller handles unreadable files
    return found


def _check(task: object) -> None:
    """TypeError where a task of a plug-in's trace is not what it promised."""
    if not isinstance(task, TracedTask):
        raise TypeError(f"it returned {task!r} as a task, which is no TracedTask")
    for part in fields(task):
        value = getattr(task, part.name)
        if part.name.endswith("_ns") and not (value is None or type(value) is int):
            raise TypeError(f"{part.name} of the task {task.name!r} is {value!r}, which is no number of nanoseconds")
