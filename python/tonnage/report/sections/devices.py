"""What each device held of the files, and how fast it was where tasks worked on it alone."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.results import Devices
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures import hover
from tonnage.report.figures.axes import rate_scale_title
from tonnage.report.figures.colours import MUTED, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, text_column
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_MOST = 64
"""Devices that are drawn and listed; of more, those that hold most."""
_INTRODUCTION = (
    "Which device has which file, as the file system told after the phase that wrote them. Rates are of the tasks "
    "whose files were all on one device, of several repetitions the median."
)


def exhibits(analysis: Analysis, _: Source) -> list[Exhibit]:
    """Makes one section where several devices held the files: for each curve the point with most tasks."""
    variants = tuple(Variant(_label(found), (_figure(found),)) for found in largest(analysis.devices))
    return [Exhibit("devices", "Devices", _INTRODUCTION, "Phase", variants)] if variants else []


def tables(analysis: Analysis) -> list[Titled]:
    """Makes the same tables for the terminal."""
    return [(_label(found), _table(found)) for found in largest(analysis.devices)]


def largest(devices: Sequence[Devices]) -> list[Devices]:
    """Chooses, for each curve, the point with most tasks."""
    best: dict[tuple[str, str], Devices] = {}
    for found in devices:
        known = best.get((found.op, found.group))
        if known is None or found.tasks > known.tasks:
            best[found.op, found.group] = found
    return list(best.values())


def story(found: Devices) -> str:
    """Returns the number of examined files, and the busiest device's share of them."""
    most = max(found.parts, key=lambda part: part.bytes)
    of = f" of {phrases.number(found.total)}" if found.total and found.total > found.examined else ""
    fair = units.share(1 / len(found.parts))
    return (
        f"{phrases.number(found.examined)}{of} {found.of} on {phrases.number(len(found.parts))} devices; "
        f"{most.device} has most, {units.share(most.share)} of the bytes, where an even share is {fair}."
    )


def _label(found: Devices) -> str:
    return f"{phrases.subject(found.op, found.group)}, {phrases.tasks(found.tasks)} ({found.record})"


def _table(found: Devices) -> Table:
    columns = (text_column("device"), text_column("server"), found.of, "bytes", "share", "with copies", "tasks", "rate")
    shown = sorted(found.parts, key=lambda part: -part.bytes)[:_MOST]
    rows = tuple(
        (
            part.device,
            part.server or units.NOT_MEASURED,
            phrases.number(part.files),
            units.volume(part.bytes),
            units.share(part.share),
            units.volume(part.all_bytes),
            units.NOT_MEASURED if part.tasks is None else phrases.number(part.tasks),
            units.rate(part.median_bytes_per_s),
        )
        for part in found.parts
        if part in shown
    )
    return Table.of(columns, rows)


def _figure(found: Devices) -> Figure:
    shown = sorted(found.parts, key=lambda part: -part.bytes)[:_MOST]
    parts = [part for part in found.parts if part in shown]
    rates = all(part.median_bytes_per_s is not None for part in parts)
    scale, title = rate_scale_title(max(part.median_bytes_per_s or 0.0 for part in parts)) if rates else (0.01, "")
    values = [(part.median_bytes_per_s or 0.0 if rates else part.share) / scale for part in parts]
    what = title if rates else "Share of the bytes (%)"
    sentence = story(found)
    return Figure(
        title="Rate on each device" if rates else "Bytes on each device",
        caption=sentence,
        alt=f"{what} by device. {sentence}",
        traces=[
            {
                "type": "bar",
                "x": [escaped(part.device) for part in parts],
                "y": values,
                "marker": {"color": line_colour(found.op), "line": {"color": MUTED, "width": 1}},
                "hovertemplate": "%{x}<br>%{y:.4g}" + hover.ending(found.record),
                "showlegend": False,
            }
        ],
        layout=layout(
            {"title": "Device", "type": "category"}, {"title": what, "range": [0, 1.15 * max(values, default=0) or 1]}
        ),
        table=_table(found),
    )


def notes(analysis: Analysis) -> list[str]:
    """Returns the notes below the tables of the terminal."""
    return [story(held) for held in largest(analysis.devices)]


SECTION = Section("devices", exhibits, tables=tables, notes=notes)
