"""The result of a search, or of company, on one screen: users read the last lines of a probe first. The summary of
:mod:`tonnage.report.terminal`, the page and ``--json`` have all of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tonnage import units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.printable_text import one_line
from tonnage.report import phrases
from tonnage.report.columns import blocks_of, laid_out
from tonnage.report.figures.figure import Column, Table
from tonnage.report.sections import company_matrix, kv_cache, load_line, sentences_of, surface, training
from tonnage.report.sections import findings as findings_section
from tonnage.report.sections import point_table as points
from tonnage.report.sections.section_type import Titled

if TYPE_CHECKING:
    from rich.console import Console

    from tonnage.report.answer import Statement

LINES = 24
"""Of a terminal as they have always been; each of ``WIDTH`` columns at most."""
WIDTH = 80
_TOLD_MOST = 14
"""Lines of the answer, from which what it rests on is left out."""
_FINDINGS_MOST = 5
_ROWS_LEAST = 3
"""Of a table; with fewer it is none."""
_SIDES = 2
"""Curves that stand side by side."""


class Line(NamedTuple):
    """A line of text, which a narrow terminal breaks."""

    text: str
    style: str = ""

    def height(self, width: int) -> int:
        """Lines of the terminal that it takes."""
        return max(1, -(-cell_len(one_line(self.text)) // width))


def print_screen(
    analysis: Analysis, console: Console, report_path: str | Path | None, below: Sequence[str] = ()
) -> None:
    """At most ``LINES`` lines with those that stand ``below``, unless there are so many answers that they alone take
    more."""
    for line in screen(analysis, min(console.width, WIDTH), report_path, below):
        # Never broken by us: a path in two pieces cannot be copied.
        console.print(Text(line.text, style=line.style), soft_wrap=True)


def screen(analysis: Analysis, width: int, report_path: str | Path | None, below: Sequence[str] = ()) -> list[Line]:
    """The lines, from what was measured to what it says. ``below``: lines that will stand below these."""
    most = LINES - _height(map(Line, below), width)
    statements = sentences_of(analysis)
    end = _end(analysis, report_path)
    asked = {sentence for line in analysis.load_lines for sentence in phrases.objectives(line)}
    # Of these kinds they say what limits the answer, or what the cache and the device gave.
    told = (one.sentences(analysis) for one in (surface, kv_cache, training))
    asked |= {why for kind in told for one in kind for why in one.why}
    answer = _answer(statements, asked, width, min(_TOLD_MOST, most - _height(end, width) - 1))
    found = _findings(analysis, statements, width, most - _height((*answer, *end), width) - 2)
    room = most - _height((*answer, *end, *found), width) - 1 - (1 if answer else 0) - (1 if found else 0)
    parts = [_tables(analysis, width, room), found, answer, end]
    lines: list[Line] = []
    for part in parts:
        if part:
            lines += [*([Line("")] if lines else []), *part]
    return lines


def _height(lines: Iterable[Line], width: int) -> int:
    return sum(line.height(width) for line in lines)


def _answer(statements: Sequence[Statement], asked: Collection[str], width: int, most: int) -> list[Line]:
    """Each sentence, what undoes it, what else was ``asked``, and what it rests on where there is room."""
    heads = [
        [
            Line(f"{one.name}: {one.sentence}" if one.name else one.sentence, "bold" if one.sure else "bold yellow"),
            *(Line(f"  but {doubt}", "yellow") for doubt in one.doubts),
            *(Line(f"  {why}") for why in one.why if why in asked),
        ]
        for one in statements
    ]
    short = [line for head in heads for line in head]
    # What an answer rests on matters where it holds.
    whole = [
        line
        for head, one in zip(heads, statements, strict=True)
        for line in (*head, *(Line(f"  {why}") for why in one.why if not one.doubts and why not in asked))
    ]
    return whole if _height(whole, width) <= most else short


def _end(analysis: Analysis, report_path: str | Path | None) -> list[Line]:
    explained = f"{phrases.explained(analysis.findings)}; " if analysis.findings else "More: "
    found = [Line(f"{explained}tonnage report -v {shlex.quote(analysis.run)}")]
    if (state := phrases.state(analysis)) is not None:
        found.insert(0, Line(state, "bold yellow"))
    return [*found, *([Line(f"Report: {report_path}")] if report_path is not None else [])]


def _findings(analysis: Analysis, statements: Sequence[Statement], width: int, room: int) -> list[Line]:
    """A line a code, as many as there is room for, cut where it is too long; not those that stand beside an answer."""
    said = {one.sentence for one in statements}
    beside = {doubt.partition(":")[0] for one in statements for doubt in one.doubts}
    left = [one for one in analysis.findings if one.code not in beside and one.evidence not in said]
    codes = list(dict.fromkeys(one.code for one in left))
    lines, most = [], max(0, min(_FINDINGS_MOST, room))
    for code in codes[:most]:
        several = [one for one in left if one.code == code]
        where = ", ".join(dict.fromkeys(findings_section.on_one_line(one.subject) for one in several[:3]))
        where += ", …" if len(several) > 3 else ""
        lines.append(Line(_cut(f"{code}  {where}: {several[0].evidence}", width), "yellow"))
    if len(codes) > most > 0:
        lines[-1] = Line(_cut(f"… and {', '.join(codes[most - 1 :])}", width), "yellow")
    return lines


def _cut(text: str, width: int) -> str:
    text = one_line(text)
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def _tables(analysis: Analysis, width: int, room: int) -> list[Line]:
    """What was measured, as far as it fits: of one curve its table, of two both side by side, of more the best of each;
    of too many numbers of tasks the ends and those about the answers."""
    if analysis.surfaces:
        named = {units.size(one.transfer_size) for whole in analysis.surfaces for one in whole.sizes if one.reached}
        return _laid_out("", surface.side_by_side(analysis), width, max(room - 1, len(named) + 2), named)
    if (fed := training.screen_table(analysis)) is not None:
        answers = (one.answer for one in analysis.trained if one.answer is not None)
        return _laid_out(*fed, width, room - 1, {str(one.accelerators) for one in answers})
    if (served := kv_cache.screen_table(analysis)) is not None:
        named = {str(one.answer.users) for one in analysis.served if one.answer is not None}
        return _laid_out(*served, width, room - 1, named)
    if (matrix := company_matrix.short_table(analysis)) is not None:
        return _laid_out("", matrix, width, max(room - 1, _ROWS_LEAST), ())
    curves: dict[tuple[str, str], list[Point]] = {}
    for point in analysis.points:
        curves.setdefault((point.op, point.group), []).append(point)
    if not curves:
        return [Line("Nothing was measured.")] if room > 0 else []
    if len(curves) == 1:
        title, whole = load_line.curve(*curves.values())
    elif len(curves) == _SIDES:
        title, whole = _side_by_side(curves)
    else:
        title, whole = points.best(analysis.points)
    return _laid_out(title, whole, width, room - 1 - bool(title), _answered(analysis))


def _laid_out(title: str, whole: Table, width: int, most: int, named: Collection[str]) -> list[Line]:
    """A table in at most so many rows: those whose first cell is ``named`` stay."""
    if most < _ROWS_LEAST:
        return []
    shown = _around(whole, named, most)
    head, *rows = laid_out(blocks_of(_narrowed(shown, width), width)[0])
    if len(shown.rows) < len(whole.rows):
        title = (
            f"{title}{', ' if title else ''}{phrases.number(len(shown.rows))} of {phrases.number(len(whole.rows))} rows"
        )
    return [*([Line(_cut(title, width))] if title else []), Line(head, "dim"), *(Line(row) for row in rows)]


def _answered(analysis: Analysis) -> set[str]:
    """The numbers of tasks that answers name: load lines, and the most that meet an objective of latency."""
    lines = analysis.load_lines
    objectives = (one for line in lines for one in line.latency_lines)
    named = [one.largest if one.load == "tasks" else one.tasks for one in objectives]
    return {str(tasks) for tasks in (*(line.tasks for line in lines), *named) if tasks}


def _narrowed(table: Table, width: int) -> Table:
    """With names cut, in the first column and above the others, that would leave no room for figures."""
    most = width // 2
    columns = tuple(replace(column, name=_cut(one_line(column.name), most)) for column in table.columns)
    return Table(columns, tuple((_cut(one_line(first), most), *rest) for first, *rest in table.rows))


def _side_by_side(curves: Mapping[tuple[str, str], Sequence[Point]]) -> Titled:
    """Two curves, a row for each number of tasks that either has."""
    columns: list[str | Column] = ["tasks"]
    rows: dict[int, list[str]] = {point.tasks: [] for curve in curves.values() for point in curve}
    for (op, group), curve in curves.items():
        columns += [phrases.subject(op, group), "interval", "p99"]
        own = {point.tasks: point for point in curve}
        for tasks, cells in rows.items():
            point = own.get(tasks)
            cells += ["", "", ""] if point is None else _cells(point)
    return "", Table.of(columns, tuple((str(tasks), *rows[tasks]) for tasks in sorted(rows)))


def _cells(point: Point) -> list[str]:
    speed = units.speed(point.median, point.metric)
    return [speed, load_line.interval(point), units.duration(point.latency.get("p99_ns"))]


def _around(table: Table, tasks: Collection[str], most: int) -> Table:
    """Its first row, its last, and of the others those nearest to what the answers name, or to the end."""
    rows = table.rows
    if len(rows) <= most:
        return table
    last = len(rows) - 1
    middle = [at for at, row in enumerate(rows) if row[0] in tasks] or [last]
    distance = [(at not in (0, last), min(abs(at - one) for one in middle)) for at in range(len(rows))]
    kept = sorted(range(len(rows)), key=lambda at: distance[at])[: most - 1]
    return Table(table.columns, tuple(rows[at] for at in sorted(kept)))
