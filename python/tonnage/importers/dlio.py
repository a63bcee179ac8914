"""What DLIO, and so MLPerf Storage, wrote of a run: ``summary.json``, and ``0_per_epoch_stats.json`` where checkpoints
are in it.

A trial of a training is an epoch, one of a checkpoint its writing or reading back. ``MB`` and ``GB`` are 2^20 and 2^30
bytes. How long an epoch took is not in the summary: each counts as an equal share of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from tonnage.importers.imported_phases import FROM_SUMMARY, ImportedFile, Note, Phase, line_of
from tonnage.importers.rounded_numbers import MIB
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import Json
from tonnage.records.phase_results import StatedTraining

_ESTIMATED = Note("bytes-estimated", "DLIO's summary has the rate of each epoch, and not how long each took")
_GIB = 1024 * MIB
_RATES, _SHARES = "train_throughput_samples_per_second", "train_au_percentage"
_CHECKPOINTS = {"save": "checkpoint", "load": "restart"}
"""How DLIO calls what is done to a checkpoint → the phase that it is here."""


def read(data: bytes, _: str) -> ImportedFile:
    """Reads either file. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, _torn = content(data)
    text = "\n".join(lines)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return ImportedFile(problems=("line 1: it is no whole JSON",), tool="dlio")
    if not isinstance(told, dict):
        return ImportedFile(problems=("line 1: it has no metric of DLIO",), tool="dlio")
    metric = told.get("metric")
    host = told.get("hostname")
    if not isinstance(metric, dict):
        phases = tuple(_each_checkpoint(told, text))
        why = "line 1: it has no metric of DLIO, and no checkpoint with a rate; give summary.json"
        return ImportedFile(phases=phases, problems=() if phases else (why,), tool="dlio")
    saved = tuple(_mean_checkpoints(told, metric, text))
    trained: tuple[Phase, ...] | str = ()
    if not saved or _RATES in metric:
        trained = _epochs(told, metric, line_of(text, f'"{_RATES}"'))
    return ImportedFile(
        phases=saved if isinstance(trained, str) else (*trained, *saved),
        problems=(trained,) if isinstance(trained, str) else (),
        tool="dlio",
        host=host if isinstance(host, str) else None,
    )


def _epochs(summary: Json, metric: Json, line: int) -> tuple[Phase, ...] | str:
    rates = metric.get(_RATES)
    tasks, mean = _positive(summary.get("num_accelerators")), _positive(metric.get("train_io_mean_MB_per_second"))
    if not isinstance(rates, list) or not rates:
        return f"line {line}: it has no training of which each epoch has a rate ({_RATES})"
    samples = [_positive(rate) for rate in rates]
    if None in samples or tasks is None or tasks.denominator != 1 or mean is None:
        return f"line {line}: accelerators or rates are missing, or are no numbers above 0"
    began, ended = (_instant(summary.get(key)) for key in ("start", "end"))
    if began is None or ended is None or not began < ended:
        return f"line {line}: it does not say when it began and ended"
    known = [rate for rate in samples if rate is not None]
    each = mean * MIB / (sum(known) / len(known))
    share = Fraction(str((ended - began).total_seconds())) / len(known)
    missed = _missed(metric)
    phases = []
    for number, rate in enumerate(known):
        moved, done = round(rate * share * each), round(rate * share)
        if not 0 < moved < LARGEST or not done:
            return f"line {line}: it says nothing of what was read"
        setting = {"kind": "training", "tasks": int(tasks), "accelerators": int(tasks), "sample_size": round(each)}
        for key in ("num_files_train", "num_samples_per_file", "num_hosts"):
            setting |= {key: summary[key]} if isinstance(summary.get(key), int) else {}
        phases.append(
            Phase(
                phase="train",
                setting=setting,
                elapsed_ns=max(1, round(share * 10**9)),
                bytes=moved,
                operations=done,
                line=line,
                notes=(_ESTIMATED, *missed),
                stated_training=_stated(metric, number, int(tasks)),
            )
        )
    return tuple(phases)


def _stated(metric: Json, epoch: int, accelerators: int) -> StatedTraining | None:
    """The utilisation of an epoch; None where the file does not say it, or says what none can be."""
    shares = metric.get(_SHARES)
    told = _positive(shares[epoch]) if isinstance(shares, list) and epoch < len(shares) else None
    if told is None or told > _WHOLE:
        return None
    return {"accelerators": accelerators, "utilisation": float(told / 100)}


_WHOLE = 100
"""Per cent."""


def _missed(metric: Json) -> tuple[Note, ...]:
    """What is to be said of a run that did not reach the utilisation that its configuration asks for."""
    if metric.get("train_au_meet_expectation") != "fail":
        return ()
    mean = _positive(metric.get("train_au_mean_percentage"))
    of = f" of {float(mean):.3g} %" if mean is not None else ""
    message = f"the summary says that its accelerator utilisation{of} is below what its configuration asks for"
    return (Note("utilisation-missed", message),)


def _mean_checkpoints(summary: Json, metric: Json, text: str) -> Iterator[Phase]:
    """A trial for the mean checkpoint that the summary has."""
    size = _positive(metric.get("checkpoint_size_GB"))
    for verb, phase in _CHECKPOINTS.items():
        key = f"{verb}_checkpoint_duration_mean_seconds"
        seconds = _positive(metric.get(key))
        if size is not None and seconds is not None:
            yield _checkpoint(phase, summary, size * _GIB, seconds, line_of(text, f'"{key}"'), (FROM_SUMMARY,))


def _each_checkpoint(epochs: Json, text: str) -> Iterator[Phase]:
    for epoch in epochs.values():
        for name, part in epoch.items() if isinstance(epoch, dict) else ():
            verb = name.partition("_ckpt")[0]
            if verb not in _CHECKPOINTS or not isinstance(part, dict):
                continue
            seconds, rate = _positive(part.get("duration")), _positive(part.get("throughput"))
            if seconds is not None and rate is not None:
                yield _checkpoint(
                    _CHECKPOINTS[verb], {}, rate * seconds * _GIB, seconds, line_of(text, f'"{name}"'), ()
                )


def _checkpoint(
    phase: str,
    summary: Json,
    size: Fraction,
    seconds: Fraction,
    line: int,
    notes: tuple[Note, ...],
) -> Phase:
    told = _positive(summary.get("num_accelerators"))
    tasks = int(told) if told is not None and told.denominator == 1 else 1
    setting = {"kind": "checkpoint", "tasks": tasks, "checkpoint_bytes": round(size)}
    return Phase(
        phase=phase,
        setting=setting,
        elapsed_ns=max(1, round(seconds * 10**9)),
        bytes=round(size),
        operations=tasks,
        line=line,
        notes=notes,
    )


def _positive(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST:
        return None
    return Fraction(str(value))


def _instant(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        return None
