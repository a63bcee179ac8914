"""``tonnage history --servers``: what watches kept, as text and as JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from tonnage.analysis.figure_texts import some
from tonnage.cli.watch_lines import span_text
from tonnage.placement.answer_types import EpisodeAnswer, HistoryAnswer, MeasuredLine, ServerAnswer
from tonnage.placement.watch.load_report import Busiest, ServerReport, Sum
from tonnage.printable_text import columns, one_line
from tonnage.units import plural, rate_text, share

_ROWS = 5
"""Of a table that are shown, the newest or the most."""
_CELL = 24
"""Signs of a name in a table."""
_WIDTH = 80
_HALF = 12
"""Hours in a row of text: those of a day do not fit."""


def answer(found: Sequence[ServerReport], notes: Sequence[str]) -> HistoryAnswer:
    """As ``--json`` prints it."""
    return HistoryAnswer(zone=zone(), servers=tuple(map(_answer_of, found)), notes=tuple(notes))


def zone() -> str:
    """Returns the time zone of this host, now."""
    offset = time.strftime("%z")
    return f"{offset[:3]}:{offset[3:]}"


def text(report: ServerReport) -> str:
    """Describes one server, within 80 columns."""
    parts = [_headline(report), *_when(report)]
    if report.episodes:
        parts.append(_episodes(report))
    parts.append(_hours(report))
    parts.append(_lines(report))
    return "\n".join(part for part in parts if part)


def _answer_of(report: ServerReport) -> ServerAnswer:
    episodes = [
        EpisodeAnswer(**{one.name: getattr(episode, one.name) for one in fields(EpisodeAnswer)})
        for episode in report.episodes
    ]
    measured = [
        MeasuredLine(**{one.name: getattr(line, one.name) for one in fields(MeasuredLine)}) for line in report.measured
    ]
    return ServerAnswer(
        server=report.server,
        from_s=report.from_s,
        until_s=report.until_s,
        sum=report.sum,
        share_above=report.sum.share,
        hours=report.hours,
        busiest=report.busiest,
        episodes=tuple(episodes),
        users=report.users,
        lines=report.lines,
        measured=tuple(measured),
        stated=report.stated,
    )


def _headline(report: ServerReport) -> str:
    known_s, unknown_s = report.sum.known_s, report.sum.unknown_s
    watched_s = known_s + unknown_s
    known = f", {share(known_s / watched_s)} of it known" if watched_s else ""
    between = f"{_date(report.from_s)} to {_date(report.until_s)}"
    return f"{_cut(report.server)}, {between}\n  watched for {span_text(watched_s)}{known}"


def _when(report: ServerReport) -> list[str]:
    """The sentences that matter."""
    line = _of_line(report)
    if report.sum.share is None:
        return [f"  whether it was above its line{line} is not known"]
    if not report.sum.above_s and not report.episodes:
        return [f"  it was never above its line{line}"]
    above = f"{share(report.sum.share)} of the known time: {span_text(report.sum.above_s)}"
    lines = [f"  above its line{line} for {above}, {plural(len(report.episodes), 'episode')}"]
    if report.busiest is not None:
        lines.append(f"  {_busiest(report.busiest)}")
    longest = report.longest
    if longest is not None:
        ends = "it goes on, or its end was not seen" if longest.ended_s is None else f"until {_date(longest.ended_s)}"
        lines.append(f"  longest: {span_text(longest.lasted_s)}, from {_date(longest.began_s)}, {ends}")
    if report.users:
        whose = [f"{_cut(one.user)} {one.episodes} (up to {plural(one.most_tasks, 'task')})" for one in report.users]
        lines += _wrapped("  users in its episodes: ", whose)
    if any(episode.only_own for episode in report.episodes):
        lines.append("  of some of them the scheduler told of your own jobs alone")
    return lines


def _busiest(found: Busiest) -> str:
    stretch = f"between {found.from_hour:02}:00 and {found.until_hour:02}:00"
    if (found.from_hour, found.until_hour) == (0, 24):
        stretch = "all day"
    return f"most {stretch}: above it for {share(found.sum.share or 0.0)} of that time"


def _wrapped(head: str, items: Sequence[str]) -> list[str]:
    """At most five of them, on lines of 80 columns."""
    more = [f"and {len(items) - _ROWS} more"] if len(items) > _ROWS else []
    shown = items[:_ROWS]
    told = [f"{item}," for item in shown[:-1]] + [*shown[-1:], *more]
    lines, line = [], head
    for item in told:
        if len(line) + len(item) > _WIDTH and line.strip() and line != head:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += f"{item} "
    return [*lines, line.rstrip()]


def _cut(name: str) -> str:
    """A name of anybody's, in a table or a sentence."""
    shown = one_line(name)
    return shown if len(shown) <= _CELL else f"{shown[: _CELL - 1]}…"


