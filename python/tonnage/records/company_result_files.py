"""Stores for placement what company costs on a target: one small JSON file a pair of workloads, beside the load lines
(``load_line_files.py``), by the same rules. ``docs/record-format.md`` is the format."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tonnage.records.line_types import Json
from tonnage.records.load_line_files import digest, text_of
from tonnage.records.own_files import replace_file

_FORMAT, _VERSION, _ENDING = "tonnage-company", 1, ".company"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCompany:
    """What a workload of streams keeps of its throughput beside another one."""

    target: str
    operation: str
    """``write`` or ``read``; ``beside_operation`` is that of the company."""
    transfer_size: int
    beside_operation: str
    beside_transfer_size: int
    share: float
    """Of the rate that the company reaches alone, which it had meanwhile."""
    ratio: float
    """Throughput beside it ÷ alone."""
    low: float
    high: float
    """Its interval."""
    measured_at_s: float
    """Seconds since 1970."""
    run: str
    """The run directory."""


def keep_company(directory: Path, kept: KeptCompany) -> Path:
    """Keeps a result, durably, and gives its file. OSError where it cannot; then nothing else was lost."""
    name = f"{digest(kept.target)}-{int(kept.measured_at_s * 1000):015d}-{os.urandom(4).hex()}{_ENDING}"
    text = json.dumps({"format": _FORMAT, "format_version": _VERSION, **asdict(kept)}, allow_nan=False)
    replace_file(directory / name, text.encode() + b"\n")
    return directory / name


def company_in(directory: Path) -> list[KeptCompany]:
    """Returns the results of a directory, the oldest first; what is none is passed over."""
    try:
        every = sorted(name for name in os.listdir(directory) if name.endswith(_ENDING))  # noqa: PTH208
    except OSError:
        return []
    found = (_company_of(directory / name) for name in every)
    return sorted((one for one in found if one is not None), key=lambda one: one.measured_at_s)


def _company_of(path: Path) -> KeptCompany | None:
    with suppress(OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        value: Json = json.loads(text_of(path))
        if (value.get("format"), value.get("format_version")) != (_FORMAT, _VERSION):
            return None
        kept = KeptCompany(**{field.name: value[field.name] for field in fields(KeptCompany)})
        texts = (kept.target, kept.operation, kept.beside_operation, kept.run)
        sizes = (kept.transfer_size, kept.beside_transfer_size)
        sane = (
            all(isinstance(text, str) for text in texts)
            and all(type(size) is int and size > 0 for size in sizes)
            and 0 < kept.share <= 1
            and 0 < kept.low <= kept.ratio <= kept.high
            and abs(kept.measured_at_s) < 2**53
        )
        return kept if sane else None
    return None
