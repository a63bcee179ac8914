"""The ``summary.json`` of DLIO, and so of MLPerf Storage: samples a second of each epoch of a training.

A trial is an epoch. ``MB`` are 2^20 bytes. How long an epoch took is not said: each counts as an equal share of the
run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from tonnage.importers.imported_phases import ImportedFile, Note, Phase, line_of
from tonnage.importers.rounded_numbers import MIB
from tonnage.importers.trace import LARGEST, content

_ESTIMATED = Note("bytes-estimated", "DLIO's summary has the rate of each epoch, and not how long each took")


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a summary. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, _torn = content(data)
    text = "\n".join(lines)
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError):
        return ImportedFile(problems=("line 1: it is no whole JSON",), tool="dlio")
    metric = summary.get("metric") if isinstance(summary, dict) else None
    if not isinstance(metric, dict):
        return ImportedFile(problems=("line 1: it has no metric of DLIO",), tool="dlio")
    host = summary.get("hostname")
    phases = _epochs(summary, metric, line_of(text, '"train_throughput_samples_per_second"'))
    told = (phases,) if isinstance(phases, str) else ()
    return ImportedFile(
        phases=() if isinstance(phases, str) else phases,
        problems=told,
        tool="dlio",
        host=host if isinstance(host, str) else None,
    )


def _epochs(summary: Mapping[str, Any], metric: Mapping[str, Any], line: int) -> tuple[Phase, ...] | str:
    rates = metric.get("train_throughput_samples_per_second")
    tasks, mean = _positive(summary.get("num_accelerators")), _positive(metric.get("train_io_mean_MB_per_second"))
    if not isinstance(rates, list) or not rates:
        return f"line {line}: it has no training of which each epoch has a rate (train_throughput_samples_per_second)"
    samples = [_positive(rate) for rate in rates]
    if None in samples or tasks is None or tasks.denominator != 1 or mean is None:
        return f"line {line}: accelerators or rates are missing, or are no numbers above 0"
    began, ended = (_instant(summary.get(key)) for key in ("start", "end"))
    if began is None or ended is None or not began < ended:
        return f"line {line}: it does not say when it began and ended"
    known = [rate for rate in samples if rate is not None]
    each = mean * MIB / (sum(known) / len(known))
    share = Fraction(str((ended - began).total_seconds())) / len(known)
    phases = []
    for rate in known:
        moved, done = round(rate * share * each), round(rate * share)
        if not 0 < moved < LARGEST or not done:
            return f"line {line}: it says nothing of what was read"
        setting = {"kind": "stream", "op": "read", "tasks": int(tasks), "sample_size": round(each)}
        setting |= {key: summary[key] for key in ("num_files_train", "num_hosts") if isinstance(summary.get(key), int)}
        phases.append(
            Phase(
                phase="read",
                setting=setting,
                elapsed_ns=max(1, round(share * 10**9)),
                bytes=moved,
                operations=done,
                line=line,
                notes=(_ESTIMATED,),
            )
        )
    return tuple(phases)


def _positive(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST:
        return None
    return Fraction(str(value))


def _instant(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        return None