def _of_line(report: ServerReport) -> str:
    numbers = sorted({one.line for one in report.lines if one.line is not None})
    if not numbers:
        return ""
    return f" of {plural(numbers[0], 'task')}" if len(numbers) == 1 else f" ({numbers[0]} to {numbers[-1]} tasks)"


def _episodes(report: ServerReport) -> str:
    newest = report.episodes[-_ROWS:]
    rows = [
        [
            _date(one.began_s),
            f"{'≥ ' if one.ended_s is None else ''}{span_text(one.lasted_s)}",
            str(one.line),
            _tasks(one.most),
            _cut(some(sorted(one.users, key=lambda user: -one.users[user]), 2)) or "-",
        ]
        for one in reversed(newest)
    ]
    more = len(report.episodes) - len(newest)
    after = f"\n  and {more} before" if more else ""
    return _table([("EPISODE FROM", "LASTED", "LINE", "MOST", "USERS"), *rows], right=(1, 2, 3)) + after


def _hours(report: ServerReport) -> str:
    if report.sum.share is None:
        return ""
    by_hour = {one.hour: one.sum for one in report.hours}
    lines = [f"  by hour of the day ({zone()}): share of the time above its line, mean load"]
    for first in (0, _HALF):
        hours = range(first, first + _HALF)
        sums = [by_hour.get(hour) for hour in hours]
        lines.append("  hour " + "".join(f"{hour:5}" for hour in hours))
        lines.append("  above" + "".join(f"{_percent(one):>5}" for one in sums))
        lines.append("  load " + "".join(f"{'-' if one is None else _tasks(one.mean):>5}" for one in sums))
    return "\n".join(lines)


def _percent(found: Sum | None) -> str:
    return "-" if found is None or found.share is None else f"{100 * found.share:.0f}%"


def _lines(report: ServerReport) -> str:
    """The load lines that counted at each time, and those that were measured or stated."""
    blocks = []
    if report.lines:
        rows = [
            [
                _date(one.from_s),
                _date(one.until_s),
                str(one.line),
                "-" if one.sum.share is None else share(one.sum.share),
                _tasks(one.sum.mean),
                _tasks(one.sum.most),
            ]
            for one in report.lines[-_ROWS:]
        ]
        blocks.append(_table([("LINE FROM", "UNTIL", "LINE", "ABOVE", "MEAN", "MOST"), *rows], right=(2, 3, 4, 5)))
    if report.measured:
        rows = [
            [
                _date(one.measured_at_s),
                str(one.tasks),
                f"[{one.low}, {one.high}]",
                one.operation,
                rate_text(one.plateau_bytes_per_s),
                _cut(one.host),
            ]
            for one in report.measured[-_ROWS:]
        ]
        blocks.append(_table([("MEASURED", "LINE", "INTERVAL", "OF", "PLATEAU", "FROM HOST"), *rows], right=(1, 4)))
    if report.stated is not None:
        blocks.append(f"  stated in the site file: {plural(report.stated, 'task')}")
    return "\n".join(blocks)


def _table(rows: Sequence[Sequence[str]], *, right: Sequence[int]) -> str:
    return "\n".join(f"  {line}" for line in columns(rows, right=right).splitlines())


def _tasks(load: float | None) -> str:
    if load is None:
        return "-"
    return f"{load:.0f}" if load >= 99.95 else f"{load:.1f}".removesuffix(".0")


def _date(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M")
