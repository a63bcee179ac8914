"""Company: what a workload has left of its throughput, and how much longer it waits, beside another one."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.company_costs import CompanyCost, Share
from tonnage.analysis.run_analysis import Analysis
from tonnage.report.answer import Statement
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, escaped, layout, text_column
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_LEFT = [[0.0, "@#b3541e|#e08a52"], [0.5, "@#f3d9c4|#5a3a28"], [1.0, "@#f4f7fa|#16222e"]]
"""The less is left the darker."""
_WAITS = [[0.0, "@#f4f7fa|#16222e"], [0.4, "@#b4d0e7|#1f4a6e"], [1.0, "@#1f5c94|#8fc4ee"]]


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """The matrix, of throughput and of p99, where anything was measured alone as well."""
    if not _compared(analysis):
        return []
    found = analysis.company
    return [
        Exhibit(
            identifier="company",
            title="Who slows whom",
            introduction="A row is measured in turns: alone, and beside each column, which runs at a share of the rate "
            "that it reaches alone.",
            choice="What",
            variants=(
                Variant("throughput", (_matrix(found, "throughput"),)),
                Variant("p99", (_matrix(found, "p99"),)),
            ),
        )
    ]


def _matrix(found: Sequence[CompanyCost], what: str) -> Figure:
    rows = list(dict.fromkeys(_name(one) for one in found))
    columns = list(dict.fromkeys(one.beside for one in found))
    cells = {(_name(one), one.beside): one for one in found}
    shares = [[_share(cells.get((row, column)), what) for column in columns] for row in rows]
    throughput = what == "throughput"
    most = max((share.ratio for line in shares for share in line if share is not None), default=1.0)
    trace: Trace = {
        "type": "heatmap",
        "x": list(map(_narrow, columns)),
        "y": list(map(_narrow, rows)),
        "z": [[None if share is None else float(f"{share.ratio:.3g}") for share in line] for line in shares],
        "text": [[_text(share) for share in line] for line in shares],
        "texttemplate": "%{text}",
        "colorscale": _LEFT if throughput else _WAITS,
        "zmin": 0.0 if throughput else 1.0,
        "zmax": 1.0 if throughput else max(2.0, most),
        "hovertemplate": "%{y}<br>%{x}<br>%{text}<extra></extra>",
        # Each cell has its figure.
        "showscale": False,
    }
    return Figure(
        title="Throughput beside company ÷ alone" if throughput else "p99 beside company ÷ alone",
        caption="Each cell: the ratio and its 95 % interval.",
        alt="Matrix of what company costs. " + " ".join(one.text for one in sentences_of(found)),
        traces=[trace],
        layout=layout(
            {"title": "Beside", "type": "category", "showgrid": False},
            {"title": "Measured", "type": "category", "autorange": "reversed", "showgrid": False},
            height=200 + 64 * len(rows),
        ),
        table=_table(found),
    )


def _narrow(name: str) -> str:
    """A name on several lines, for a small screen."""
    return escaped(name).replace("-", "-<br>").replace("@", "<br>@")


def tables(analysis: Analysis) -> list[Titled]:
    """Returns the table for the terminal."""
    found = [one for one in analysis.company if one.rate is not None or one.tasks is not None]
    return [("Beside company", _table(found))] if found else []


def short_table(analysis: Analysis) -> Table | None:
    """For a screen; None where nothing was measured alone and beside company."""
    if not _compared(analysis):
        return None
    columns = (text_column("measured"), text_column("beside"), "keeps", "interval", "p99 ×", text_column("interval"))
    rows = tuple(
        (_name(one), one.beside, *_kept_cells(one.rate), _ratio(one.p99), _interval(one.p99))
        for one in analysis.company
    )
    return Table.of(columns, rows)


def _kept_cells(rate: Share | None) -> tuple[str, str]:
    return (units.NOT_MEASURED, units.NOT_MEASURED) if rate is None else (units.share(rate.ratio), _percents(rate))


def _percents(share: Share) -> str:
    if share.low is None or share.high is None:
        return units.NOT_MEASURED
    return f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _table(found: Sequence[CompanyCost]) -> Table:
    columns = (
        text_column("measured"),
        text_column("beside"),
        "alone",
        "beside it",
        "÷ alone",
        "interval",
        "p99 ÷ alone",
        text_column("its interval"),
        "company reached",
        "n",
    )
    rows = tuple(
        (
            _name(one),
            one.beside,
            units.speed(one.alone, one.metric),
            units.speed(one.median, one.metric),
            _ratio(one.rate),
            _interval(one.rate),
            _ratio(one.p99),
            _interval(one.p99),
            units.share(one.reached),
            str(one.blocks),
        )
        for one in found
    )
    return Table.of(columns, rows)


def sentences(analysis: Analysis) -> list[Statement]:
    """One for each workload that was measured beside company."""
    return sentences_of(analysis.company)


def sentences_of(found: Sequence[CompanyCost]) -> list[Statement]:
    """Returns the sentences of these."""
    return [
        _statement(name, [one for one in found if _name(one) == name])
        for name in dict.fromkeys(_name(one) for one in found)
    ]


def _statement(name: str, found: Sequence[CompanyCost]) -> Statement:
    why = tuple(
        f"the company {one.beside} reached {units.share(one.reached)} of its offered rate of "
        f"{units.operations(one.offered_operations_per_s)}, its start before each trial included"
        for one in found
        if one.rate is None or not one.at_offered_rate
    )
    if any(one.rate is None and one.tasks is not None for one in found):
        why = (*why, 'it was not measured alone: add "alone" to its beside')
    compared = [one for one in found if one.rate is not None]
    if not compared:
        return Statement(name, f"measured beside {', '.join(one.beside for one in found)}", why)
    first, *rest = [_kept(one, one.rate) for one in compared if one.rate is not None]
    left = "; ".join((f"keeps {first}", *rest)).replace(" beside ", " of its throughput beside ", 1)
    return Statement(name, left, why, sure=all(one.rate and one.rate.confidence for one in compared))


def _kept(one: CompanyCost, rate: Share) -> str:
    """``51 % [50, 53] beside metadata-storm@50%, p99 × 1.97 [1.94, 2.01]``."""
    waits = "" if one.p99 is None else f", p99 × {_ratio(one.p99)}{_bracket(one.p99)}"
    return f"{_percent(rate)} beside {one.beside}{waits}"


def _percent(share: Share) -> str:
    return f"{units.share(share.ratio)} {_percents(share)}" if share.confidence else units.share(share.ratio)


def _bracket(share: Share) -> str:
    if share.low is None or share.high is None:
        return ""
    return f" [{units.ratio(share.low)}, {units.ratio(share.high)}]"


def _name(one: CompanyCost) -> str:
    return one.workload or one.op


def _compared(analysis: Analysis) -> list[CompanyCost]:
    return [one for one in analysis.company if one.rate is not None]


def _share(one: CompanyCost | None, what: str) -> Share | None:
    if one is None:
        return None
    return one.rate if what == "throughput" else one.p99


def _text(share: Share | None) -> str:
    if share is None:
        return units.NOT_MEASURED
    return units.ratio(share.ratio) + (f"<br>{_interval(share)}" if share.confidence else "")


def _ratio(share: Share | None) -> str:
    return units.NOT_MEASURED if share is None else units.ratio(share.ratio)


def _interval(share: Share | None) -> str:
    if share is None or share.low is None or share.high is None:
        return units.NOT_MEASURED
    return units.interval(share.low, share.high, units.ratio)


SECTION = Section("company", exhibits, tables=tables, sentences=sentences, live=exhibits)
