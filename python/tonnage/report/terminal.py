"""What the terminal says at the end of a run. Plain text on a pipe or with NO_COLOR: the console of rich decides.

The last lines are what the run says, for that is where the eye ends up. Above them stands what it rests on, no more of
it than one looks at: the page and ``--json`` have all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from tonnage import units
from tonnage.analysis.results import Analysis, Finding, Point
from tonnage.report import conclusions, sentences, short
from tonnage.report.answers import compare as between
from tonnage.report.figures import figure
from tonnage.report.published import comparisons as published
from tonnage.report.sections import (
    balance,
    command,
    devices,
    divided,
    files,
    hosts,
    links,
    mixed,
    snapshots,
    tail,
    tiers,
    workflow,
)
from tonnage.report.sections import comparisons as compared
from tonnage.report.sections import findings as grouped

if TYPE_CHECKING:
    from rich.console import Console

    from tonnage.analysis.between import Between
    from tonnage.report.answer import Answer, Told


_WIDEST = 1000
_LISTED_MOST = 5
"""Findings of one code, and sentences on one kind of table, that a terminal lists."""
_TOLD_MOST = 12
"""Sentences of the answer."""
_WORDS = (
    "against", "device", "server", "verdict", "phase", "operation", "hosts", "host", "tier", "job", "where",
    "whose time", "way", "whose", "what", "from", "to", "run", "when", "before", "after", "from device", "stopped", "",
)  # fmt: skip


class _Blocks:
    """Printed one below the other, an empty line between two."""

    def __init__(self, console: Console, elsewhere: str) -> None:
        self.console = console
        self._elsewhere = elsewhere
        self._begun = False

    def begin(self) -> None:
        """The next block."""
        if self._begun:
            self.console.print()
        self._begun = True

    def tables(self, tables: Sequence[short.Titled], most: int = short.ASIDE_MOST) -> None:
        """As many as fit into so many lines, a block each, and how many do not."""
        shown = short.fitting(tables, most) if tables else []
        for titled in shown:
            self.begin()
            _print_table(self.console, _plain(*titled))
        if more := len(tables) - len(shown):
            self.more(more)

    def more(self, number: int) -> None:
        """What was left out."""
        self.line(f"{short.GAP} and {sentences.number(number)} more: {self._elsewhere} all")

    def line(self, text: str, style: str = "") -> None:
        # Never wrapped: a path in two pieces cannot be copied, and grep wants whole lines.
        self.console.print(Text(text, style=style), soft_wrap=True)


def print_summary(analysis: Analysis, console: Console, report_path: str | Path | None) -> None:
    """Tables, ceilings, findings, and last what the run says and where its report is (None: none was written)."""
    elsewhere = "the page has" if report_path is not None else "--json has"
    blocks = _Blocks(console, elsewhere)
    _print_points(blocks, analysis.points, elsewhere)
    for tables, notes in _sections(analysis):
        blocks.tables(tables)
        for note in notes[:_LISTED_MOST]:
            _print_indented(console, note)
        if len(notes) > _LISTED_MOST:
            blocks.more(len(notes) - _LISTED_MOST)
    for comparison in published.comparisons(analysis):
        blocks.begin()
        _print_table(console, _plain(comparison.title, short.clipped(comparison.table, short.PUBLISHED_MOST)))
        for number, note in enumerate(comparison.notes, 1):
            _print_indented(console, f"{number}. {note}")
    _print_facts(blocks, analysis)
    _print_findings(blocks, analysis.findings, f"{elsewhere} all")
    told = conclusions.conclusions(analysis)
    if told:
        blocks.begin()
    for one in told[:_TOLD_MOST]:
        _print_told(console, one)
    if len(told) > _TOLD_MOST:
        blocks.more(len(told) - _TOLD_MOST)
    if report_path is not None:
        blocks.begin()
        blocks.line(f"Report: {report_path}")


def _print_points(blocks: _Blocks, points: Sequence[Point], elsewhere: str) -> None:
    """A table a setting; where these are more than one looks at, one table with a row a setting."""
    tables = _tables(list(points))
    if short.lines_of(tables) <= short.LINES_MOST:
        blocks.tables(tables, short.LINES_MOST)
    else:
        blocks.tables([short.best(points)])
        blocks.line(f"{sentences.number(len(points))} points in all: {elsewhere} each of them")
    if not points:
        blocks.begin()
        blocks.line("Nothing was measured.")


def _sections(analysis: Analysis) -> Iterator[tuple[Sequence[short.Titled], Sequence[str]]]:
    """Tables that a run has besides its points, and what is said to them."""
    yield workflow.tables(list(analysis.points)), ()
    yield links.tables(analysis), ()
    yield tiers.tables(analysis.tiers), ()
    yield snapshots.cost_tables(analysis.snapshots), ()
    yield compared.tables(analysis.comparisons), ()
    yield devices.tables(analysis), [devices.story(held) for held in devices.largest(analysis.devices)]
    yield hosts.tables(analysis), [told for found in hosts.largest(analysis.hosts) for told in hosts.stories(found)]
    yield divided.tables(analysis), divided.notes(analysis)
    yield balance.tables(analysis.balances), [balance.story(one) for one in balance.largest(analysis.balances)]


def _on_one_line(name: str) -> str:
    """A target's name may have newlines."""
    return name.replace("\n", "\\n")


