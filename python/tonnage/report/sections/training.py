"""Accelerators that are fed: how many, and how much of the time each number of them computes."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

from tonnage import units
from tonnage.analysis.load_line.accelerators import Checkpoints, FedPoint, Feeding, Trained
from tonnage.analysis.run_analysis import Analysis
from tonnage.published.training_models import training_models
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.axes import tasks_axis
from tonnage.report.figures.colours import band_colour, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, answer_marks, interval_band, layout
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_DEVICE_LEAST = 0.95
"""Of the bytes read: of fewer from a device the cache answered."""
_LIMITS = {
    "storage": "the storage limits: it gives no more",
    "readers": "the readers limit: more of them get more out of the storage (readers)",
    "prefetch": "what is read ahead limits: readers wait for room while accelerators wait for batches (prefetch)",
    "processors": "the processors of this host limit: the readers use nearly all of their time",
}
_NOT_SHOWN = "what limits is not shown: the trials are too few, or differ too much"


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """Returns one figure, with a choice of the training."""
    if not analysis.trained:
        return []
    variants = tuple(Variant(one.group or "training", (_figure(one),)) for one in analysis.trained)
    introduction = "The share of the time in which accelerators compute, and do not wait for samples."
    return [Exhibit("training", "Accelerators fed", introduction, "Workload", variants)]


def _figure(trained: Trained) -> Figure:
    points = trained.points
    numbers = [one.accelerators for one in points]
    colour = line_colour("read")
    traces: list[Trace] = [
        *interval_band(
            numbers,
            [100 * one.low for one in points],
            [100 * one.high for one in points],
            band_colour("read"),
        ),
        {
            "x": numbers,
            "y": [100 * one.utilisation for one in points],
            "mode": "lines+markers",
            "name": "median",
            "line": {"color": colour, "width": 2.5},
            "text": [_hovered(one) for one in points],
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [one.accelerators for one in points for _ in one.utilisations],
            "y": [100 * share for one in points for share in one.utilisations],
            "mode": "markers",
            "name": "trial",
            "marker": {"color": colour, "size": 6, "opacity": 0.6},
            "hovertemplate": "%{x} accelerators<br>%{y:.3g} %<extra></extra>",
        },
    ]
    answer = trained.answer
    if answer is not None:
        interval = (answer.low, answer.high) if answer.shown and answer.low and answer.high else None
        traces += answer_marks("fed", 100 * answer.utilisation, numbers, interval, (0, 105))
    title = f"Utilisation of {trained.model or 'the accelerators'} by their number"
    told = _statement(trained).text
    return Figure(
        title=title,
        caption="Time of computing over all time, without the first step of an epoch. Band: interval of the median."
        + (" Dashed: what counts as fed." if answer else ""),
        alt=f"{title}. {told}",
        traces=traces,
        layout=layout(
            {**tasks_axis(numbers), "title": "Accelerators"},
            {"title": "Utilisation (%)", "range": [0, 105]},
            height=420,
        ),
        table=_table(trained),
    )


def _hovered(one: FedPoint) -> str:
    return "<br>".join(
        (
            units.plural(one.accelerators, "accelerator"),
            f"{_utilisation(one.utilisation)} of the time {_bounds(one)}",
            f"{units.rate(one.bandwidth_bytes_per_s)}, {units.significant(one.samples_per_s)} samples a second",
            hover.records(one.records),
        )
    )


def _bounds(one: FedPoint) -> str:
    if not one.confidence:
        return "[–]"
    low, high = floor(1000 * one.low) / 10, ceil(1000 * one.high) / 10
    return f"[{units.significant(low)} %, {units.significant(high)} %]"


def _utilisation(share: float) -> str:
    """With as many digits as its interval; never rounded up to a whole that it is not."""
    return "99.9 %" if 0.9995 <= share < 1 else f"{units.significant(100 * share)} %"


def tables(analysis: Analysis) -> list[Titled]:
    """Returns a table for each training, with a row for each number of accelerators."""
    return [(phrases.subject("train", one.group), _table(one)) for one in analysis.trained]


def _table(trained: Trained) -> Table:
    columns = (
        "accelerators", "utilisation", "interval", "n", "samples/s", "read", "starved", "uneven", "readers idle",
        "from device",
    )  # fmt: skip
    rows = tuple(
        (
            str(one.accelerators),
            _utilisation(one.utilisation),
            _bounds(one),
            str(len(one.utilisations)),
            units.significant(one.samples_per_s),
            units.rate(one.bandwidth_bytes_per_s),
            *(units.NOT_KNOWN if told is None else units.share(told) for told in (one.starved, one.uneven, one.idle)),
            units.NOT_KNOWN if one.device_share is None else units.share(one.device_share),
        )
        for one in trained.points
    )
    return Table.of(columns, rows)


def screen_table(analysis: Analysis) -> Titled | None:
    """What a search measured, for one screen; None where the run is no search for accelerators."""
    searched = [one for one in analysis.trained if one.answer is not None]
    if not searched:
        return None
    return "", _table(searched[0]).only(range(6))


def sentences(analysis: Analysis) -> list[Statement]:
    """Returns a sentence for each training."""
    return [_statement(one) for one in analysis.trained]


def _statement(trained: Trained) -> Statement:
    curve = ("train", trained.group)
    if trained.answer is None:
        largest = trained.points[-1]
        said = (
            f"{_accelerators(trained, largest.accelerators)} compute {_utilisation(largest.utilisation)} "
            f"{_bounds(largest)} of the time{_of_model(trained)}"
        )
        return Statement(trained.group, said, tuple(_basis(trained, largest)), curve=curve)
    answer = trained.answer
    near = next((one for one in trained.points if one.accelerators == max(answer.accelerators, 1)), trained.points[0])
    limit = (_LIMITS[answer.limit],) if answer.limit else (_NOT_SHOWN,) if answer.starved is not None else ()
    why = (*limit, *_basis(trained, near))
    return Statement(trained.group, _answered(trained, answer), why, sure=answer.shown and _is_cold(near), curve=curve)


def _answered(trained: Trained, answer: Feeding) -> str:
    at = f"at {units.share(answer.utilisation)} utilisation{_of_model(trained)}"
    if answer.shown and answer.high == 0:
        first = trained.points[0]
        return (
            f"does not feed {_accelerators(trained, 1)} {at}: it computes {_utilisation(first.utilisation)} "
            f"{_bounds(first)} of the time"
        )
    if answer.high is None:
        fed = f"feeds at least {_accelerators(trained, answer.low)}" if answer.low else "not shown how many are fed"
        more = ", the most that were tried" if answer.low == answer.most else "; a longer budget may show how many more"
        return f"{fed} {at}{more}"
    if not answer.low and not answer.shown:
        return f"not shown how many accelerators are fed {at}: at most {answer.high}; a longer budget may show it"
    return f"feeds {_accelerators(trained, answer.accelerators, f' [{answer.low}, {answer.high}]')} {at}"


def _accelerators(trained: Trained, number: int, interval: str = "") -> str:
    """``12 accelerators [11, 13] of kind h100``."""
    noun = "accelerator" if number == 1 else "accelerators"
    model = training_models().get(trained.model or "")
    return f"{number} {noun}{interval}" + (f" of kind {model.accelerator}" if model else "")


def _of_model(trained: Trained) -> str:
    model = training_models().get(trained.model or "")
    scale = f" with samples of {trained.scale:g} times their size" if trained.scale != 1 else ""
    return f", {model.model}{scale}" if model else scale


def _basis(trained: Trained, near: FedPoint) -> Iterator[str]:
    if trained.demand_bytes_per_s is not None and trained.readers is not None:
        demand = f"an accelerator that computes all the time reads {units.rate(trained.demand_bytes_per_s)}"
        yield f"{demand}, with {units.plural(trained.readers, 'reader')}"
    if near.checkpoints is not None:
        yield _checkpointed(near.checkpoints)
    if near.device_share is None:
        yield "how much of what was read came from a device is not known here"
    elif not _is_cold(near):
        yield f"only {units.share(near.device_share)} of what was read came from a device, the rest from the cache"
    else:
        yield f"{units.share(near.device_share)} of what was read came from a device"


def _checkpointed(told: Checkpoints) -> str:
    size = units.size_text(told.bytes)
    if not told.count:
        return f"no checkpoint of {size} was complete before a trial ended"
    return (
        f"{units.plural(told.count, 'checkpoint')} of {size} took {units.time_text(told.mean_ns)} each on average, "
        f"{units.share(told.time_share)} of the time, which the utilisation does not count"
    )


def _is_cold(one: FedPoint) -> bool:
    return one.device_share is None or one.device_share >= _DEVICE_LEAST


SECTION = Section(
    "training", exhibits, tables=tables, sentences=sentences, kinds=frozenset({"training"}), live=exhibits
)
