"""``jobs.jsonl``: the jobs that carried out a run, and how each ended. Only the submitter writes it, also after a job
has sealed the run: each line has a hash of itself and of those before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tonnage.records.hash_chain import read_regular, sha256, whole_lines
from tonnage.records.own_files import append_bytes, encode_line, truncate_torn_line

JOBS = "jobs.jsonl"
_HASHED = re.compile(rb'(.*),"sha256":"([0-9a-f]{64})"\}\n', re.DOTALL)


def append_job(run: Path, line: Mapping[str, Any]) -> None:
    """Appends a line; it is on the disk when this returns."""
    plain = encode_line(line)
    digest = sha256(_before(_data(run)).encode() + plain)
    append_bytes(run / JOBS, plain.removesuffix(b"}\n") + f',"sha256":"{digest}"}}\n'.encode())


def job_lines(run: Path) -> list[dict[str, Any]]:
    """All whole lines, in the order written; none where nothing was submitted."""
    return [json.loads(line) for line in whole_lines(_data(run)) if line.strip()]


def mend_jobs(run: Path) -> None:
    """Takes away half a line that a killed writer left. Under the lock of who follows the run."""
    truncate_torn_line(run / JOBS)


def altered_jobs(data: bytes) -> Iterator[int]:
    """The number of the first line, from 1, that is not as it was written; none where all are. Lines of older versions
    have no hashes, and count as what came before the first that has one."""
    lines = whole_lines(data)
    older = next((number for number, line in enumerate(lines) if _HASHED.fullmatch(line)), None)
    if older is None:
        yield from [1] if lines else []
        return
    before = sha256(b"".join(lines[:older]))
    for number, line in enumerate(lines[older:], older + 1):
        found = _HASHED.fullmatch(line)
        if found is None or sha256(before.encode() + found[1] + b"}\n") != found[2].decode():
            yield number
            return
        before = found[2].decode()


def _data(run: Path) -> bytes:
    try:
        return read_regular(run / JOBS)
    except FileNotFoundError:
        return b""


def _before(data: bytes) -> str:
    """What the next line's hash is chained on."""
    lines = whole_lines(data)
    last = _HASHED.fullmatch(lines[-1]) if lines else None
    return last[2].decode() if last else sha256(b"".join(lines))
