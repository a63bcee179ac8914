"""What the terminal says at the end of a run. Plain text on a pipe or with NO_COLOR: the console of rich decides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from tonnage.analysis.results import Analysis, LoadLine, Point
from tonnage.report import sentences, units

if TYPE_CHECKING:
    from rich.console import Console


_WIDTH = 100


def print_summary(analysis: Analysis, console: Console, report_path: str | Path | None) -> None:
    """Table, load lines, ceilings, findings, and where the report is (None: none was written)."""
    for op, group in dict.fromkeys((point.op, point.group) for point in analysis.points):
        table = _table([point for point in analysis.points if (point.op, point.group) == (op, group)])
        # On a narrow terminal lines may wrap: a number that is cut off would be a wrong number.
        wide = console.options.update(width=max(console.width, _WIDTH))
        console.print(Segments(console.render(table, wide)), soft_wrap=True, end="")
        console.print()
    if not analysis.points:
        console.print("Nothing was measured.")
    for line in analysis.load_lines:
        _print_load_line(console, line)
    _print_facts(console, analysis)
    for finding in analysis.findings:
        console.print()
        console.print(Text.assemble((finding.code, "yellow"), f"  {finding.subject}"))
        _print_indented(console, finding.evidence)
        _print_indented(console, f"→ {finding.advice}")
    if report_path is not None:
        console.print()
        # Never wrapped: a path in two pieces cannot be copied.
        console.print(Text(f"Report: {report_path}"), soft_wrap=True)


def _print_load_line(console: Console, line: LoadLine) -> None:
    style = "bold green" if line.reached else "bold yellow"
    console.print(Text(sentences.sentence(line), style=style), soft_wrap=True)
    objective = sentences.objective(line)
    if objective:
        _print_indented(console, objective)


def _print_facts(console: Console, analysis: Analysis) -> None:
    if analysis.ceilings or analysis.cost:
        console.print()
    for entry in analysis.ceilings:
        console.print(Text(f"Ceiling, {sentences.ceiling(entry)}", style="dim"), soft_wrap=True)
    if analysis.cost:
        console.print(Text(f"Generator's own cost: {sentences.cost(analysis.cost)}", style="dim"), soft_wrap=True)


def _print_indented(console: Console, text: str) -> None:
    if console.is_terminal:
        console.print(Padding(Text(text), (0, 0, 0, 2), expand=False))
    else:
        # A pipe has no width: lines broken there would only be in the way of grep.
        console.print(Text(f"  {text}"), soft_wrap=True)


def _table(points: list[Point]) -> Table:
    """One curve. Cache is a column only for reads."""
    reads = any(point.cache_state is not None for point in points)
    title, size = sentences.subject(points[0].op, points[0].group), points[0].transfer_size
    table = Table(
        title=Text(f"{title}, {units.size(size)} transfers" if size else title),
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for name in ("tasks", "median", "interval", "n", "p50", "p99", "max", "CPU/GiB"):
        table.add_column(name, justify="right", no_wrap=True)
    if reads:
        table.add_column("from device", no_wrap=True)
    for point in points:
        cells = [
            str(point.tasks),
            units.speed(point.median, point.metric),
            _interval(point),
            str(point.repetitions),
            *(units.duration(point.latency[key]) for key in ("p50_ns", "p99_ns", "max_ns")),
            units.duration(point.cpu_ns_per_gib or None),
        ]
        table.add_row(*cells, *([Text(_cache(point))] if reads else []))
    return table


def _interval(point: Point) -> str:
    """``[1.88, 1.96]``, in the unit of the median beside it."""
    if not point.confidence:
        return units.NOT_MEASURED
    divisor, _ = units.scale(point.median)
    return f"[{units.significant(point.low / divisor)}, {units.significant(point.high / divisor)}]"


def _cache(point: Point) -> str:
    """``cold, 99.8 %``: the state, and the share of bytes that came from a device."""
    share = point.cache_device_share
    return f"{point.cache_state}, {units.share(share)}" if share is not None else str(point.cache_state or "")
