"""What DLIO, and so MLPerf Storage, wrote of a run: ``summary.json``, and ``0_per_epoch_stats.json`` where checkpoints
are in it.

A trial of a training is an epoch, one of a checkpoint its writing or reading back. ``MB`` and ``GB`` are 2^20 and 2^30
bytes. How long an epoch took is not in the summary: each counts as an equal share of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from tonnage.importers.imported_phases import ImportedFile, Note, Phase, StatedRate, line_of
from tonnage.importers.rounded_numbers import MIB, Rounded
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import Json
from tonnage.records.phase_results import StatedTraining

_ESTIMATED = Note("bytes-estimated", "DLIO's summary has the rate of each epoch, and not how long each took")
_MEAN = Note("from-summary", "DLIO's summary has the mean time of all checkpoints, and not of each")
_UNLIKE = Fraction(2)
"""So much may a mean of rates be above the rate of the mean time."""
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
    problems: list[str] = []
    if not isinstance(metric, dict):
        phases = tuple(_each_checkpoint(told, text, problems))
        why = "line 1: it has no metric of DLIO, and no checkpoint with a rate; give summary.json"
        return ImportedFile(phases=phases, problems=tuple(problems) if phases else (why,), tool="dlio")
    saved = tuple(_mean_checkpoints(told, metric, text, problems))
    trained: tuple[Phase, ...] = ()
    if not saved or _RATES in metric:
        trained = _epochs(told, metric, text, problems)
    began = _instant(told.get("start"))
    return ImportedFile(
        phases=(*trained, *saved),
        problems=tuple(problems),
        tool="dlio",
        began=began.strftime("%Y-%m-%d %H:%M:%S") if began else None,
        host=host if isinstance(host, str) else None,
    )


def _epochs(summary: Json, metric: Json, text: str, problems: list[str]) -> tuple[Phase, ...]:
    line = line_of(text, f'"{_RATES}"')
    found = _trained(summary, metric, line)
    if isinstance(found, str):
        problems.append(found)
        return ()
    shares = metric.get(_SHARES)
    without = [str(number + 1) for number, phase in enumerate(found) if phase.stated_training is None]
    if without:
        which = (
            f"epoch{'s' if len(without) > 1 else ''} {', '.join(without)}" if isinstance(shares, list) else "any epoch"
        )
        at = line_of(text, f'"{_SHARES}"')
        problems.append(f"line {at}: it has no accelerator utilisation of {which} ({_SHARES}, above 0 to 100)")
    return found


def _trained(summary: Json, metric: Json, line: int) -> tuple[Phase, ...] | str:
    """A trial an epoch, or why there is none."""
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


def _mean_checkpoints(summary: Json, metric: Json, text: str, problems: list[str]) -> Iterator[Phase]:
    """A trial for the mean checkpoint that the summary has."""
    size = _positive(metric.get("checkpoint_size_GB"))
    for verb, phase in _CHECKPOINTS.items():
        key = f"{verb}_checkpoint_duration_mean_seconds"
        if key not in metric:
            continue
        seconds, line = _positive(metric[key]), line_of(text, f'"{key}"')
        if size is None or seconds is None:
            problems.append(f"line {line}: a time of checkpoints without a size, or one that is no number above 0")
            continue
        rate = _positive(metric.get(f"{verb}_checkpoint_io_mean_GB_per_second"))
        stated = None if rate is None else _stated_rate(rate, size * _GIB, seconds, line)
        yield replace(_checkpoint(phase, summary, size * _GIB, seconds, line), notes=(_MEAN,), stated_rate=stated)


def _stated_rate(rate: Fraction, size: Fraction, seconds: Fraction, line: int) -> StatedRate:
    """The mean of rates is above the rate of the mean time, the more so the less alike checkpoints are."""
    return StatedRate(
        line=line,
        text=f"{float(rate):g} GB/s",
        rate=Rounded.between(rate * _GIB / _UNLIKE, rate * _GIB * (1 + Fraction(1, 100))),
        count=round(size),
        seconds=Rounded.between(seconds, seconds),
    )


def _each_checkpoint(epochs: Json, text: str, problems: list[str]) -> Iterator[Phase]:
    for epoch in epochs.values():
        for name, part in epoch.items() if isinstance(epoch, dict) else ():
            verb = name.partition("_ckpt")[0]
            if verb not in _CHECKPOINTS or not isinstance(part, dict):
                continue
            seconds, rate = _positive(part.get("duration")), _positive(part.get("throughput"))
            line = line_of(text, f'"{name}"')
            if seconds is None or rate is None:
                problems.append(f"line {line}: a checkpoint without a duration and a throughput above 0")
            else:
                yield _checkpoint(_CHECKPOINTS[verb], {}, rate * seconds * _GIB, seconds, line)


def _checkpoint(phase: str, summary: Json, size: Fraction, seconds: Fraction, line: int) -> Phase:
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
