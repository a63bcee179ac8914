"""What other packages add to Tonnage, by entry points (docs/plug-ins.md).

======================== ========================= ===================================================================
group                    name                      what it is
======================== ========================= ===================================================================
``tonnage.filesystems``  type in the mount table   a module such as :mod:`tonnage.filesystems.nfs`
``tonnage.schedulers``   name of a scheduler       a class :class:`~tonnage.cluster.scheduler.Scheduler` (``timeout_s``)
``tonnage.importers``    kind of file              ``read(data, name)`` → :class:`~tonnage.importers.parsed.Found`
``tonnage.workflows``    name of an engine         ``read(path)`` → :class:`~tonnage.importers.trace.Trace`
``tonnage.findings``     code of a finding         ``judge(evidence)`` → :class:`~tonnage.analysis.results.Finding`\\ s
======================== ========================= ===================================================================

A name of Tonnage's own cannot be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from tonnage.errors import RequestError

FILESYSTEMS, SCHEDULERS, IMPORTERS = "tonnage.filesystems", "tonnage.schedulers", "tonnage.importers"
WORKFLOWS, FINDINGS = "tonnage.workflows", "tonnage.findings"

OWN = {
    SCHEDULERS: ("auto", "slurm", "lsf", "pbs", "flux", "local"),
    WORKFLOWS: ("nextflow", "snakemake"),
}
"""Tonnage's own names of groups whose names stand in files that users write."""

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def names(group: str, own: Container[str]) -> tuple[str, ...]:
    """The names that installed packages add to a group, in alphabetical order, without those of Tonnage's ``own``."""
    return tuple(name for name in sorted(_found(group)) if name not in own)


def all_names(group: str) -> tuple[str, ...]:
    """Tonnage's own, then the others."""
    return (*OWN[group], *names(group, OWN[group]))


def load(group: str, name: str) -> Any:
    """What a package adds under that name; None where none does. RequestError where it cannot be loaded."""
    point = _found(group).get(name)
    return None if point is None else call(group, name, point.load)


def call(group: str, name: str, function: Callable[[], T]) -> T:
    """What a plug-in's function returns; its exceptions become a RequestError that names it, so that nobody takes them
    for a fault of ours."""
    try:
        return function()
    except Exception as error:
        point = _found(group)[name]
        package = point.module if point.dist is None else point.dist.metadata["Name"]
        raise RequestError(
            f"the plug-in {name} ({group}) of the package {package} failed: {type(error).__name__}: {error}; "
            "hint: tell its authors, or uninstall it"
        ) from error


def each(group: str, own: Container[str]) -> Iterator[tuple[str, Any]]:
    """All of a group that are not ``own`` names, loaded."""
    for name in names(group, own):
        yield name, load(group, name)


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # longer to import than most commands take

    return {point.name: point for point in entry_points(group=group)}
