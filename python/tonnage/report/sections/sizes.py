"""Sweeps over transfer sizes: what bounds each size, and which sizes and numbers of tasks go together."""

from __future__ import annotations

from tonnage.analysis.results import Analysis
from tonnage.analysis.sizes import sweeps_of
from tonnage.report import sentences
from tonnage.report.figures.figure import Exhibit, Variant
from tonnage.report.sections import roofline, size_map

_INTRODUCTION = (
    "A rate of operations bounds small transfers, a rate of bytes large ones. The solid roofs are the best that this "
    "run itself reached: the storage may do more."
)


def exhibits(analysis: Analysis) -> list[Exhibit]:
    """One section with a choice for each operation and setting; none where a run has one transfer size."""
    variants = []
    for sweep in sweeps_of(analysis.points):
        drawn = (roofline.figure(sweep, analysis.ceilings), size_map.figure(sweep, analysis.load_lines))
        figures = tuple(figure for figure in drawn if figure is not None)
        variants.append(Variant(sentences.subject(sweep.op, sweep.group), figures))
    if not variants:
        return []
    return [Exhibit("transfer-sizes", "Transfer sizes", _INTRODUCTION, "Operation", tuple(variants))]
