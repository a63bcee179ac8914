"""The sections of a report, one file each. The page, the terminal, the live page and notebooks take their sections from
this list."""

from __future__ import annotations

from dataclasses import replace

from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures.figure import Exhibit
from tonnage.report.page_data import Source
from tonnage.report.sections import (
    application,
    balance,
    command,
    company_matrix,
    comparisons,
    devices,
    files,
    hosts,
    io500,
    kv_cache,
    links,
    load_line,
    mixed,
    nfs,
    over_time,
    percentiles,
    settings,
    sizes,
    snapshots,
    staging,
    surface,
    tail,
    tiers,
    training,
    trials,
    workflow,
)
from tonnage.report.sections import divided_rates as divided
from tonnage.report.sections.section_type import Section

SECTIONS: tuple[Section, ...] = (
    surface.SECTION,
    training.SECTION,
    kv_cache.SECTION,
    company_matrix.SECTION,
    load_line.SECTION,
    io500.SECTION,
    snapshots.SECTION,
    settings.SECTION,
    sizes.SECTION,
    links.SECTION,
    tiers.SECTION,
    staging.SECTION,
    devices.SECTION,
    nfs.SECTION,
    hosts.SECTION,
    mixed.SECTION,
    files.SECTION,
    tail.SECTION,
    command.SECTION,
    application.SECTION,
    workflow.SECTION,
    comparisons.SECTION,
    divided.SECTION,
    balance.SECTION,
    over_time.SECTION,
    percentiles.SECTION,
    trials.SECTION,
)
"""In the order of a page, and of what a run says."""

_TERMINAL = (
    "load line", "mixed", "files", "tail", "workflow", "links", "tiers", "snapshots", "application", "command",
    "comparisons", "devices", "hosts", "divided", "balance", "surface", "company", "training", "kv-cache",
)  # fmt: skip


def of_terminal() -> list[Section]:
    """The same in the order of a terminal, where the end is read first: the most important sections come last."""
    order = {name: place for place, name in enumerate(_TERMINAL)}
    return sorted(SECTIONS, key=lambda section: order.get(section.name, len(order)))


def codes_in_answers(analysis: Analysis) -> frozenset[str]:
    """Codes of findings whose evidence is already part of the answers of this run."""
    return frozenset(
        code for section in SECTIONS if section.tells and section.sentences(analysis) for code in section.tells
    )


def exhibits_of(analysis: Analysis, source: Source) -> tuple[list[Exhibit], list[Exhibit]]:
    """All that a run's page draws: what it found, and the closer look at single records."""
    found, closer = (
        [
            exhibit
            for section in SECTIONS
            if section.is_closer_look == is_closer
            for exhibit in section.exhibits(analysis, source)
        ]
        for is_closer in (False, True)
    )
    return found, closer


def sentences_of(analysis: Analysis) -> list[Statement]:
    """What a run says: what its terminal output ends with, and its page, pages of docs and notebooks begin with."""
    told = [_doubted(told, section, analysis) for section in SECTIONS for told in section.sentences(analysis)]
    if phrases.state(analysis) is not None:  # of a run that is not complete no answer is the last one
        told = [replace(one, sure=False) for one in told]
    if not told and analysis.doubts:
        found = [doubt.finding for doubt in analysis.doubts]
        return [Statement("", "No load line was looked for.", sure=False, doubts=phrases.doubts(found))]
    return told


def _doubted(statement: Statement, section: Section, analysis: Analysis) -> Statement:
    """The statement with the findings that invalidate it."""
    rests_on = [
        (point.op, point.group)
        for point in (analysis.points if analysis.doubts else ())
        if (statement.curve or (point.op, point.group)) == (point.op, point.group)
        and (not section.kinds or point.kind in section.kinds)
    ]
    found = [doubt.finding for doubt in analysis.doubts if doubt.is_about(rests_on)]
    return replace(statement, sure=False, doubts=phrases.doubts(found)) if found else statement


def live_exhibits(analysis: Analysis) -> list[Exhibit]:
    """What the live page draws of a run so far."""
    return [exhibit for section in SECTIONS for exhibit in section.live(analysis)]
