"""What the terminal says at the end of a run. Plain text on a pipe or with NO_COLOR: the console of rich decides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from tonnage.analysis.results import Analysis, Finding, LoadLine, Point
from tonnage.report import (
    balance,
    between,
    command,
    compared,
    devices,
    divided,
    figure,
    files,
    grouped,
    hosts,
    links,
    mixed,
    published,
    sentences,
    snapshots,
    tail,
    tiers,
    units,
    workflow,
)

if TYPE_CHECKING:
    from rich.console import Console

    from tonnage.analysis.between import Between
    from tonnage.report.answer import Answer


_WIDEST = 1000
_LISTED_MOST = 5
"""Findings of one code that a terminal lists."""
_WORDS = (
    "against", "device", "server", "verdict", "phase", "operation", "hosts", "host", "tier", "job", "where",
    "whose time", "way", "whose", "what", "from", "to", "run", "when", "before", "after", "",
)  # fmt: skip


def print_summary(analysis: Analysis, console: Console, report_path: str | Path | None) -> None:
    """Table, load lines, ceilings, findings, and where the report is (None: none was written)."""
    for table in _tables(list(analysis.points)):
        _print_table(console, table)
        console.print()
    if not analysis.points:
        console.print("Nothing was measured.")
    for line in analysis.load_lines:
        _print_load_line(console, line)
    for titled in links.tables(analysis):
        _print_table(console, _plain(*titled))
    for sentence in links.story_of(analysis.links):
        console.print(Text(sentence, style="bold"), soft_wrap=True)
    for titled in tiers.tables(analysis.tiers):
        _print_table(console, _plain(*titled))
    for sentence in tiers.story(analysis.tiers) if analysis.tiers else ():
        console.print(Text(sentence, style="bold"), soft_wrap=True)
    for titled in snapshots.cost_tables(analysis.snapshots):
        _print_table(console, _plain(*titled))
    for sentence in snapshots.story(analysis.snapshots):
        console.print(Text(sentence, style="bold"), soft_wrap=True)
    for titled in compared.tables(analysis.comparisons):
        _print_table(console, _plain(*titled))
    for sentence in compared.story(analysis.comparisons):
        console.print(Text(sentence, style="bold"), soft_wrap=True)
    for titled in devices.tables(analysis):
        _print_table(console, _plain(*titled))
    for held in devices.largest(analysis.devices):
        console.print(Text(devices.story(held)), soft_wrap=True)
    for titled in hosts.tables(analysis):
        console.print()
        _print_table(console, _plain(*titled))
    for found in hosts.largest(analysis.hosts):
        for sentence in hosts.stories(found):
            console.print(Text(sentence), soft_wrap=True)
    for titled in divided.tables(analysis):
        console.print()
        _print_table(console, _plain(*titled))
        for note in divided.notes(analysis):
            _print_indented(console, note)
    for titled in balance.tables(analysis.balances):
        console.print()
        _print_table(console, _plain(*titled))
    for spread in balance.largest(analysis.balances):
        console.print(Text(balance.story(spread)), soft_wrap=True)
    for comparison in published.comparisons(analysis):
        console.print()
        _print_table(console, _plain(comparison.title, comparison.table))
        for number, note in enumerate(comparison.notes, 1):
            _print_indented(console, f"{number}. {note}")
    _print_facts(console, analysis)
    others = "are in the report" if report_path is not None else "are in --json"
    _print_findings(console, analysis.findings, others)
    if report_path is not None:
        console.print()
        # Never wrapped: a path in two pieces cannot be copied.
        console.print(Text(f"Report: {report_path}"), soft_wrap=True)


def _print_findings(console: Console, findings: Sequence[Finding], others: str) -> None:
    """``others``: where those are that a list leaves out."""
    for item in grouped.items(findings):
        console.print()
        console.print(Text.assemble((item.code, "yellow"), f"  {item.where}"))
        for finding in item.listed(_LISTED_MOST):
            _print_indented(console, finding.evidence if item.alone else f"{finding.subject}: {finding.evidence}")
        if more := item.more(_LISTED_MOST):
            _print_indented(console, f"{more}; all {others}")
        for advice in item.advice:
            _print_indented(console, f"→ {advice}")
    if findings:
        console.print()
        console.print(Text(sentences.explained(findings)), soft_wrap=True)


def print_between(found: Between, console: Console) -> None:
    """A run against another: cells, what else differs, the verdict."""
    console.print(Text(f"base   {found.base}\nother  {found.other}"), soft_wrap=True)
    for title, content in (("", between.table(found)), ("What else is different", between.differences(found))):
        if content.rows:
            console.print()
            _print_table(console, _plain(title, content))
    for told in filter(None, (between.divided(found), *between.unpaired(found))):
        console.print()
        console.print(Text(told), soft_wrap=True)
    console.print()
    console.print(Text(between.sentence(found), style="bold"), soft_wrap=True)


def print_answer(answer: Answer, console: Console) -> None:
    """Tables, then what they say."""
    for title, content in answer.tables:
        if content.rows:
            _print_table(console, _plain(title, content))
            console.print()
    for told in answer.told:
        name = f"{told.name}: " if told.name else ""
        console.print(Text(f"{name}{told.sentence}", style="bold" if told.sure else "bold yellow"), soft_wrap=True)
        for why in told.why:
            _print_indented(console, why)


def _print_table(console: Console, table: Table) -> None:
    """On a narrow terminal lines may wrap: a number that is cut off would be a wrong number."""
    needed = Measurement.get(console, console.options.update(width=_WIDEST), table).maximum
    wide = console.options.update(width=max(console.width, needed))
    console.print(Segments(console.render(table, wide)), soft_wrap=True, end="")


def _tables(points: list[Point]) -> list[Table]:
    """A table for each curve of a stream, then those of the other kinds."""
    streams = [point for point in points if point.kind == "stream"]
    found = [
        _table([point for point in streams if (point.op, point.group) == curve])
        for curve in dict.fromkeys((point.op, point.group) for point in streams)
    ]
    return found + [
        _plain(*titled)
        for section in (mixed, files, tail, snapshots, command, workflow)
        for titled in section.tables(points)
    ]


def _plain(title: str, content: figure.Table) -> Table:
    """A table of the page for the terminal: words to the left, numbers to the right."""
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name in content.columns:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for row in content.rows:
        table.add_row(*map(Text, row))
    return table


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
            *(units.duration(point.latency.get(key)) for key in ("p50_ns", "p99_ns", "max_ns")),
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
