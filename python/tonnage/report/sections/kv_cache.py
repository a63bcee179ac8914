"""Users of an inference server whose key–value cache is on a storage: how many are served, and how long turns take."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage import units
from tonnage.analysis.load_line.users import Served, Serving, UserPoint
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.answer import Statement
from tonnage.report.figures import hover
from tonnage.report.figures.axes import latency_axis, tasks_axis
from tonnage.report.figures.colours import band_colour, line_colour
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, answer_marks, interval_band, layout
from tonnage.report.figures.plotly import Trace
from tonnage.report.page_data import Source
from tonnage.report.sections.section_type import Section, Titled

_DEVICE_LEAST = 0.95
"""Of the bytes read: of fewer from a device the cache of the system answered."""
_LIMITS = {
    "storage": "the storage limits: with more users it moves no more",
    "processors": "the processors of this host limit: the users use nearly all of their time",
}


def exhibits(analysis: Analysis, _: Source | None = None) -> list[Exhibit]:
    """Returns one figure, with a choice of the workload."""
    if not analysis.served:
        return []
    variants = tuple(Variant(one.group or "kv-cache", (_figure(one),)) for one in analysis.served)
    introduction = "The time from the intended start of a turn until what it reads and writes is done."
    return [Exhibit("users", "Users served", introduction, "Workload", variants)]


def _figure(served: Served) -> Figure:
    points = served.points
    numbers = [one.users for one in points]
    colour = line_colour("read")
    drawn = [ns for one in points for ns in one.p95_each_ns] + ([served.answer.p95_ns] if served.answer else [])
    axis = latency_axis(min(drawn), max(drawn), "p95")
    traces: list[Trace] = [
        *interval_band(
            numbers,
            [one.low_ns if one.confidence else one.p95_ns for one in points],
            [one.high_ns if one.confidence else one.p95_ns for one in points],
            band_colour("read"),
        ),
        {
            "x": numbers,
            "y": [one.p95_ns for one in points],
            "mode": "lines+markers",
            "name": "median",
            "line": {"color": colour, "width": 2.5},
            "text": [_hovered(one) for one in points],
            "hovertemplate": "%{text}<extra></extra>",
        },
        {
            "x": [one.users for one in points for _ in one.p95_each_ns],
            "y": [ns for one in points for ns in one.p95_each_ns],
            "mode": "markers",
            "name": "trial",
            "marker": {"color": colour, "size": 6, "opacity": 0.6},
            "text": [units.duration(ns) for one in points for ns in one.p95_each_ns],
            "hovertemplate": "%{x} users<br>%{text}<extra></extra>",
        },
    ]
    answer = served.answer
    if answer is not None:
        interval = (answer.low, answer.high) if answer.shown and answer.low and answer.high else None
        low, high = axis["range"]
        traces += answer_marks("objective", answer.p95_ns, numbers, interval, (10**low, 10**high))
    title = "95th percentile of the turns by the number of users"
    return Figure(
        title=title,
        caption="From the intended start of a turn on. Band: interval of the median."
        + (" Dashed: the objective." if served.answer else ""),
        alt=f"{title}. {_statement(served).text}",
        traces=traces,
        layout=layout({**tasks_axis(numbers), "title": "Users"}, axis, height=420),
        table=_table(served),
    )


def _hovered(one: UserPoint) -> str:
    return "<br>".join(
        (
            units.plural(one.users, "user"),
            f"p95 {units.duration(one.p95_ns)} {_bounds(one)}",
            f"{units.rate(one.bandwidth_bytes_per_s)}, {units.significant(one.turns_per_s)} turns a second",
            hover.records(one.records),
        )
    )


def _bounds(one: UserPoint) -> str:
    if not one.confidence:
        return "[–]"
    return f"[{units.duration(one.low_ns)}, {units.duration(one.high_ns)}]"


def tables(analysis: Analysis) -> list[Titled]:
    """Returns a table for each workload, with a row for each number of users."""
    return [(phrases.subject("serve", one.group), _table(one)) for one in analysis.served]


def _table(served: Served) -> Table:
    columns = ("users", "p95", "interval", "n", "turns/s", "moved", "cache hits", "not begun", "from device")
    rows = tuple(
        (
            str(one.users),
            units.duration(one.p95_ns),
            _bounds(one),
            str(len(one.p95_each_ns)),
            units.significant(one.turns_per_s),
            units.rate(one.bandwidth_bytes_per_s),
            units.NOT_KNOWN if one.found is None else units.share(one.found),
            units.share(one.unserved),
            units.NOT_KNOWN if one.device_share is None else units.share(one.device_share),
        )
        for one in served.points
    )
    return Table.of(columns, rows)


def screen_table(analysis: Analysis) -> Titled | None:
    """What a search measured, for one screen; None where the run is no search for users."""
    searched = [one for one in analysis.served if one.answer is not None]
    if not searched:
        return None
    return "", _table(searched[0]).only(range(6))


def sentences(analysis: Analysis) -> list[Statement]:
    """Returns a sentence for each workload."""
    return [_statement(one) for one in analysis.served]


def _statement(served: Served) -> Statement:
    curve = ("serve", served.group)
    if served.answer is None:
        largest = served.points[-1]
        said = (
            f"95 of 100 turns of {units.plural(largest.users, 'user')} end within {units.duration(largest.p95_ns)} "
            f"{_bounds(largest)} of their intended start{_of_model(served)}"
        )
        return Statement(served.group, said, tuple(_basis(served, largest)), curve=curve)
    answer = served.answer
    near = next((one for one in served.points if one.users == max(answer.users, 1)), served.points[0])
    limit = (_LIMITS[answer.limit],) if answer.limit else ()
    why = (*limit, *_basis(served, near))
    return Statement(served.group, _answered(served, answer), why, sure=answer.shown and _is_cold(near), curve=curve)


def _answered(served: Served, answer: Serving) -> str:
    within = f"within {units.time_text(answer.p95_ns)} at p95{_of_model(served)}"
    if answer.shown and answer.high == 0:
        first = served.points[0]
        return f"does not serve one user {within}: its turns take {units.duration(first.p95_ns)} {_bounds(first)}"
    if answer.high is None:
        known = (
            f"serves at least {units.plural(answer.low, 'user')}"
            if answer.low
            else "not shown how many users are served"
        )
        more = ", the most that were tried" if answer.low == answer.most else "; a longer budget may show how many more"
        return f"{known} {within}{more}"
    if not answer.low and not answer.shown:
        return f"not shown how many users are served {within}: at most {answer.high}; a longer budget may show it"
    noun = "user" if answer.users == 1 else "users"
    return f"serves {answer.users} {noun} [{answer.low}, {answer.high}] {within}"


def _of_model(served: Served) -> str:
    scale = f" with tokens of {served.scale:g} times their size" if served.scale != 1 else ""
    return f", {served.model}{scale}" if served.model else scale


def _basis(served: Served, near: UserPoint) -> Iterator[str]:
    yield (
        f"a turn every {units.time_text(served.think_ns)} of each user, conversations of up to "
        f"{units.size_text(served.conversation_bytes)}, {units.size_text(served.token_bytes)} a token"
    )
    if near.found is not None and near.found < 1:
        yield f"the cache held {units.share(near.found)} of the conversations that went on; others were written anew"
    if near.device_share is None:
        yield "how much of what was read came from a device is not known here"
    elif not _is_cold(near):
        yield f"only {units.share(near.device_share)} of what was read came from a device, the rest from memory"
    else:
        yield f"{units.share(near.device_share)} of what was read came from a device"


def _is_cold(one: UserPoint) -> bool:
    return one.device_share is None or one.device_share >= _DEVICE_LEAST


SECTION = Section(
    "kv-cache", exhibits, tables=tables, sentences=sentences, kinds=frozenset({"kv-cache"}), live=exhibits
)
