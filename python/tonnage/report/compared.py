"""Settings of a command against the first one: faster, slower, or no change shown."""

from __future__ import annotations

from typing import Any

from tonnage.analysis.compare import FASTER, SLOWER
from tonnage.analysis.results import Analysis, Comparison
from tonnage.report import units
from tonnage.report.figure import KNEE, LINES, MUTED, Exhibit, Figure, Table, Variant, layout, words
from tonnage.report.source import Source

_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
_COLOURS = {FASTER: KNEE, SLOWER: LINES["read"]}


def tables(comparisons: tuple[Comparison, ...]) -> list[tuple[str, Table]]:
    """All comparisons of a run, for the terminal."""
    return [("Against the first setting", _table(comparisons))] if comparisons else []


def story(comparisons: tuple[Comparison, ...]) -> list[str]:
    """A sentence for each comparison."""
    return [sentence(one) for one in comparisons]


def sentence(one: Comparison) -> str:
    """``partition b against partition a: no change shown (1.14 times as long, 95 % interval 0.9 to 1.4); …``."""
    said = f"{one.group} against {one.base}{_at_once(one)}: {one.verdict}"
    times = f"{_ratio(one.ratio)} times as long"
    if not one.confidence:
        return f"{said} ({times}; single runs have no interval); repeat them to know."
    bounds = f"{times}, {units.share(one.confidence)} interval {_ratio(one.low)} to {_ratio(one.high)}"
    more = f"; {one.repetitions_to_decide} repetitions of each would decide" if one.repetitions_to_decide else ""
    return f"{said} ({bounds}){more}."


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:  # noqa: ARG001  (as every section's)
    """One section where a command was run in several settings."""
    if not analysis.comparisons:
        return []
    variants = [
        Variant(label, (_figure([one for one in analysis.comparisons if _side(one) == side]),))
        for side, label in {_side(one): f"{one.base}{_at_once(one)}" for one in analysis.comparisons}.items()
    ]
    introduction = (
        "Elapsed times against the first setting of the campaign file. A change is shown where the whole interval lies "
        "on one side of 1; all verdicts of a workload hold together as often as the interval says."
    )
    return [Exhibit("compared", "Which setting is faster", introduction, "Against", tuple(variants))]


def _side(one: Comparison) -> tuple[str, int]:
    return one.workload, one.tasks


def _at_once(one: Comparison) -> str:
    return f", {one.tasks} at once" if one.tasks > 1 else ""


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else units.significant(value, 2)


def _figure(comparisons: list[Comparison]) -> Figure:
    names = [words(one.group) for one in comparisons]
    traces = [
        {
            "x": [one.ratio for one in comparisons],
            "y": names,
            "mode": "markers",
            "marker": {"size": 10, "color": [_COLOURS.get(one.verdict, MUTED) for one in comparisons]},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [one.high - one.ratio for one in comparisons],
                "arrayminus": [one.ratio - one.low for one in comparisons],
                "color": MUTED,
            },
            "text": [one.verdict for one in comparisons],
            "hovertemplate": "%{y}<br>%{x:.3g} times as long: %{text}<extra></extra>",
            "showlegend": False,
        }
    ]
    told = " ".join(story(tuple(comparisons)))
    return Figure(
        title=f"How many times as long as {comparisons[0].base}",
        caption=told,
        alt=f"A point with its interval for each setting, beside a line at 1. {told}",
        traces=traces,
        layout=layout(
            {"title": "Elapsed time ÷ that of the first setting", "type": "log", **_ticks(comparisons)},
            {"title": "", "autorange": "reversed", "automargin": True},
            height=150 + 34 * max(3, len(comparisons)),
            shapes=[
                {
                    "type": "line",
                    "x0": 1,
                    "x1": 1,
                    "yref": "paper",
                    "y0": 0,
                    "y1": 1,
                    "line": {"color": MUTED, "width": 1.5, "dash": "dash"},
                }
            ],
        ),
        table=_table(tuple(comparisons)),
    )


def _ticks(comparisons: list[Comparison]) -> dict[str, Any]:
    """Round ratios; the kit's own digits where the intervals are narrower than those."""
    low, high = min(1.0, *(one.low for one in comparisons)), max(1.0, *(one.high for one in comparisons))
    ticks = [tick for tick in _TICKS if low / 1.1 <= tick <= high * 1.1]
    return {"tickvals": ticks[:: 1 + len(ticks) // 9], "tickformat": ".3~g"} if len(ticks) > 2 else {}


def _table(comparisons: tuple[Comparison, ...]) -> Table:
    columns = ("what", "elapsed", "n", "against", "its elapsed", "its n", "times as long", "interval", "verdict")
    rows = tuple(
        (
            f"{one.group}{_at_once(one)}",
            units.duration(one.elapsed_ns),
            str(one.repetitions),
            one.base,
            units.duration(one.base_elapsed_ns),
            str(one.base_repetitions),
            _ratio(one.ratio),
            f"{_ratio(one.low)} – {_ratio(one.high)}" if one.confidence else units.NOT_MEASURED,
            one.verdict,
        )
        for one in comparisons
    )
    return Table(columns, rows)
