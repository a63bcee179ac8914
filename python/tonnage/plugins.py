"""What other packages add to Tonnage, by entry points (docs/plug-ins.md).

======================== ========================= ===================================================================
group                    name                      what it is
======================== ========================= ===================================================================
``tonnage.filesystems``  type in the mount table   a module such as :mod:`tonnage.filesystems.nfs`
``tonnage.schedulers``   name of a scheduler       a class :class:`~tonnage.cluster.scheduler.Scheduler` (``timeout_s``)
``tonnage.importers``    kind of file              ``read(data, name)`` → an ``ImportedFile`` (``imported_phases``)
``tonnage.workflows``    name of an engine         ``read(path)`` → :class:`~tonnage.importers.trace.Trace`
``tonnage.findings``     code of a finding         ``judge(evidence)`` → :class:`~tonnage.analysis.results.Finding`\\ s
======================== ========================= ===================================================================

A name of Tonnage's own cannot be replaced, nor can one of another package: such a plug-in is left out, and a
:class:`PlugInWarning` says so.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tonnage.errors import RequestError

FILESYSTEMS, SCHEDULERS, IMPORTERS = "tonnage.filesystems", "tonnage.schedulers", "tonnage.importers"
WORKFLOWS, FINDINGS = "tonnage.workflows", "tonnage.findings"

OWN = {
    FILESYSTEMS: (
        "ext4", "xfs", "btrfs", "nfs", "nfs4", "ceph", "fuse.ceph", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.mfs",
        "lustre", "beegfs", "gpfs", "fuse.sshfs", "fuse.s3fs", "fuse.goofys", "fuse.rclone", "fuse.mount-s3", "overlay",
        "fuse.fuse-overlayfs", "autofs",
    ),
    SCHEDULERS: ("auto", "slurm", "lsf", "pbs", "flux", "local"),
    IMPORTERS: (
        "ior", "ior-operations", "mdtest", "io500", "fio", "fio-text", "fio-terse", "fio-log", "elbencho",
        "elbencho-text", "elbencho-live", "iperf3", "iperf3-text", "iozone", "vdbench", "warp", "dlio", "sob", "rados",
        "nextflow", "nextflow-timeline", "darshan",
    ),
    WORKFLOWS: ("nextflow", "snakemake"),
    FINDINGS: tuple(sorted(page.stem for page in (Path(__file__).parent / "explained").glob("*.md"))),
}  # fmt: skip
"""Tonnage's own names of each group; of findings every code that has a page."""

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from _typeshed import DataclassInstance

T = TypeVar("T")
D = TypeVar("D", bound="DataclassInstance")


class PlugInError(RequestError):
    """A plug-in failed; the text names it and its package."""


class PlugInWarning(UserWarning):
    """An installed plug-in is left out, for its name is taken."""


def names(group: str) -> tuple[str, ...]:
    """The names that installed packages add to a group, in alphabetical order."""
    return tuple(_found(group))


def all_names(group: str) -> tuple[str, ...]:
    """Returns Tonnage's own names, then the others."""
    return (*OWN[group], *names(group))


def load(group: str, name: str) -> Any:
    """What a package adds under that name; None where none does. RequestError where it cannot be loaded."""
    point = _found(group).get(name)
    return None if point is None else call(group, name, point.load)


def call(
    group: str,
    name: str,
    function: Callable[[], T],
    *,
    method: str = "",
    passed_on: tuple[type[Exception], ...] = (),
) -> T:
    """What a plug-in's function returns; its exceptions become a PlugInError that names it, so that they are not
    mistaken for errors of Tonnage. That it wants to end the process (SystemExit) is one of them; an interrupt is the
    user's. What it prints goes to stderr: stdout is the command's answer.

    ``method``: which one of the plug-in's it is, where it has several. ``passed_on``: what it may raise."""
    try:
        with redirect_stdout(sys.stderr):
            return function()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, *passed_on)):
            raise
        error_text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        failed = f"failed in {method}()" if method else "failed"
        raise PlugInError(
            f"the plug-in {name} ({group}) of the package {_package(_found(group)[name])} {failed}: {error_text}; "
            "hint: tell its authors, or uninstall it"
        ) from error


def with_fields(kind: type[D], value: object) -> D:
    """Returns the object that a plug-in made as one of ``kind``. TypeError where a field has another type than ``kind``
    states; pydantic's message tells which one."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python({part.name: getattr(value, part.name) for part in fields(kind)})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise TypeError(f"{place} of its {kind.__name__} is {first['input']!r}: {first['msg'].lower()}") from None


def require_json(what: str, value: object) -> None:
    """TypeError where a plug-in returned what the records cannot hold: they are JSON, and what is kept in them is read
    back years later. ``what``: of which of its functions."""
    try:
        json.dumps(value, allow_nan=False, default=_plain_fields)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} returned what is not JSON: {error}") from None


def _plain_fields(value: object) -> dict[str, object]:
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    raise TypeError(f"{value!r} is neither text, number, list nor dictionary")


def each(group: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All names of a group, each with what loads it."""
    for name in names(group):
        yield name, lambda name=name: load(group, name)  # type: ignore[misc]


def _found(group: str) -> Mapping[str, EntryPoint]:
    """By name, in alphabetical order, without those whose name is taken."""
    return _all_found()[group]


@cache
def _all_found() -> Mapping[str, Mapping[str, EntryPoint]]:
    """By group. All are looked up at once: most of the time goes into reading which packages there are."""
    from importlib.metadata import entry_points  # longer to import than most commands take

    every = entry_points()
    return {group: _not_taken(group, every.select(group=group)) for group in OWN}


def _not_taken(group: str, points: Iterable[EntryPoint]) -> Mapping[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    others = "the plug-in {name} ({group}) of the package {package} is left out: {taken} of that name"
    for point in sorted(points, key=lambda point: (point.name, _package(point))):
        taken = "Tonnage has one" if point.name in OWN[group] else ""
        if point.name in found:
            taken = f"the package {_package(found[point.name])} has one"
        if taken:
            message = others.format(name=point.name, group=group, package=_package(point), taken=taken)
            warnings.warn(message, PlugInWarning, stacklevel=2)
        else:
            found[point.name] = point
    return found


def _package(point: EntryPoint) -> str:
    return str(point.module if point.dist is None else point.dist.metadata["Name"])
