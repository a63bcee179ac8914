"""Pictures of what the policies made of the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log10
from statistics import median
from typing import Any

from tonnage.report.figures.colours import ALERT, INK, KNEE, LINES
from tonnage.report.figures.figure import EDGE, Exhibit, Figure, Table, Variant, edge_note, layout, level, text_column

from placement_site.outcome import SLOWDOWNS
from placement_site.overload import DAY, Watch
from placement_site.site_model import DAY_S

STEP_S = 600.0
"""The load of a day is drawn as the mean of so long."""
STYLES = {
    "FIFO": (LINES["read"], "solid"),
    "random": (ALERT, "dot"),
    "near": (LINES["mixed"], "solid"),
    "near, caps": (LINES["write"], "solid"),
    "near, caps raised": (KNEE, "dash"),
}
"""Told apart without any colour where they may meet."""
_DRAWN = 6
_Results = dict[str, Any]


def day_of(watch: Watch) -> list[list[float]]:
    """By server: mean tasks in each ten minutes of the day that is drawn."""
    return [_means(series) for series in watch.day]


def _means(series: Sequence[tuple[float, int]]) -> list[float]:
    """Of a step function that begins at the day's begin."""
    steps = round(DAY_S / STEP_S)
    found = [0.0] * steps
    for (since_s, tasks), (until_s, _) in pairwise([*series, (DAY_S, 0)]):
        now_s = since_s
        while tasks and now_s < until_s:
            step = min(steps - 1, int(now_s // STEP_S))
            end_s = min(until_s, (step + 1) * STEP_S)
            if end_s <= now_s:
                break
            found[step] += tasks * (end_s - now_s) / STEP_S
            now_s = end_s
    return [round(mean, 2) for mean in found]


def exhibits(results: _Results) -> tuple[Exhibit, ...]:
    """Returns all sections of the page."""
    return (_day(results), _slowdown(results), _above(results), _makespan(results))


def _policies(results: _Results) -> list[str]:
    return list(dict.fromkeys(outcome["policy"] for outcome in results["outcomes"]))


def drawn_servers(outcomes: Sequence[_Results]) -> list[int]:
    """Those of which a day is drawn: from the one that is longest above its line, where jobs are near their data and
    have no caps, to the middle one."""
    above = next(one for one in outcomes if one["policy"] == "near")["above_by_server"]
    ranked = sorted(range(len(above)), key=lambda server: -above[server])
    places = (round(place * (len(ranked) // 2) / (_DRAWN - 1)) for place in range(_DRAWN))
    return [ranked[place] for place in dict.fromkeys(places)]


def _day(results: _Results) -> Exhibit:
    lines, chosen = results["world"]["lines"], drawn_servers(results["outcomes"])
    return Exhibit(
        identifier="day",
        title="Load against the line over a day",
        introduction=f"Tasks that read from a server on day {DAY + 1} of the first draw, means of ten minutes, under "
        "each policy. Where a curve is absent nobody reads. The first server is the one that is longest above its line "
        "with jobs near their data and no caps; the last is the middle one in that order.",
        choice="server",
        variants=tuple(Variant(f"s{server}, line {lines[server]}", (_day_of(results, server),)) for server in chosen),
    )


def _day_of(results: _Results, server: int) -> Figure:
    line, series = results["world"]["lines"][server], {name: day[str(server)] for name, day in results["day"].items()}
    hours = [round((step + 0.5) * STEP_S / 3600, 3) for step in range(round(DAY_S / STEP_S))]
    traces = [_curve(name, hours, [mean if mean >= 0.1 else None for mean in day]) for name, day in series.items()]
    most = max(line, *(max(day) for day in series.values()))
    told_line = f"{line} task{'s' if line > 1 else ''}"
    told = "; ".join(f"{name}: most {max(day):,.0f}" for name, day in series.items())
    axis = {"title": "Hour of the day", "range": [0, 24], "tickvals": list(range(0, 25, 3))}
    return Figure(
        title=f"Server s{server}",
        caption=f"Load line: {told_line}. {told}.",
        alt=f"Tasks that read from server s{server} over a day, a curve for each policy, beside its load line. {told}.",
        traces=traces,
        layout=layout(
            axis,
            {
                "title": "Tasks that read",
                "type": "log",
                "range": [-1, log10(most) + 0.1],
                "tickvals": [0.1, 1, 10, 100, 1000],
                "tickformat": "~g",
            },
            height=420,
            margin_right=EDGE,
            shapes=[level(line, INK, "solid")],
            annotations=[edge_note(log10(line), "load line", told_line, INK)],
            showlegend=True,
        ),
        table=Table.of(
            ("hour", *(f"{name}, tasks" for name in series)),
            tuple(
                (f"{hour}", *(f"{sum(day[hour * 6 : hour * 6 + 6]) / 6:,.1f}" for day in series.values()))
                for hour in range(24)
            ),
        ),
    )


def _curve(name: str, x: Sequence[float], y: Sequence[float | None], **more: Any) -> dict[str, Any]:
    colour, dash = STYLES[name]
    line = {"color": colour, "dash": dash, "width": 2}
    return {"x": list(x), "y": list(y), "mode": "lines", "name": name, "line": line, **more}


def _slowdown(results: _Results) -> Exhibit:
    shares = {
        policy: [
            median(one["slower_share"][place] for one in results["outcomes"] if one["policy"] == policy)
            for place in range(len(SLOWDOWNS))
        ]
        for policy in _policies(results)
    }
    traces = [
        _curve(name, SLOWDOWNS, [100 * share if share >= 1e-4 else None for share in every])
        for name, every in shares.items()
    ]
    marks = (2, 5, 10, 100, 1000)
    rows = []
    for mark in marks:
        place = min(range(len(SLOWDOWNS)), key=lambda one: abs(log10(SLOWDOWNS[one] / mark)))
        rows.append((f"{SLOWDOWNS[place]:,.1f}", *(f"{100 * shares[name][place]:.2f} %" for name in shares)))
    figure = Figure(
        title="Share of jobs that are slower",
        caption="Slowdown is the time from a job's submission to its end ÷ what it takes alone beside its data. Lower "
        "and further left is better. Medians over the draws.",
        alt="For each policy a falling curve: the share of jobs whose slowdown is larger than the value on the axis.",
        traces=traces,
        layout=layout(
            {"title": "Slowdown", "type": "log", "range": [0, 4], "tickvals": [1, 10, 100, 1000, 10000]},
            {
                "title": "Jobs that are slower (%)",
                "type": "log",
                "range": [-2, 2.05],
                "tickvals": [0.01, 0.1, 1, 10, 100],
                "tickformat": "~g",
            },
            height=420,
            showlegend=True,
        ),
        table=Table.of(("slower than", *shares), tuple(rows)),
    )
    return _alone("slowdown", "Slowdown", "How much longer jobs take than alone, their wait included.", figure)


def _above(results: _Results) -> Exhibit:
    first = {one["policy"]: one["above_by_server"] for one in reversed(results["outcomes"])}
    traces, rows = [], []
    names = _policies(results)
    ranked = {name: sorted((100 * share for share in first[name]), reverse=True) for name in names}
    count = len(results["world"]["lines"])
    for name in names:
        traces.append(_curve(name, range(1, count + 1), ranked[name]))
    for rank in sorted({1, *(max(1, round(count * part)) for part in (0.05, 0.1, 0.25, 0.5, 0.75, 1.0))}):
        rows.append((f"{rank}", *(f"{ranked[name][rank - 1]:.1f} %" for name in names)))
    figure = Figure(
        title="Time above the load line, by server",
        caption="Share of the month in which more tasks read from a server than its load line, in the first draw. For "
        "each policy the servers are in the order of that share.",
        alt="For each policy a falling curve over the servers: the share of the month above the load line.",
        traces=traces,
        layout=layout(
            {"title": "Servers, the worst first", "range": [1, count]},
            {"title": "Time above the line (%)", "range": [0, 102]},
            height=420,
            showlegend=True,
        ),
        table=Table.of((text_column("server"), *names), tuple(rows)),
    )
    return _alone("above", "Time above the line", "Beyond its line a server only makes tasks wait, or loses.", figure)


def _makespan(results: _Results) -> Exhibit:
    names, traces = _policies(results), []
    days = {name: [one["makespan_s"] / DAY_S for one in results["outcomes"] if one["policy"] == name] for name in names}
    for name in names:
        colour, _ = STYLES[name]
        marker = {"color": colour, "size": 12, "symbol": "circle-open", "line": {"width": 2}}
        traces.append(
            {"x": days[name], "y": [name] * len(days[name]), "mode": "markers", "marker": marker, "showlegend": False}
        )
    most = max(max(each) for each in days.values())
    draws = max(len(each) for each in days.values())
    month = {
        "type": "line",
        "x0": 30,
        "x1": 30,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": INK, "dash": "dash"},
    }
    figure = Figure(
        title="Makespan",
        caption="From the begin of the month to the end of the last job, a mark for each draw. Dashed: the end of the "
        "month, when the last jobs arrive.",
        alt="For each policy a mark for each draw on an axis of days.",
        traces=traces,
        layout=layout(
            {"title": "Makespan (days)", "range": [0, 1.05 * most]},
            {"title": "", "autorange": "reversed"},
            height=330,
            shapes=[month],
        ),
        table=Table.of(
            ("policy", *(f"draw {number + 1}, days" for number in range(draws))),
            tuple((name, *(f"{day:.1f}" for day in days[name])) for name in names),
        ),
    )
    return _alone("makespan", "Makespan", "When the last of the month's jobs has ended.", figure)


def _alone(identifier: str, title: str, introduction: str, figure: Figure) -> Exhibit:
    return Exhibit(identifier, title, introduction, "", (Variant("", (figure,)),))
