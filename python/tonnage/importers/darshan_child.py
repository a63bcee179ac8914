"""Reads a Darshan log with PyDarshan in a process of its own, for a damaged log may end the library that reads it.

``python -m tonnage.importers.darshan_child LOG [DAMAGED…]`` writes a line of JSON to its output and then arrays of
numpy, as ``tonnage.importers.darshan_log`` reads them back. DAMAGED: modules that are not read, by their place among
those that the log has.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO, TypedDict

import numpy as np

GENERIC = ("POSIX", "STDIO", "MPI-IO")
"""Modules whose records are counters of a file."""
DXT = "DXT_POSIX"
HEAT = "HEATMAP"
MOST_RECORDS = 2_000_000
"""Of a module: what a log of 64 MiB has at most is a tenth of that."""
MOST_SEGMENTS = 8_000_000
NOT_INSTALLED, NOT_READ = 3, 4
"""Exit codes; the error output then has the reason."""


class _Job(TypedDict):
    """The job of a log; times since 1970."""

    version: str
    job_id: int
    processes: int
    start_ns: int
    end_ns: int
    program: str
    metadata: str


class _Reader:
    """A log that is open, through the library's own functions."""

    def __init__(self, path: str) -> None:
        from darshan.backend import cffi_backend

        self.backend = cffi_backend
        self.ffi, self.library = cffi_backend.ffi, cffi_backend.libdutil
        self.problems: list[str] = []
        handle = self.library.darshan_log_open(path.encode())
        if handle == self.ffi.NULL:
            raise ValueError("the library cannot open it")
        self.log = {"handle": handle, "modules": None, "name_records": None}

    def job(self) -> _Job:
        record = self.ffi.new("struct darshan_job *")
        handle = self.log["handle"]
        if self.library.darshan_log_get_job(handle, record) < 0:
            raise ValueError("it breaks off before its job is described")
        program = self.ffi.new("char[]", 1 << 13)
        if self.library.darshan_log_get_exe(handle, program) < 0:
            self.problems.append("it does not say which program ran")
        job = record[0]
        return {
            "version": self._text(self.ffi.cast("char *", handle)),
            "job_id": job.jobid,
            "processes": job.nprocs,
            "start_ns": job.start_time_sec * 10**9 + job.start_time_nsec,
            "end_ns": job.end_time_sec * 10**9 + job.end_time_nsec,
            "program": self._text(program),
            "metadata": self._text(job.metadata),
        }

    def mounts(self) -> list[tuple[str, str]]:
        found, count = self.ffi.new("struct darshan_mnt_info **"), self.ffi.new("int *")
        if self.library.darshan_log_get_mounts(self.log["handle"], found, count) < 0:
            self.problems.append("it does not say what was mounted")
            return []
        return [(self._text(found[0][at].mnt_path), self._text(found[0][at].mnt_type)) for at in range(count[0])]

    def names(self) -> dict[int, str]:
        found, count = self.ffi.new("struct darshan_name_record **"), self.ffi.new("int *")
        self.library.darshan_log_get_name_records(self.log["handle"], found, count)
        return {found[0][at].id: self._text(found[0][at].name) for at in range(count[0])}

    def modules(self) -> dict[str, bool]:
        """Whether each that the log has is partial: the program's table was full. In the log's order."""
        found = self.backend.log_get_modules(self.log)
        return {name: found[name]["partial_flag"] for name in sorted(found, key=lambda one: found[one]["idx"])}

    def records(self, module: str) -> Iterator[Any]:
        """Buffers, one a record, until the end or until the log breaks off."""
        index = self.backend.log_get_modules(self.log)[module]["idx"]
        number = 0
        while number < MOST_RECORDS:
            buffer = self.ffi.new("void **")
            code = self.library.darshan_log_get_record(self.log["handle"], index, buffer)
            if code < 0:
                kept = f"breaks off after {number} records; what it holds is kept" if number else "cannot be read"
                self.problems.append(f"module {module} {kept}")
            elif code == 0 and number == 0:
                self.problems.append(f"module {module} has no record, though the log names it: it may be cut off")
            if code < 1:
                return
            yield buffer
            self.library.darshan_free(buffer[0])
            number += 1
        self.problems.append(f"module {module} has more than {number} records; the first ones are kept")

    def _text(self, found: Any) -> str:
        text: str = self.ffi.string(found).decode("utf-8", "replace")
        return text


def _generic(reader: _Reader, module: str) -> list[np.ndarray[Any, Any]]:
    """``ids``, ``ranks``, ``counters``, ``times``: a row a record."""
    kind = reader.backend._structdefs[module]
    rows = [
        reader.backend._make_generic_record(reader.ffi.cast(kind, buffer), module) for buffer in reader.records(module)
    ]
    return [
        np.array([row["id"] for row in rows], np.uint64),
        np.array([row["rank"] for row in rows], np.int64),
        np.array([row["counters"] for row in rows], np.int64),
        np.array([row["fcounters"] for row in rows], np.float64),
    ]


