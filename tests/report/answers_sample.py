"""Answers to questions about several runs, made by hand: a history, a crossover and a projection, with odd names."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from tonnage.analysis.compare.differences import Difference
from tonnage.analysis.compare.history import Change, Dated, History, Level, Series
from tonnage.analysis.compare.level_change import segments
from tonnage.analysis.compare.runs import Between, Cell
from tonnage.analysis.load_line.extrapolate import extrapolate
from tonnage.analysis.load_line.projection import Projection, Refused, fit
from tonnage.analysis.results import Point
from tonnage.analysis.tiers.two_tiers import crossings
from tonnage.report.answer import Answer
from tonnage.report.answers import compare as comparison
from tonnage.report.answers import crossover as crossing
from tonnage.report.answers import history
from tonnage.report.answers import project as projection
from tonnage.report.published.summit_tiers import TIERS, tier
from tonnage.units import BANDWIDTH

LONG = "sim:knee=8,plateau=8GB/s,node-plateau=1GB/s,noise=8%,name={}"
ODD = "<b>run</b> & ünü\u2028"


def answers() -> dict[str, Answer]:
    """By the name of the command that gives it."""
    gpfs, nvme = map(tier, TIERS)
    return {
        "history": history.answer(_history(dated=True)),
        "history-undated": history.answer(_history(dated=False)),
        "crossover": crossing.answer(crossings(gpfs, nvme, nodes=600)),
        "crossover-of-long-names": crossing.answer(
            [replace(one, fast=LONG.format("nvme"), slow=LONG.format("scratch")) for one in crossings(gpfs, nvme)]
        ),
        "compare": comparison.answer([_between()], 0.02),
        "project": projection.answer(ODD, [_projection()], [Refused("read", "", "too few points lead there")]),
    }


def _between() -> Between:
    """A system that is a quarter slower, at each number of tasks, with names that are longer than a screen is wide."""
    cells = tuple(
        Cell(
            op, tasks, "", BANDWIDTH, 2e9, 1.5e9, 3, 3, 9, 9, 0.75, 0.75 - apart, 0.75 + apart, 0.95, "system",
            "slower", None, None, "B/s", (), (),
        )
        for op in ("write", "read")
        for tasks, apart in ((1, 0.08), (4, 0.09), (16, 0.02))
    )  # fmt: skip
    told = Difference("target.name", ", ".join([LONG.format("scratch")] * 3), LONG.format("scratch"))
    return Between("before", "after", "system", ("before/1",), ("after/1",), cells, (), (), (told,))


def _history(*, dated: bool) -> History:
    """Two settings over 24 runs: one went down and up again, one never changed."""
    draw = random.Random(5)
    begun = datetime(2026, 10, 1, 3, tzinfo=timezone.utc)
    other = (Difference("host.kernel", "5.10", ODD),)
    runs = tuple(
        Dated(
            f"{ODD}{number}",
            (begun + timedelta(days=number)).isoformat() if dated else None,
            other if number in (8, 16) else (),
        )
        for number in range(24)
    )
    return History(runs, (_series("write", draw, 0.7), _series("read", draw, 1.0)), 0.95)


def _series(op: str, draw: random.Random, ratio: float) -> Series:
    samples = [[2e9 * (ratio if 8 <= at < 16 else 1) * draw.uniform(0.97, 1.03) for _ in range(3)] for at in range(24)]
    stretches, steps, _ = segments(samples)
    changes = tuple(
        Change(
            "faster" if step.ratio > 1 else "slower", step.at, step.low, step.high, step.low - 1, False,
            step.ratio, step.ratio_low, step.ratio_high,
        )
        for step in steps
    )  # fmt: skip
    levels = tuple(
        Level(number, sorted(values)[1], min(values), max(values), 0.95, 3) for number, values in enumerate(samples)
    )
    verdict = changes[-1].verdict if changes else "no change shown"
    return Series(op, ODD, 8, BANDWIDTH, levels, stretches, changes, verdict, False, None, "B/s")


def _projection() -> Projection:
    values = {n: (2e8 * min(n, 10) * 0.97, 2e8 * min(n, 10) * 1.03) for n in (1, 2, 4, 8, 16, 32)}
    points = tuple(
        Point(
            op="write", tasks=n, transfer_size=1, group="", values=both, records=("0000-write", "0001-write"),
            median=sum(both) / 2, low=both[0], high=both[1], confidence=0.95, latency={}, operations_per_s=1,
            cpu_ns_per_gib=None, cache_state=None, cache_device_share=None,
        )
        for n, both in values.items()
    )  # fmt: skip
    band = extrapolate(values, [1, 2, 4, 8, 12, 16, 24, 32, 48, 64])
    return Projection(
        op="write", group="", metric=BANDWIDTH, tasks=64, nodes=1, median=band[-1].median, low=band[-1].low, high=2.1e9,
        confidence=0.95, most_tasks=32, beyond=2.0, along="tasks", ceiling="memory copy", ceiling_per_s=2.1e9,
        points=points, band=tuple(band),
        models=tuple(fit("write", "", list(values), [point.median for point in points], 64)),
    )  # fmt: skip
