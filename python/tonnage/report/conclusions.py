"""What a run says, in sentences: what its terminal output ends with, and its page, pages of docs and notebooks begin
with."""

from __future__ import annotations

from tonnage.analysis.fixed_cost import NOT_SHOWN
from tonnage.analysis.results import Analysis
from tonnage.report import sentences
from tonnage.report.answer import Told
from tonnage.report.sections import comparisons as compared
from tonnage.report.sections import links, snapshots, tail, tiers


def conclusions(analysis: Analysis) -> list[Told]:
    """The load line of each curve, then what the other kinds of workload were for."""
    return [*load_lines(analysis), *beside(analysis)]


def load_lines(analysis: Analysis) -> list[Told]:
    """One a curve, with the interval of its plateau, its latency objective where there is one, and why it ended."""
    return [
        Told(
            sentences.subject(line.op, line.group),
            line.why,
            tuple(filter(None, (sentences.plateau(line), *sentences.objectives(line), sentences.ended(line)))),
            line.reached,
        )
        for line in analysis.load_lines
    ]


def beside(analysis: Analysis) -> list[Told]:
    """Of links, tiers, snapshots, readers that follow and commands, in the order of the page's sections."""
    found = [Told("", sentence) for sentence in links.story_of(analysis.links)]
    found += [Told("", sentence) for sentence in (tiers.story(analysis.tiers) if analysis.tiers else ())]
    for cost in analysis.snapshots:
        first, *more = snapshots.said(cost)
        found.append(Told("", first, tuple(more), bool(cost.cost.confidence) and cost.cost.verdict != NOT_SHOWN))
    found += [Told("", sentence) for sentence in tail.story(analysis.points)]
    return found + [Told("", compared.sentence(one), sure=bool(one.confidence)) for one in analysis.comparisons]


def text(told: Told) -> str:
    """On one line: ``write: 6 tasks [5, 8] reach …``."""
    name = f"{told.name}: " if told.name else ""
    said = f"{name}{told.sentence}"
    return f"{said}{'' if said.endswith('.') else ';'} {' '.join(told.why)}" if told.why else said