def _print_findings(blocks: _Blocks, findings: Sequence[Finding], others: str) -> None:
    """``others``: where those are that a list leaves out."""
    for item in grouped.items(findings):
        blocks.begin()
        blocks.console.print(Text.assemble((item.code, "yellow"), f"  {_on_one_line(item.where)}"))
        for finding in item.listed(_LISTED_MOST):
            _print_indented(
                blocks.console,
                finding.evidence if item.alone else f"{_on_one_line(finding.subject)}: {finding.evidence}",
            )
        if more := item.more(_LISTED_MOST):
            _print_indented(blocks.console, f"{more}: {others}")
        for advice in item.advice:
            _print_indented(blocks.console, f"→ {advice}")
    if findings:
        blocks.begin()
        blocks.line(sentences.explained(findings))


def print_between(found: Between, console: Console) -> None:
    """A run against another: cells, what else differs, the verdict."""
    console.print(Text(f"base   {found.base}\nother  {found.other}"), soft_wrap=True)
    for title, content in (("", between.table(found)), ("What else is different", between.differences(found))):
        if content.rows:
            console.print()
            _print_table(console, _plain(title, content))
    for told in filter(None, (between.divided(found), *between.beyond(found), *between.why(found))):
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
        _print_told(console, told)


def _print_told(console: Console, told: Told) -> None:
    name = f"{told.name}: " if told.name else ""
    console.print(Text(f"{name}{told.sentence}", style="bold" if told.sure else "bold yellow"), soft_wrap=True)
    for why in told.why:
        _print_indented(console, why)


def _print_table(console: Console, table: Table) -> None:
    """On a narrow terminal lines may wrap: a number that is cut off would be a wrong number."""
    needed = Measurement.get(console, console.options.update(width=_WIDEST), table).maximum
    wide = console.options.update(width=max(console.width, needed))
    console.print(Segments(console.render(table, wide)), soft_wrap=True, end="")


def _tables(points: list[Point]) -> list[short.Titled]:
    """A table for each curve of a stream, then those of the other kinds."""
    streams = [point for point in points if point.kind == "stream"]
    found = [
        _curve([point for point in streams if (point.op, point.group) == curve])
        for curve in dict.fromkeys((point.op, point.group) for point in streams)
    ]
    return found + [titled for section in (mixed, files, tail, snapshots, command) for titled in section.tables(points)]


def _plain(title: str, content: figure.Table) -> Table:
    """A table of the page for the terminal: words to the left, numbers to the right."""
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name in content.columns:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for row in content.rows:
        table.add_row(*map(Text, row))
    return table


def _print_facts(blocks: _Blocks, analysis: Analysis) -> None:
    if analysis.ceilings or analysis.cost:
        blocks.begin()
    for ceiling, _ in sentences.ceilings(analysis.ceilings):
        blocks.line(f"Ceiling, {ceiling}", "dim")
    if analysis.cost:
        blocks.line(f"Generator's own cost: {sentences.cost(analysis.cost)}", "dim")


def _print_indented(console: Console, text: str) -> None:
    if console.is_terminal:
        console.print(Padding(Text(text), (0, 0, 0, 2), expand=False))
    else:
        # A pipe has no width: lines broken there would only be in the way of grep.
        console.print(Text(f"  {text}"), soft_wrap=True)


def _curve(points: list[Point]) -> short.Titled:
    """One curve. Cache is a column only for reads, why a point was not repeated only where that is not as asked."""
    reads = any(point.cache_state is not None for point in points)
    told = any(point.stopped not in (None, "repetitions") for point in points)
    title, size = sentences.subject(points[0].op, points[0].group), points[0].transfer_size
    columns = (
        "tasks",
        "median",
        "interval",
        "n",
        "p50",
        "p99",
        "max",
        "CPU/GiB",
        *(["from device"] if reads else []),
        *(["stopped"] if told else []),
    )
    rows = tuple(
        (
            str(point.tasks),
            units.speed(point.median, point.metric),
            _interval(point),
            str(point.repetitions),
            *sentences.waits(point),
            units.duration(point.cpu_ns_per_gib or None),
            *([sentences.cache(point)] if reads else []),
            *([sentences.stopped(point.stopped)] if told else []),
        )
        for point in points
    )
    return f"{title}, {units.size(size)} transfers" if size else title, figure.Table(columns, rows)


def _interval(point: Point) -> str:
    """``[1.88, 1.96]``, in the unit of the median beside it."""
    if not point.confidence:
        return units.NOT_MEASURED
    divisor, _ = units.scale(point.median)
    found = units.interval(point.low, point.high, lambda value: units.significant(value / divisor), ", ")
    return found if found == units.NOT_KNOWN else f"[{found}]"
