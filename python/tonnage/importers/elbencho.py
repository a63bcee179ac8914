"""elbencho's CSV (``--csvfile``) and JSON lines (``--jsonfile``).

Each result has two columns: when the first thread was done, and when the last was. A trial is the last: the first
leaves out what slower threads still had to do. MiB are 2^20 bytes; ``bytes/s`` of the JSON is exact. fsync is never in
its clock.
"""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from tonnage.importers.imported_phases import ImportedFile, Latency, Note, Phase, StatedRate, few, latency
from tonnage.importers.rounded_numbers import MIB, Rounded, elapsed_ns, no_time, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

NAMES = {"MKDIRS": "make-directory", "STAT": "stat", "RMFILES": "remove", "RMDIRS": "remove-directory"}
UNTIMED = ("SYNC", "DROPCACHES")
_JSON = {
    "elapsed_time_ms": "time ms [last]", "iops": "IOPS [last]", "bytes": "bytes", "bytes/s": "bytes/s",
    "entries": "entries [last]", "entries/s": "entries/s [last]",
}  # fmt: skip
_CONFIG = {
    "path_type": "path type", "paths": "paths", "hosts": "hosts", "threads": "threads", "file_size": "file size",
    "block_size": "block size", "direct_io": "direct IO", "random_offsets": "random", "io_depth": "IO depth",
    "files": "files", "dirs": "dirs", "command": "command", "version": "version",
}  # fmt: skip


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a file. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    rows, problems = _json(lines, torn) if data.lstrip().startswith(b"{") else _csv(lines, torn)
    phases = []
    for number, row in rows:
        phase = phase_of(row, number)
        if isinstance(phase, str):
            problems.append(f"line {number}: {phase}; left out")
        elif phase is not None:
            phases.append(phase)
    if not rows and not problems:
        problems.append("line 1: this is neither a CSV nor a JSON of elbencho")
    last = rows[-1][1] if rows else {}
    return ImportedFile(
        phases=tuple(phases),
        problems=few(problems),
        tool="elbencho",
        version=last.get("version"),
        command=last.get("command"),
    )


def _csv(lines: list[str], torn: bool) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    names: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            cells = next(csv.reader([line], escapechar="\\"), [])
        except csv.Error:
            cells = []
        if "operation" in cells and any("[last]" in cell for cell in cells):
            names = cells
        elif names and line.strip():
            # The command is last, and its quotation marks are as they were typed.
            if len(cells) < len(names) or (torn and number == len(lines)):
                problems.append(f"line {number}: this result is cut off; left out")
                continue
            row = dict(zip(names, cells, strict=False))
            row["command"] = line.split(row.get("version", ",") + ",", 1)[-1].strip()
            rows.append((number, row))
    if not names:
        problems.append("line 1: it has no line of elbencho's column names")
    return rows, problems


