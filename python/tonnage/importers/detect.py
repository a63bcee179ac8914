"""Which tool wrote a file, by words that only it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Literal

from tonnage.importers.unwrap_text import unwrapped

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
    "warp": (r"^(?:Operation|Report): [A-Z]+(?: \([0-9]+\))?\..*Concurrency: [0-9]+",),
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
