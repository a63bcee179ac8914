"""What watches keep is bounded, outlives a kill, and belongs to one watch a server."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.placement.watch import watch_history as module
from tonnage.placement.watch.episodes import Episode
from tonnage.placement.watch.watch_history import EPISODES, SPAN_S, SPANS, AlreadyWatched, History, HistoryError, Span

from .observations import NOON_S


def span(number: int, server: str = "rcss1") -> Span:
    """One five minutes after the other."""
    start = int(NOON_S) + number * SPAN_S
    return Span(server=server, at_s=start, span_s=SPAN_S, line=8, known_s=300, above_s=30, load_s=1500, most=9.5)


def episode(number: int, **more: object) -> Episode:
    found = Episode(
        identity=f"{number}", server="rcss1", began_s=NOON_S + number, seen_s=NOON_S + number, line=8, most=9
    )
    return replace(found, **more)  # type: ignore[arg-type]


def test_what_is_added_is_read_again_and_the_newest_line_of_an_episode_counts(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.add([span(0), span(1)], [episode(1, users={"ann": 3})], now_s=NOON_S)
    history.add([], [episode(1, users={"ann": 4}, ended_s=NOON_S + 60), episode(2)], now_s=NOON_S)
    kept = history.read()
    assert kept.spans == (span(0), span(1)) and kept.damaged == 0
    assert [(one.identity, one.ended_s, one.users) for one in kept.episodes] == [
        ("1", NOON_S + 60, {"ann": 4}),
        ("2", None, {}),
    ]
    assert [*history.open_episodes()] == ["rcss1"] and history.open_episodes()["rcss1"].identity == "2"
    history.add([], [episode(2, ended_s=NOON_S + 90)], now_s=NOON_S)
    assert history.open_episodes() == {}


@pytest.mark.parametrize("kept", [1, 7, 60, 100])
def test_half_a_line_that_a_killed_watch_left_is_told_apart_and_costs_no_other(tmp_path: Path, kept: int) -> None:
    history = History(tmp_path)
    history.add([span(0), span(1)], [], now_s=NOON_S)
    whole = (tmp_path / SPANS).read_bytes()
    first = whole.split(b"\n")[0] + b"\n"
    (tmp_path / SPANS).write_bytes(first + whole[len(first) : len(first) + kept])
    assert (history.read().spans, history.read().damaged) == ((span(0),), 1)
    history.add([span(2)], [], now_s=NOON_S)
    assert (history.read().spans, history.read().damaged) == ((span(0), span(2)), 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[]",
        "{}",
        "\0\0\0",
        '{"server":1}',
        json.dumps({**asdict(span(1)), "known_s": -1}),
        json.dumps({**asdict(span(1)), "known_s": 1e99}),
        json.dumps({**asdict(span(1)), "line": "8"}),
        json.dumps({**asdict(span(1)), "at_s": 1.5}),
        "[" * 5000,
    ],
)
def test_whatever_stands_in_a_line_it_is_a_row_or_counts_as_damaged(tmp_path: Path, line: str) -> None:
    history = History(tmp_path)
    history.add([span(0)], [episode(1)], now_s=NOON_S)
    for name in (SPANS, EPISODES):
        with (tmp_path / name).open("a") as file:
            file.write(line + "\n")
    kept = history.read()
    assert (len(kept.spans), len(kept.episodes), kept.damaged) == (1, 1, 2 if line else 0)


def test_rows_are_bounded_and_those_of_old_days_become_hours_before_any_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 900_000)
    monkeypatch.setattr(module, "KEPT_BYTES", 800_000)
    history = History(tmp_path)
    days = 30
    for day in range(days):
        now_s = NOON_S + day * 86400
        history.add([span(day * 288 + number) for number in range(288)], [], now_s=now_s)
        assert (tmp_path / SPANS).stat().st_size < 950_000
    kept = history.read().spans
    assert sum(one.known_s for one in kept) == days * 86400
    assert {one.span_s for one in kept} == {300, 3600}
    newest = [one for one in kept if one.at_s >= NOON_S + (days - 14) * 86400]
    assert {one.span_s for one in newest} == {300}


def test_rows_of_more_servers_than_fit_lose_the_oldest_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 40_000)
    monkeypatch.setattr(module, "KEPT_BYTES", 20_000)
    history = History(tmp_path)
    for number in range(30):
        history.add([span(number, f"fs{server}") for server in range(50)], [], now_s=NOON_S + number * SPAN_S)
    kept = history.read()
    assert (tmp_path / SPANS).stat().st_size < 50_000 and kept.damaged == 0
    assert {one.at_s for one in kept.spans} >= {span(29).at_s, span(28).at_s}
    assert min(one.at_s for one in kept.spans) > span(0).at_s


def test_episodes_are_bounded_and_the_newest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EPISODE_BYTES", 20_000)
    monkeypatch.setattr(module, "KEPT_EPISODE_BYTES", 10_000)
    history = History(tmp_path)
    for number in range(500):
        history.add([], [episode(number), episode(number, ended_s=NOON_S + number)], now_s=NOON_S)
    kept = history.read()
    assert (tmp_path / EPISODES).stat().st_size < 21_000 and kept.damaged == 0
    assert kept.episodes[-1].identity == "499" and all(one.ended_s for one in kept.episodes)


def test_two_watches_of_one_server_cannot_be_and_of_two_servers_can(tmp_path: Path) -> None:
    first, second = History(tmp_path), History(tmp_path)
    with first.locked(["rcss1", "rcss2"]):
        with pytest.raises(AlreadyWatched, match="rcss2 is watched already"), second.locked(["rcss3", "rcss2"]):
            pass
        # What the second one took before it failed is free again.
        with second.locked(["rcss3"]):
            first.add([span(0)], [], now_s=NOON_S)
            second.add([span(0, "rcss3")], [], now_s=NOON_S)
    with second.locked(["rcss1"]):
        assert len(second.read().spans) == 2


def test_a_history_that_cannot_be_written_or_read_says_so(tmp_path: Path) -> None:
    history = History(tmp_path)
    (tmp_path / SPANS).mkdir()
    with pytest.raises(HistoryError, match=r"cannot write .*: Is a directory"):
        history.add([span(0)], [], now_s=NOON_S)
    with pytest.raises(HistoryError, match="cannot read"):
        history.read()


def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tonnage").mkdir()
    (tmp_path / "tonnage").chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(RequestError, match="not safe from other users"):
        History()
