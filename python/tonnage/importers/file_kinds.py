"""The kinds of file that ``tonnage import`` reads. A new one is a module with ``read(data, name)`` and a line here, or
a plug-in (:mod:`tonnage.plugins`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from tonnage import plugins

if TYPE_CHECKING:
    from tonnage.importers.imported_phases import ImportedFile

KINDS = {
    "ior": "ior",
    "ior-operations": "ior_operations",
    "mdtest": "mdtest",
    "io500": "io500",
    "fio": "fio_json",
    "fio-text": "fio_text",
    "fio-terse": "fio_terse",
    "fio-log": "fio_log",
    "elbencho": "elbencho",
    "elbencho-text": "elbencho_text",
    "elbencho-live": "elbencho_live",
    "iperf3": "iperf3_run",
    "iperf3-text": "iperf3_text",
    "iozone": "iozone",
    "vdbench": "vdbench",
    "warp": "warp",
    "dlio": "dlio",
    "sob": "sob",
    "rados": "rados",
    "nextflow": "nextflow_run",
    "nextflow-timeline": "nextflow_timeline",
    "darshan": "darshan",
}
"""Kind → the module here that reads it."""
_BINARY = frozenset({"darshan"})
"""Kinds that are no text: nothing stands around them."""


def reader(kind: str) -> Callable[[bytes, str], ImportedFile]:
    """What reads a file of this kind, given its content and its name. It never raises, whatever the bytes are; a
    plug-in that does is named in a RequestError."""
    from tonnage.importers.imported_phases import without_impossible_phases

    if kind not in KINDS:
        added: Callable[[bytes, str], object] = plugins.load(plugins.IMPORTERS, kind)
        return lambda data, name: plugins.call(plugins.IMPORTERS, kind, lambda: _checked(added(data, name)))
    read: Callable[[bytes, str], ImportedFile] = import_module(f"tonnage.importers.{KINDS[kind]}").read
    if kind in _BINARY:
        return lambda data, name: without_impossible_phases(read(data, name))
    return lambda data, name: without_impossible_phases(_of_text(read, data, name))


def _of_text(read: Callable[[bytes, str], ImportedFile], data: bytes, name: str) -> ImportedFile:
    from tonnage.importers.imported_phases import ImportedFile
    from tonnage.importers.unwrap_text import unwrapped

    text = unwrapped(data)
    if text.problem:
        return ImportedFile(problems=(text.problem,))
    return read(text.data, name.removesuffix(".gz"))


def _checked(found: object) -> ImportedFile:
    """What a plug-in returned, as it promised."""
    from tonnage.importers.imported_phases import ImportedFile, Phase, without_impossible_phases

    if not isinstance(found, ImportedFile):
        raise TypeError(f"it returned {found!r}, which is no ImportedFile")
    for phase in found.phases:
        if not isinstance(phase, Phase):
            raise TypeError(f"it returned {phase!r} as a phase, which is no Phase")
    kept = without_impossible_phases(found)
    plugins.require_json("it", replace(kept, phases=tuple(replace(phase, stated_rate=None) for phase in kept.phases)))
    return kept
