"""Many findings of one code are one item that unfolds, on the page and on the terminal."""

from __future__ import annotations

import dataclasses
import io
import re

import report_sample as sample
from rich.console import Console
from tonnage.analysis.results import Finding
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.summary import summary
from tonnage.report.page import render
from tonnage.report.sections.findings import items
from tonnage.report.terminal import print_summary


def _findings(code: str, number: int) -> list[Finding]:
    return [Finding(code, f"write, size {n}", f"evidence {n}", "Repeat later.") for n in range(number)]


def _with(findings: list[Finding]) -> Analysis:
    return dataclasses.replace(sample.whole()[0], findings=tuple(findings))


def _printed(analysis: Analysis) -> str:
    file = io.StringIO()
    print_summary(analysis, Console(file=file, width=100), None)
    return file.getvalue()


def test_a_few_stand_alone_and_many_stand_where_the_first_of_them_did() -> None:
    found = items([*_findings("stall", 1), *_findings("unsteady", 17), *_findings("holes", 3)])
    assert [(item.code, item.where) for item in found] == [
        ("stall", "write, size 0"),
        ("unsteady", "in 17 places"),
        *(("holes", f"write, size {n}") for n in range(3)),
    ]


def test_the_page_has_one_item_that_unfolds_to_all_and_gives_its_advice_once() -> None:
    analysis, source = _with(_findings("unsteady", 17)), sample.whole()[1]
    section = re.search(r'<section id="findings".*?</section>', render(analysis, source), re.DOTALL)
    assert section
    assert section[0].count("<article") == 1
    assert re.findall(r"evidence (\d+)", section[0]) == [str(n) for n in range(17)]
    assert section[0].count("Repeat later.") == 1


def test_the_page_lists_as_many_as_can_be_read_and_says_how_many_more_there_are() -> None:
    page = render(_with(_findings("damaged-data", 5000)), sample.whole()[1])
    assert "in 5,000 places" in page
    assert page.count("evidence 1") < 200
    assert "and 4,800 more" in page


def test_the_terminal_lists_some_and_says_where_the_others_are() -> None:
    text = _printed(_with(_findings("unsteady", 17)))
    assert "unsteady  in 17 places\n  write, size 0: evidence 0\n" in text
    assert text.count(": evidence") == 5
    assert "  and 12 more: --json has all\n  → Repeat later.\n" in text


def test_the_json_has_every_finding() -> None:
    assert len(summary(_with(_findings("unsteady", 17)), None)["findings"]) == 17