def _segments(reader: _Reader) -> list[np.ndarray[Any, Any]]:
    """``ids``, ``ranks``, whether it wrote, and offset, length, start and end: a row a call."""
    ffi = reader.ffi
    size = ffi.sizeof("struct dxt_file_record")
    row = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])
    parts, heads, left = [], [], MOST_SEGMENTS
    for buffer in reader.records(DXT):
        record = ffi.cast("struct dxt_file_record **", buffer)[0]
        writes, reads = record.write_count, record.read_count
        if writes < 0 or reads < 0 or writes + reads > left:
            reader.problems.append(f"module {DXT} has more than {MOST_SEGMENTS - left} calls; the first ones are kept")
            break
        left -= writes + reads
        raw = ffi.buffer(ffi.cast("char *", buffer[0]) + size, (writes + reads) * row.itemsize)
        parts.append(np.frombuffer(bytes(raw), row))
        heads += [(record.base_rec.id, record.base_rec.rank, True, writes)]
        heads += [(record.base_rec.id, record.base_rec.rank, False, reads)]
    whole = np.concatenate(parts) if parts else np.empty(0, row)
    counts = [count for *_, count in heads]
    columns: list[Any] = [
        np.repeat(np.array([head[at] for head in heads], kind), counts)
        for at, kind in enumerate((np.uint64, np.int64, np.bool_))
    ]
    return [*columns, *(np.ascontiguousarray(whole[name]) for name in ("offset", "length", "start", "end"))]


def _heat(reader: _Reader) -> list[np.ndarray[Any, Any]]:
    """``ids``, ``ranks``, width of a bin in seconds and number of bins: a row a record; then all bins of reads, and of
    writes."""
    heads: list[tuple[Any, ...]] = []
    reads: list[np.ndarray[Any, Any]] = []
    writes: list[np.ndarray[Any, Any]] = []
    for buffer in reader.records(HEAT):
        record = reader.ffi.cast("struct darshan_heatmap_record **", buffer)[0]
        bins = int(record.nbins)
        heads.append((record.base_rec.id, record.base_rec.rank, record.bin_width_seconds, bins))
        for bins_read, kept in ((record.read_bins, reads), (record.write_bins, writes)):
            kept.append(np.frombuffer(bytes(reader.ffi.buffer(bins_read, 8 * bins)), np.int64))
    kinds = (np.uint64, np.int64, np.float64, np.int64)
    columns: list[np.ndarray[Any, Any]] = [
        np.array([head[at] for head in heads], kind) for at, kind in enumerate(kinds)
    ]
    empty = np.empty(0, np.int64)
    return [*columns, np.concatenate([empty, *reads]), np.concatenate([empty, *writes])]


def _answer(path: str, damaged: Collection[int], out: BinaryIO) -> None:
    reader = _Reader(path)
    # Of a log that breaks off the library forgets its modules once it has failed to read the names.
    job, modules = reader.job(), reader.modules()
    mounts, names = reader.mounts(), reader.names()
    body, tables = io.BytesIO(), []
    left_out = [name for at, name in enumerate(modules) if at in damaged]
    for name in (*GENERIC, DXT, HEAT):
        if name not in modules or name in left_out:
            continue
        is_generic = name in GENERIC
        counters = reader.backend.counter_names(name) if is_generic else []
        times = reader.backend.fcounter_names(name) if is_generic else []
        tables.append({"module": name, "counters": counters, "times": times})
        arrays = _generic(reader, name) if is_generic else _segments(reader) if name == DXT else _heat(reader)
        for array in arrays:
            np.save(body, array, allow_pickle=False)
    header = {
        "job": job,
        "mounts": mounts,
        "names": names,
        "tables": tables,
        "modules": list(modules),
        "partial": [name for name, partial in modules.items() if partial],
        "left_out": left_out,
        "others": [name for name in modules if name not in (*GENERIC, DXT, HEAT)],
        "problems": reader.problems,
    }
    out.write(json.dumps(header).encode() + b"\n")
    out.write(body.getvalue())
    out.flush()


def main(path: str, *damaged: str) -> int:
    """Exit code. The library says what it does not like on the error output itself."""
    try:
        _answer(path, {*map(int, damaged)}, sys.stdout.buffer)
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return NOT_INSTALLED
    except (ValueError, RuntimeError, OSError, MemoryError) as error:
        sys.stderr.write(f"{error}\n")
        return NOT_READ
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
