"""What the history says of a server: times, shares, hours, users, lines."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tonnage.cli.server_history import text
from tonnage.placement.site import Line, Server, Site
from tonnage.placement.watch.episodes import Episode
from tonnage.placement.watch.load_report import ServerReport, reports
from tonnage.placement.watch.watch_history import HistoryContent, Span
from tonnage.records.load_line_files import KeptLine

from .observations import NOON_S

DAY_S = 86400
MIDNIGHT_S = int(NOON_S) - 12 * 3600
SITE = Site(server=(Server(name="rcss1", line=Line(tasks=8)),))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def day(number: int, busy: range, *, line: int = 8) -> list[Span]:
    """24 hours, of which those of ``busy`` are above the line for half of the time."""
    found = []
    for hour in range(24):
        load, above_s = (10.0, 1800) if hour in busy else (2.0, 0)
        at_s = MIDNIGHT_S + number * DAY_S + hour * 3600
        row = Span(server="rcss1", at_s=at_s, span_s=3600, line=line, known_s=3600, above_s=above_s, most=load)
        row.load_s = load * 3600
        found.append(row)
    return found


def episode(number: int, began_s: float, lasted_s: float, **users: int) -> Episode:
    end_s = began_s + lasted_s
    found = Episode(identity=str(number), server="rcss1", began_s=began_s, seen_s=end_s, ended_s=end_s, line=8, most=10)
    found.users.update(users)
    return found


def of(spans: list[Span], episodes: list[Episode] = [], *, since_s: float | None = None) -> ServerReport:  # noqa: B006
    kept = HistoryContent(tuple(spans), tuple(episodes), 0)
    (found,) = reports(kept, SITE, [], now_s=MIDNIGHT_S + 90 * DAY_S, since_s=since_s)
    return found


def test_the_share_above_the_line_is_of_the_known_time_and_the_busy_stretch_has_most_of_it() -> None:
    spans = day(0, range(9, 17)) + day(1, range(9, 17))
    spans[3].known_s, spans[3].unknown_s = 0, 3600
    found = of(spans)
    assert found.sum.share == pytest.approx(16 * 1800 / (47 * 3600)) and found.sum.unknown_s == 3600
    assert found.busiest is not None
    # Seven of eight equal hours have 80 % of it.
    assert found.busiest.until_hour - found.busiest.from_hour == 7
    assert found.busiest.sum.share == 0.5 and found.busiest.of_above == pytest.approx(7 / 8)
    assert [one.hour for one in found.hours if one.sum.share] == list(range(9, 17))


def test_a_busy_stretch_goes_over_midnight() -> None:
    spans = day(0, range(22, 24)) + day(1, range(2))
    busiest = of(spans).busiest
    assert busiest is not None and (busiest.from_hour, busiest.until_hour) == (22, 2)
    assert busiest.of_above == 1 and busiest.sum.share == pytest.approx(4 * 1800 / (8 * 3600))


def test_a_server_that_is_above_its_line_at_all_hours_has_no_stretch_but_the_day() -> None:
    busiest = of(day(0, range(24))).busiest
    assert busiest is not None and busiest.until_hour - busiest.from_hour == 20
    assert of(day(0, range(0))).busiest is None


def test_users_are_counted_by_episodes_and_the_longest_episode_is_by_what_is_known() -> None:
    long = episode(1, MIDNIGHT_S, 9000, ann=3)
    long.unknown_s = 8000
    found = of(day(0, range(2)), [long, episode(2, MIDNIGHT_S + 10_000, 2000, ann=6, bob=2)])
    assert [(one.user, one.episodes, one.most_tasks) for one in found.users] == [("ann", 2, 6), ("bob", 1, 2)]
    assert found.longest is not None and found.longest.identity == "2"


def test_what_was_before_since_does_not_count() -> None:
    spans = day(0, range(24)) + day(1, range(0))
    found = of(spans, [episode(1, MIDNIGHT_S, 3600)], since_s=MIDNIGHT_S + DAY_S)
    assert found.sum.above_s == 0 and found.episodes == () and found.from_s == MIDNIGHT_S + DAY_S


def test_each_line_that_held_has_its_time_and_the_measured_ones_their_date() -> None:
    kept = HistoryContent(tuple(day(0, range(9, 17)) + day(1, range(9, 12), line=12)), (), 0)
    line = KeptLine(
        target="nfs:rcss1:/x", operation="read", access="sequential", transfer_size=1 << 20, tasks=12, low=11, high=13,
        plateau_bytes_per_s=1_920_000_000, single_bytes_per_s=1, measured_at_s=MIDNIGHT_S + DAY_S, host="node03",
        run="/r", servers=("rcss1",),
    )  # fmt: skip
    (found,) = reports(kept, SITE, [line], now_s=MIDNIGHT_S + 2 * DAY_S)
    assert [(one.line, one.from_s, one.until_s) for one in found.lines] == [
        (8, MIDNIGHT_S, MIDNIGHT_S + DAY_S),
        (12, MIDNIGHT_S + DAY_S, MIDNIGHT_S + 2 * DAY_S),
    ]
    assert [one.sum.share for one in found.lines] == [8 * 1800 / DAY_S, 3 * 1800 / DAY_S]
    assert [one.tasks for one in found.measured] == [12] and found.stated == 8
    said = text(found)
    assert "2026-11-25 00:00    12  [11, 13]  read  1.92 GB/s  node03" in said
    assert "stated in the site file: 8 tasks" in said


def test_the_text_says_when_it_was_above_its_line_within_80_columns_whatever_names_there_are() -> None:
    spans = [row for number in range(30) for row in day(number, range(9, 17))]
    users = {f"user\x1b[31m{number}-of-a-long-name-{'x' * number}": 100 + number for number in range(40)}
    episodes = [episode(number, MIDNIGHT_S + number * 50_000, 40_000, **users) for number in range(30)]
    said = text(of(spans, episodes))
    assert "above its line of 8 tasks for 17 % of the known time: 5 d 0 h, 30 episodes" in said
    assert "most between 09:00 and 16:00: above it for 50 % of that time" in said
    assert "\x1b" not in said
    assert not [line for line in said.splitlines() if len(line) > 80]


def test_a_server_that_never_was_above_its_line_is_said_to_be_that_and_an_unknown_one_too() -> None:
    assert "it was never above its line of 8 tasks" in text(of(day(0, range(0))))
    unknown = Span(server="rcss1", at_s=MIDNIGHT_S, span_s=300, line=8, unknown_s=300)
    assert "whether it was above its line of 8 tasks is not known" in text(of([unknown]))
