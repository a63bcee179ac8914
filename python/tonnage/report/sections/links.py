"""Links between hosts: who sends how much to whom, what more streams bring, and what pairs at once get of a link."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage import units
from tonnage.analysis.hosts import nearest
from tonnage.analysis.results import Link
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.colours import step_colour
from tonnage.report.figures.figure import (
    Exhibit,
    Figure,
    Table,
    Variant,
    colour_bar,
    escaped,
    layout,
    legend_text,
    text_column,
)
from tonnage.report.figures.heat import COLOURS
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_WAYS = {"send": "one way", "receive": "one way", "both": "both ways at once"}
_SAME = 0.05
"""Rates this close to each other are called equal."""

_NAMED = 8
"""The most receivers whose cells have room for words."""
_DRAWN = 12
"""The number of flows that a picture can show."""
_TOLD = 2
"""The number of directions that a sentence lists one by one."""


def exhibits(analysis: Analysis, source: Source) -> list[Exhibit]:
    """One section with a matrix for each way of measuring; none where no link was measured."""
    if not analysis.links:
        return []
    variants = []
    for label, links in _matrices(analysis.links):
        drawn = (_matrix(label, links), _over_time(links, source))
        variants.append(Variant(label, tuple(figure for figure in drawn if figure is not None)))
    story = " ".join(story_of(analysis.links)) or "What each host sends to each other one."
    return [Exhibit("links", "Links between hosts", story, "Measured", tuple(variants))]


def tables(analysis: Analysis) -> list[Titled]:
    """Returns a table for each workload: a row a flow, and one for all flows of a trial together."""
    names = dict.fromkeys(link.point.workload for link in analysis.links)
    return [
        (phrases.subject("network", name), _table([link for link in analysis.links if link.point.workload == name]))
        for name in names
    ]


def story_of(links: Sequence[Link]) -> list[str]:
    """What ten streams bring over one, and what pairs at once get, as sentences."""
    return [*_streams(links), *_at_once(links)]


def _matrices(links: Sequence[Link]) -> list[tuple[str, list[Link]]]:
    found: dict[str, list[Link]] = {}
    for link in links:
        setting = link.point.setting
        parts = [link.point.workload, _streams_text(setting["streams"])]
        parts += ["all pairs at once"] if len(setting["pairs"]) > 1 else ["each pair alone"]
        parts += [_WAYS["both"]] if setting["direction"] == "both" else []
        found.setdefault(", ".join(filter(None, parts)), []).append(link)
    return list(found.items())


def _streams_text(streams: int) -> str:
    return units.plural(streams, "stream")


def _matrix(label: str, links: Sequence[Link]) -> Figure:
    """Sender × receiver, as a picture; where a way was measured twice, the better one."""
    best: dict[tuple[str, str], float] = {}
    kept: dict[tuple[str, str], Link] = {}
    for measured, flow in ((link, flow) for link in links for flow in link.flows):
        ends = flow.sender, flow.receiver
        if flow.window_bytes_per_s >= best.get(ends, 0.0):
            best[ends], kept[ends] = flow.window_bytes_per_s, measured
    senders, receivers = (sorted({ends[place] for ends in best}) for place in (0, 1))
    most = max(best.values())
    divisor, unit = units.bit_scale(most)
    rates = [[best.get((sender, receiver)) for receiver in receivers] for sender in senders]
    shown = [["" if rate is None else units.link(rate) for rate in row] for row in rates]
    trace: Trace = {
        "type": "heatmap",
        "x": [escaped(name) for name in receivers],
        "y": [escaped(name) for name in senders],
        "z": [[None if rate is None else 8 * rate / divisor for rate in row] for row in rates],
        "text": shown,
        "customdata": [[_records(kept.get((sender, receiver))) for receiver in receivers] for sender in senders],
        "texttemplate": "%{z:.3g}" if len(receivers) <= _NAMED else "",
        "colorscale": COLOURS,
        "zmin": 0,
        "zmax": 8 * most / divisor,
        "hoverongaps": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "%{y} to %{x}<br>%{text}<br>%{customdata}<extra></extra>",
        "colorbar": colour_bar(unit),
    }
    fast, to = max(best, key=lambda ends: best[ends])
    return Figure(
        title="Who sends how much to whom",
        caption=f"{label}: medians over the repetitions, while all flows of a trial ran.",
        alt=f"Matrix of senders and receivers; the most is {units.link(most)} from {fast} to {to}.",
        traces=[trace],
        layout=layout(
            {"title": "Receiver", "type": "category"},
            {"title": "Sender", "type": "category", "autorange": "reversed"},
            height=170 + 40 * max(3, len(senders)),
        ),
        table=Table.of(
            ("from \\ to", *receivers),
            tuple((sender, *row) for sender, row in zip(senders, shown, strict=True)),
        ),
    )


def _records(link: Link | None) -> str:
    return hover.records(link.point.records) if link else ""


def _over_time(links: Sequence[Link], source: Source) -> Figure | None:
    """Each flow's rate in each of iperf3's intervals, of the trial with the most flows."""
    link = max(links, key=lambda link: (len(link.flows), link.point.median))
    record = nearest(link.point)
    columns = source.series(record)
    if not columns:
        return None
    names = ("start_ns", "end_ns", "task", "bytes")
    rows = [row for row in zip(*(columns[name] for name in names), strict=True) if row[1] > row[0]]
    most = max(moved * 1e9 / (end - start) for start, end, _, moved in rows)
    divisor, unit = units.bit_scale(most)
    traces: list[Trace] = []
    for number, flow in enumerate(link.flows[:_DRAWN]):
        mine = sorted((start, end, moved) for start, end, task, moved in rows if task == number)
        traces.append(
            {
                "x": [(start + end) / 2e9 for start, end, _ in mine],
                "y": [8e9 * moved / (end - start) / divisor for start, end, moved in mine],
                "mode": "lines",
                "line": {"color": step_colour(number, min(len(link.flows), _DRAWN)), "width": 2},
                "name": legend_text(f"{flow.sender} to {flow.receiver}"),
                "hovertemplate": f"%{{x:.1f}} s<br>%{{y:.3g}} {unit}<br>%{{fullData.name}}" + hover.ending(record),
            }
        )
    left_out = len(link.flows) - len(traces)
    return Figure(
        title="Each flow over time",
        caption=f"{record}: while all its flows ran." + (f" {left_out} more are in the table." if left_out else ""),
        alt=f"Rate of each flow of {record} over time, up to {units.link(most)}.",
        traces=traces,
        layout=layout(
            {"title": "Time since all flows ran (s)", "rangemode": "tozero"},
            {"title": f"Received ({unit})", "rangemode": "tozero"},
            showlegend=True,
        ),
        table=_table(links),
    )


def _table(links: Sequence[Link]) -> Table:
    columns = (
        text_column("from"),
        text_column("to"),
        "streams",
        "at once",
        "rate",
        "share",
        "own rate",
        "interval",
        "n",
        "retransmits",
    )
    rows = [row for link in links for row in _rows(link)]
    return Table.of((*columns, "round trip", "CPU from", "CPU to"), tuple(rows))


def _rows(link: Link) -> list[tuple[str, ...]]:
    point, setting = link.point, link.point.setting
    at_once = str(len(setting["pairs"])) + (", both ways" if setting["direction"] == "both" else "")
    bounds = units.interval(point.low, point.high, units.link) if point.confidence else units.NOT_MEASURED
    found: list[tuple[str, ...]] = [
        (
            flow.sender,
            flow.receiver,
            str(setting["streams"]),
            at_once,
            units.link(flow.window_bytes_per_s),
            units.share(flow.window_bytes_per_s / point.median) if not link.alone else units.NOT_MEASURED,
            units.link(flow.bandwidth_bytes_per_s),
            bounds if link.alone else units.NOT_MEASURED,
            str(point.repetitions),
            units.count(flow.retransmits),
            units.duration(flow.rtt_mean_ns),
            units.share(flow.sender_cpu_share),
            units.share(flow.receiver_cpu_share),
        )
        for flow in link.flows
    ]
    if not link.alone:
        own, n = units.link(link.sum_of_own_bytes_per_s), str(point.repetitions)
        rest = (*(units.NOT_MEASURED,) * 4,)
        all_of_them = ("all", "together", str(setting["streams"]), at_once, units.link(point.median))
        found.append((*all_of_them, units.share(1.0), own, bounds, n, *rest))
    return found


def _streams(links: Sequence[Link]) -> list[str]:
    """The fewest streams against the most, of each pair and way that was measured alone with both."""
    by_ends: dict[tuple[str, str, str], list[Link]] = {}
    for link in (link for link in links if link.alone):
        by_ends.setdefault((link.point.workload, link.flows[0].sender, link.flows[0].receiver), []).append(link)
    compared = []
    for measured in by_ends.values():
        few, many = (pick(measured, key=lambda link: link.point.setting["streams"]) for pick in (min, max))
        if few is not many:
            compared.append((few, many))
    if len(compared) <= _TOLD:
        return [_compared(few, many) for few, many in compared]
    gains = [many.point.median / few.point.median for few, many in compared]
    said = f"{_streams_text(compared[0][1].point.setting['streams'])} carry {min(gains):.2f} to {max(gains):.2f} times"
    return [f"Over {len(gains)} ways, {said} the rate of {_streams_text(compared[0][0].point.setting['streams'])}."]


def _compared(few: Link, many: Link) -> str:
    flow, numbers = few.flows[0], [_streams_text(link.point.setting["streams"]) for link in (few, many)]
    return (
        f"From {flow.sender} to {flow.receiver}, {numbers[1]} carry {units.link(many.point.median)} and "
        f"{numbers[0]} {units.link(few.point.median)}{_clearly(few, many)}."
    )


def _clearly(one: Link, other: Link) -> str:
    """Whether two rates differ, as far as their intervals tell."""
    low, high = sorted((one.point, other.point), key=lambda point: point.median)
    if not (low.confidence and high.confidence):
        return ", each by a single repetition" if low.repetitions == 1 else ""
    return "" if high.low > low.high else ": no change shown"


def _at_once(links: Sequence[Link]) -> list[str]:
    """All pairs together against the best of them alone: what each gets of what they share."""
    found = []
    for link in links:
        setting = link.point.setting
        if len(setting["pairs"]) < 2:
            continue
        total = link.point.median
        shares = ", ".join(
            f"{flow.sender} to {flow.receiver} {units.share(flow.window_bytes_per_s / total)}" for flow in link.flows
        )
        text = (
            f"{len(setting['pairs'])} pairs at once with {_streams_text(setting['streams'])} each carry "
            f"{units.link(total)} together ({shares}; fairness {link.fairness or 1.0:.2f})"
        )
        alone = _alone(links, link)
        if alone is not None:
            ratio = total / alone.point.median
            same = abs(ratio - 1) <= _SAME
            pair = f"{alone.flows[0].sender} to {alone.flows[0].receiver}"
            text += f", as much as {pair} alone" if same else f", {ratio:.2g} times what {pair} carries alone"
            text += ": they share one link" if same else ""
        found.append(text + ".")
    return found


def _alone(links: Sequence[Link], together: Link) -> Link | None:
    """The best of its flows where that was measured alone, with as many streams."""
    ends = {(flow.sender, flow.receiver) for flow in together.flows}
    mine = [
        link
        for link in links
        if link.alone
        and link.point.setting["streams"] == together.point.setting["streams"]
        and (link.flows[0].sender, link.flows[0].receiver) in ends
    ]
    return max(mine, key=lambda link: link.point.median, default=None)


def sentences(analysis: Analysis) -> list[Statement]:
    """The same as what the run says."""
    return [Statement("", sentence) for sentence in story_of(analysis.links)]


SECTION = Section("links", exhibits, tables=tables, sentences=sentences, kinds=frozenset({"network"}))
