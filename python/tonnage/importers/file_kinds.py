"""The kinds of file that ``tonnage import`` reads. A new one is a module with ``read(data, name)`` and a line here, or
a plug-in (:mod:`tonnage.plugins`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from tonnage import plugins
from tonnage.importers.unwrap_text import unwrapped

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
    if text.problem and not text.data:
        return ImportedFile(problems=(text.problem,))
    found = read(text.data, name.removesuffix(".gz"))
    return replace(found, problems=(text.problem, *found.problems)) if text.problem else found


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


_MARKS: Mapping[str, tuple[str, ...]] = {
    "ior": (r"^IOR-\S+: MPI Coordinated", r'"bwMiB"\s*:', r"^access,bw\("),
    "ior-operations": (r"\Atime,runtime,tp\s*$",),
    "mdtest": (r"^mdtest-\S+ was launched",),
    "io500": (r"^\[RESULT(?:-invalid)?\] +(?:(?:BW|IOPS) +phase|[\w-]+ +[0-9.]+ (?:GiB/s|kIOPS))", r"^config-hash +="),
    "fio": (r'"fio version"\s*:',),
    "fio-terse": (r"^[2-5];fio-[0-9]",),
    "fio-text": (r"^[^;{}\n]+: \(groupid=[0-9]+, jobs=[0-9]+\): err=",),
    "elbencho": (r"^ISO date,.*\[last\]", r'"elapsed_time_ms"\s*:'),
    "elbencho-text": (r"^OPERATION +RESULT TYPE +FIRST DONE +LAST DONE",),
    "elbencho-live": (r"^ISO Date,Label,Phase,RuntimeMS,",),
    "iperf3": (r'"version"\s*:\s*"iperf 3', r'"start"\s*:\s*\{\s*"connected"'),
    "iperf3-text": (r"^\[ *ID\](?:\[Role\])? Interval +Transfer +(?:Bitrate|Bandwidth)",),
    "iozone": (r"^\s*Iozone: Performance Test of File I/O",),
    "vdbench": (r"^Vdbench distribution: ", r"^[0-9:.]+ Starting RD="),
    "warp": (r"^(?:Operation|Report): [A-Z]+\b.*(?:Concurrency: |Ran )[0-9D]",),
    "dlio": (
        r'"train_throughput_samples_per_second"\s*:',
        r'"(?:save|load)_checkpoint_io_mean_GB_per_second"\s*:',
        r'^\s*"(?:save|load)_ckpt[0-9]+"\s*:',
    ),
    "sob": (r"^\s*(?:Wrote|Read) +[0-9.]+ MB in [0-9.]+ s",),
    "rados": (
        r"^(?:\S+ +)?Maintaining [0-9]+ concurrent (?:writes|reads)",
        r"^(?:\S+ +)?\s*[Tt]otal time run:?\s",
        r'"total_time_run"\s*:',
    ),
    "nextflow": (r"^(?:[a-z_%]+\t)*(?:task_id|process)\t",),
    "nextflow-timeline": (r"^\s*window\.data = \{\s*$",),
}
"""Kind → what a line of its files has."""
_FOUND = {kind: re.compile("|".join(marks), re.MULTILINE) for kind, marks in _MARKS.items()}
_LOG = re.compile(r".*_(?:bw|iops|lat|clat|slat)(?:\.[0-9]{1,6})?\.log(?:\.gz)?\Z")
_MOST_BYTES = 1 << 20
"""The number of bytes that the search reads."""
_ORDERS: tuple[Literal["little"], Literal["big"]] = ("little", "big")
DARSHAN_MARKS = tuple((6567223).to_bytes(8, order) for order in _ORDERS)
"""Of a log from version 3 on, after the eight characters of its version; by a machine of either byte order."""


def kinds_of(data: bytes, name: str) -> tuple[str, ...]:
    """The kinds whose marks a file has: normally one, several where it is ambiguous, none for any other file."""
    if data[8:16] in DARSHAN_MARKS:
        return ("darshan",)
    text = unwrapped(data).data[:_MOST_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")
    found = tuple(kind for kind, pattern in _FOUND.items() if pattern.search(text))
    if not found and _LOG.match(PurePath(name).name):
        return ("fio-log",)
    return found