def _json(lines: list[str], torn: bool) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    rows: list[tuple[int, dict[str, str]]] = []
    problems: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not isinstance(said.get("last_done"), dict):
            why = "is cut off" if torn and number == len(lines) else "is no result of elbencho"
            problems.append(f"line {number}: it {why}; left out")
            continue
        config = said.get("config")
        row = {_CONFIG[key]: str(value) for key, value in _items(config) if key in _CONFIG}
        row |= {_JSON[key]: str(value) for key, value in _items(said["last_done"]) if key in _JSON}
        row |= {"operation": str(said.get("phase_type")), "ISO date": str(said.get("iso_start_date") or "")}
        rows.append((number, row))
    return rows, problems


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def phase_of(row: Mapping[str, str], number: int) -> Phase | str | None:
    """The trial of a result, in the columns of the CSV; None for what is none, or why it cannot be one."""
    name = row.get("operation", "")
    if name in UNTIMED:
        return None
    if name not in NAMES and name not in ("WRITE", "READ"):
        return f"{name or 'it'} is no phase that is read here"
    tasks = (whole(row.get("threads")) or 0) * (whole(row.get("hosts")) or 1)
    time = rounded(row.get("time ms [last]", ""))
    if not tasks or tasks >= 2**31 or time is None:
        return "threads or time are missing"
    if no_time(row["time ms [last]"]):
        return f"{name} states what it did beside a time of {row['time ms [last]']} ms"
    seconds = time.times(Fraction(1, 1000))
    entries = whole(row.get("entries [last]")) or 0
    files = row.get("path type") == "dir" or name in NAMES
    if files:
        rate = rounded(row.get("entries/s [last]", ""))
        lasted = elapsed_ns(entries, seconds, rate)
        moved, notes = _bytes(row, entries) if name in ("WRITE", "READ") else (0, ())
        count, text = entries, f"{row.get('entries/s [last]')} entries/s"
    else:
        moved, notes = _bytes(row, entries)
        rate, text = _rate(row)
        count = moved
        lasted = elapsed_ns(moved, seconds, rate)
    if not count or lasted is None or moved >= LARGEST:
        return f"{name} says nothing of what was done"
    phase = NAMES.get(name) or ({"WRITE": "create", "READ": "read"}[name] if files else name.lower())
    size = whole(row.get("block size"))
    return Phase(
        phase=phase,
        setting=_setting(row, phase, tasks, files),
        elapsed_ns=lasted,
        bytes=moved,
        operations=entries if files else moved // size if size else 0,
        line=number,
        started=started_at(row.get("ISO date", "")),
        latency=_latency(row, "Ent" if files else "IO", entries if files else moved // size if size else None),
        stated_rate=StatedRate(line=number, text=text, rate=rate, count=count, seconds=seconds)
        if rate and not notes
        else None,
        durability="none",
        direct=_yes(row.get("direct IO")),
        notes=notes,
    )


def _rate(row: Mapping[str, str]) -> tuple[Rounded | None, str]:
    """In bytes a second: the JSON's own, or the CSV's whole MiB."""
    if exact := rounded(row.get("bytes/s", "")):
        return exact, f"{row['bytes/s']} bytes/s"
    found = rounded(row.get("MiB/s [last]", ""))
    return (found.times(MIB) if found else None), f"{row.get('MiB/s [last]')} MiB/s"


def _bytes(row: Mapping[str, str], entries: int) -> tuple[int, tuple[Note, ...]]:
    """The JSON says them; the CSV has whole MiB, and what all files together have where that agrees."""
    if (said := whole(row.get("bytes"))) is not None:
        return said, ()
    mib, size = whole(row.get("MiB [last]")), whole(row.get("file size"))
    if mib is None or mib > LARGEST // MIB:
        return 0, ()
    for meant in (entries * (size or 0), (whole(row.get("paths")) or 1) * (size or 0)):
        if mib * MIB <= meant < (mib + 1) * MIB:
            return meant, ()
    sentence = "elbencho's CSV and text have whole MiB, cut off, and the sizes of its files do not add up to them"
    return mib * MIB, (Note("bytes-estimated", sentence),)


def _setting(row: Mapping[str, str], phase: str, tasks: int, files: bool) -> SettingValues:
    try:
        words = shlex.split(row.get("command", ""))
    except ValueError:
        words = []
    common = {
        "kind": "files" if files else "stream",
        "tasks": tasks,
        "transfer_size": whole(row.get("block size")),
        "file_size": whole(row.get("file size")),
        "access": {True: "random", False: "sequential"}.get(bool(_yes(row.get("random")))),
        "direct": _yes(row.get("direct IO")),
        "queue_depth": whole(row.get("IO depth")),
        "hosts": whole(row.get("hosts")) or 1,
        "label": row.get("label") or None,
        "options": _others(words),
        "path": words[-1] if len(words) > 1 else None,
    }
    more = {"items": whole(row.get("files")), "directories": whole(row.get("dirs"))} if files else {"op": phase}
    return {**common, **more}


_KNOWN = frozenset(
    {
        *("w", "write", "r", "read", "d", "mkdirs", "D", "deldirs", "F", "delfiles", "stat", "t", "threads", "b"),
        *("block", "s", "size", "n", "dirs", "N", "files", "direct", "rand", "iodepth", "hosts", "hostsfile", "label"),
        *("jsonfile", "csvfile", "resfile", "livecsv", "livecsvex", "liveint", "live1", "live1n", "nolive", "log"),
        *("lat", "latpercent", "latpercent9s", "lathisto", "cpu", "allelapsed", "nocsvlabels", "opslog", "dryrun"),
    }
)
"""Options that a row has columns for, that say which phases there are, or what is printed and kept."""


def _others(words: list[str]) -> str | None:
    """Whatever else the command line asks for; the last word is a path."""
    found, rest = [], words[1:-1]
    while rest:
        name, equal, value = rest.pop(0).partition("=")
        if not equal and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        if name.startswith("-") and name.lstrip("-") not in _KNOWN:
            found.append(f"{name} {value}".strip())
    return " ".join(sorted(found)) or None


def _yes(text: str | None) -> bool | None:
    return {"1": True, "true": True, "0": False, "false": False}.get(text or "")


def started_at(text: str, *, before_ms: int = 0) -> str | None:
    """When, in ISO 8601, of a time that it prints, or so long before it; None where it is none."""
    try:
        when = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z") - timedelta(milliseconds=before_ms)
    except (ValueError, OverflowError):
        return None
    return when.isoformat(timespec="milliseconds")


def _latency(row: Mapping[str, str], what: str, count: int | None) -> Latency | None:
    """Microseconds in the CSV."""
    known = {}
    for way in ("min", "avg", "max"):
        value = whole(row.get(f"{what} lat us [{way}]"))
        known[way] = value * 1000 if value is not None and value < LARGEST // 1000 else None
    if all(value is None for value in known.values()):
        return None
    return latency(count, minimum=known["min"], mean=known["avg"], maximum=known["max"])
