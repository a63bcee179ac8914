"""The summary of a run on a terminal. Plain text on a pipe or with NO_COLOR: the console of rich decides.

The last lines are the answers of the run, for a reader sees the end first. Above them are the most important tables;
the page and ``--json`` have all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.padding import Padding
from rich.text import Text

from tonnage.analysis.results import Finding
from tonnage.analysis.run_analysis import Analysis
from tonnage.printable_text import one_line
from tonnage.report import phrases
from tonnage.report.answers import compare
from tonnage.report.columns import fitting_blocks, laid_out
from tonnage.report.figures.figure import Table
from tonnage.report.published.comparisons import comparisons
from tonnage.report.sections import findings as findings_section
from tonnage.report.sections import of_terminal, sentences_of
from tonnage.report.sections import point_table as points
from tonnage.report.sections.section_type import Titled

if TYPE_CHECKING:
    from rich.console import Console

    from tonnage.analysis.compare.runs import Between
    from tonnage.report.answer import Answer, Statement


ROWS_MOST = 16
"""Rows of one table."""
PUBLISHED_MOST = 24
"""The number of rows of a published table, whose readers look up their own row."""
LINES_MOST = 64
"""Lines of all tables of points together: about a screen."""
ASIDE_MOST = 24
"""Lines of the tables of another section."""
AROUND = 3
"""Lines that a table has besides its rows: title, columns, and the empty one after it."""
GAP = "…"
_VALUE_LEAST = 12
"""Columns of the terminal that a value has at least, of two that stand side by side."""
_LISTED_MOST = 5
"""Findings of one code, and sentences on one kind of table, that a terminal lists."""
_TOLD_MOST = 12
"""Sentences of the answer."""


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

    def tables(self, tables: Sequence[Titled], most: int = ASIDE_MOST) -> None:
        """As many as fit into so many lines, a block each, and how many do not."""
        shown = fitting(tables, most) if tables else []
        for titled in shown:
            self.begin()
            _print_table(self.console, *titled)
        if more := len(tables) - len(shown):
            self.more(more)

    def more(self, number: int) -> None:
        """The lines that were left out."""
        self.line(f"{GAP} and {phrases.number(number)} more: {self._elsewhere} all")

    def line(self, text: str, style: str = "") -> None:
        # Never wrapped: a path in two pieces cannot be copied, and grep wants whole lines.
        self.console.print(Text(text, style=style), soft_wrap=True)


def print_summary(analysis: Analysis, console: Console, report_path: str | Path | None) -> None:
    """Tables, ceilings, findings, and last what the run says and where its report is (None: none was written)."""
    elsewhere = "the page has" if report_path is not None else "--json has"
    blocks = _Blocks(console, elsewhere)
    _print_points(blocks, analysis, elsewhere)
    for section in of_terminal():
        blocks.tables(section.tables(analysis))
        notes = section.notes(analysis)
        for note in notes[:_LISTED_MOST]:
            _print_indented(console, note)
        if len(notes) > _LISTED_MOST:
            blocks.more(len(notes) - _LISTED_MOST)
    for comparison in comparisons(analysis):
        blocks.begin()
        _print_table(console, comparison.title, clipped(comparison.table, PUBLISHED_MOST))
        for number, note in enumerate(comparison.notes, 1):
            _print_indented(console, f"{number}. {note}")
    _print_facts(blocks, analysis)
    _print_findings(blocks, analysis.findings, f"{elsewhere} all")
    if (state := phrases.state(analysis)) is not None:
        blocks.begin()
        blocks.line(state, "bold yellow")
    statements = sentences_of(analysis)
    if statements:
        blocks.begin()
    for one in statements[:_TOLD_MOST]:
        _print_statement(console, one)
    if len(statements) > _TOLD_MOST:
        blocks.more(len(statements) - _TOLD_MOST)
    if report_path is not None:
        blocks.begin()
        blocks.line(f"Report: {report_path}")


def _print_points(blocks: _Blocks, analysis: Analysis, elsewhere: str) -> None:
    """A table a setting; where these are too many, one table with a row a setting."""
    tables = [titled for section in of_terminal() for titled in section.points(analysis)]
    if lines_of(tables) <= LINES_MOST:
        blocks.tables(tables, LINES_MOST)
    else:
        blocks.tables([points.best(analysis.points)])
        blocks.line(f"{phrases.number(len(analysis.points))} points in all: {elsewhere} each of them")
    if not analysis.points:
        blocks.begin()
        blocks.line("Nothing was measured.")


def _print_findings(blocks: _Blocks, findings: Sequence[Finding], others: str) -> None:
    """``others``: where those are that a list leaves out."""
    for item in findings_section.items(findings):
        blocks.begin()
        blocks.console.print(Text.assemble((item.code, "yellow"), f"  {findings_section.on_one_line(item.where)}"))
        for finding in item.listed(_LISTED_MOST):
            _print_indented(
                blocks.console,
                finding.evidence
                if item.alone
                else f"{findings_section.on_one_line(finding.subject)}: {finding.evidence}",
            )
        if more := item.more(_LISTED_MOST):
            _print_indented(blocks.console, f"{more}: {others}")
        for advice in item.advice:
            _print_indented(blocks.console, f"→ {advice}")
    if findings:
        blocks.begin()
        blocks.line(phrases.explained(findings))


def print_between(found: Between, console: Console) -> None:
    """A run against another: cells, what else differs, the verdict."""
    console.print(Text(f"base   {found.base}\nother  {found.other}"), soft_wrap=True)
    for title, content in (
        ("", compare.table(found)),
        (compare.SEARCHED, compare.searches(found)),
        ("What else is different", _side_by_side(compare.differences(found), console.width)),
    ):
        if content.rows:
            console.print()
            _print_table(console, title, content)
    for sentence in filter(None, (compare.divided(found), *compare.beyond(found), *compare.why(found))):
        console.print()
        console.print(Text(sentence), soft_wrap=True)
    console.print()
    _print_statement(console, compare.headline(found))


def _side_by_side(content: Table, width: int) -> Table:
    """With values cut, so that both stand on one line: --json has all of them."""
    names = max((cell_len(name) for name, *_ in content.rows), default=0)
    most = max(_VALUE_LEAST, (width - names) // 2 - 3)
    rows = ((name, *(_cut(one_line(value), most) for value in values)) for name, *values in content.rows)
    return Table(content.columns, tuple(rows))


def _cut(text: str, most: int) -> str:
    return text if cell_len(text) <= most else f"{set_cell_size(text, most - 1).rstrip()}{GAP}"


def print_answer(answer: Answer, console: Console) -> None:
    """Prints tables, then the sentences about them."""
    for title, content in answer.tables:
        if content.rows:
            _print_table(console, title, content)
            console.print()
    for statement in answer.statements:
        _print_statement(console, statement)


def _print_statement(console: Console, statement: Statement) -> None:
    name = f"{statement.name}: " if statement.name else ""
    console.print(
        Text(f"{name}{statement.sentence}", style="bold" if statement.sure else "bold yellow"), soft_wrap=True
    )
    for doubt in statement.doubts:
        _print_indented(console, f"but {doubt}", "yellow")
    for why in statement.why:
        _print_indented(console, why)


def _print_table(console: Console, title: str, content: Table) -> None:
    """Of more columns than the terminal has, in pieces one below the other."""
    if title:
        console.print(Text(title, style="italic"), soft_wrap=True)
    for block in fitting_blocks(content, console.width):
        head, *rows = laid_out(block)
        console.print(Text(head, style="dim"), soft_wrap=True)
        for row in rows:
            console.print(Text(row), soft_wrap=True)


def _print_facts(blocks: _Blocks, analysis: Analysis) -> None:
    if analysis.ceilings or analysis.cost:
        blocks.begin()
    for ceiling, _ in phrases.ceilings(analysis.ceilings):
        blocks.line(f"Ceiling, {ceiling}", "dim")
    if analysis.cost:
        blocks.line(f"Generator's own cost: {phrases.cost(analysis.cost)}", "dim")


def _print_indented(console: Console, text: str, style: str = "") -> None:
    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, 2), expand=False))
    else:
        # A pipe has no width: lines broken there would only be in the way of grep.
        console.print(Text(f"  {text}", style=style), soft_wrap=True)


def clipped(table: Table, most: int = ROWS_MOST) -> Table:
    """Its first rows and its last, where it has more than ``most``: the ends of a sweep are what matters, and what
    holds of all stands last."""
    if len(table.rows) <= most:
        return table
    first = 2 * most // 3
    last = most - first - 1
    left_out = len(table.rows) - first - last
    gap = (f"{GAP} {phrases.number(left_out)} more", *[""] * (len(table.columns) - 1))
    return Table(table.columns, (*table.rows[:first], gap, *table.rows[-last:]))


def lines_of(tables: Sequence[Titled]) -> int:
    """The lines that they would take, each clipped."""
    return sum(min(len(content.rows), ROWS_MOST) + AROUND for _, content in tables)


def fitting(tables: Sequence[Titled], most: int) -> list[Titled]:
    """Returns as many of the tables as fit, the first one in any case, each clipped."""
    number = 1
    while number < len(tables) and lines_of(tables[: number + 1]) <= most:
        number += 1
    return [(title, clipped(content)) for title, content in tables[:number]]
