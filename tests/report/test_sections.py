"""The list of sections: each has a place wherever it has something to show."""

from __future__ import annotations

import io
from dataclasses import replace

import report_sample as sample
from rich.console import Console
from tonnage.report import sections
from tonnage.report.answer import Answer
from tonnage.report.figures.figure import Column, Table, text_column
from tonnage.report.page import render, render_answer
from tonnage.report.sections.section_type import Section
from tonnage.report.terminal import print_answer


def _shows_on_a_terminal(section: Section) -> bool:
    nothing = Section("nothing")
    return section.points is not nothing.points or section.tables is not nothing.tables


def test_each_section_has_a_name_of_its_own_and_each_with_tables_a_place_on_the_terminal() -> None:
    names = [section.name for section in sections.SECTIONS]
    assert len(set(names)) == len(names)
    assert {section.name for section in sections.SECTIONS if _shows_on_a_terminal(section)} == set(sections._TERMINAL)


def test_the_terminal_leaves_no_section_out() -> None:
    assert {section.name for section in sections.of_terminal()} == {section.name for section in sections.SECTIONS}


def test_a_column_is_headed_with_its_unit_and_stands_on_its_side() -> None:
    table = Table.of((text_column("what"), Column("from", "s"), "rate"), (("a", "1", "2"), ("longer", "10", "2 MB/s")))
    answer = Answer("Title", (), (), (), (("A table", table),), ())
    file = io.StringIO()
    print_answer(answer, Console(file=file, width=80))
    assert [line.rstrip() for line in file.getvalue().splitlines()[1:4]] == [
        "what    from (s)    rate",
        "a              1       2",
        "longer        10  2 MB/s",
    ]
    assert '<th scope="col">from (s)</th>' in render_answer(answer)


def test_what_is_beyond_the_load_line_is_told_only_where_there_is_one() -> None:
    told = "Beyond the load line throughput stays"
    whole, source = sample.whole()
    assert told in render(whole, source)
    none = tuple(replace(line, reached=False, tasks=None, plateau_bytes_per_s=None) for line in whole.load_lines)
    for lines in (none, ()):
        assert told not in render(replace(whole, load_lines=lines), source)
