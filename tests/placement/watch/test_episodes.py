"""An episode begins and ends with two looks in a row; what is not known does neither."""

from __future__ import annotations

from random import Random

from tonnage.placement.watch.episodes import MOST_USERS, Episode, Event, Tracker
from tonnage.placement.watch.observation import RunningJobs, ServerObservation, UserJobs

from .observations import ANN, BOB, EVERY_S, LONGEST_S, NOON_S, Clock, Looks, kinds, saw


def test_an_episode_begins_at_the_first_of_two_looks_above_the_line_and_ends_at_the_first_of_two_that_are_not() -> None:
    looks = Looks()
    assert looks(7, 8, 9) == []
    (began,) = looks(10)
    assert (began.kind, began.at_s, began.since_s) == ("began", NOON_S + 120, NOON_S + 90)
    assert looks(9, 12, 8) == []
    (ended,) = looks(3)
    assert (ended.kind, ended.since_s, ended.until_s, ended.lasted_s) == ("ended", NOON_S + 90, NOON_S + 210, 120.0)
    episode = looks.tracker.ended
    assert episode is not None and (episode.most, episode.line, looks.tracker.episodes) == (12, 8, 1)


def test_as_many_tasks_as_the_line_are_not_above_it() -> None:
    assert Looks()(8, 8, 8, 8) == []


def test_a_load_that_flaps_at_every_look_begins_no_episode_and_ends_none() -> None:
    looks = Looks()
    assert looks(*[9, 7] * 20) == []
    assert kinds(looks(9, 9)) == ["began"]
    assert looks(*[7, 9] * 20) == []
    assert kinds(looks(7, 7)) == ["ended"]


def test_a_failed_look_is_said_once_and_neither_begins_nor_ends_an_episode() -> None:
    looks = Looks()
    assert kinds(looks(9, None, 9, None, None, 9)) == ["unknown", "known", "unknown", "known"]
    assert looks.tracker.episode is None
    assert kinds(looks(9)) == ["began"]
    assert kinds(looks(7, None, 7, None, None)) == ["unknown", "known", "unknown"]
    assert looks.tracker.episode is not None
    (known, ended) = looks(7, 7)
    assert (known.kind, known.above, ended.kind) == ("known", True, "ended")


def test_how_long_an_episode_lasted_is_told_without_what_is_not_known() -> None:
    looks = Looks()
    looks(9, 9, 9, None, None, None, 9)
    (ended,) = looks(7, 7)
    # Seven looks of half a minute, of which three told nothing of the time after them.
    assert ended.lasted_s == 7 * EVERY_S - 3 * EVERY_S


def test_looks_that_are_far_apart_tell_nothing_of_the_time_between_and_are_not_in_a_row() -> None:
    looks = Looks()
    looks(9)
    assert looks(9, every_s=LONGEST_S + 1) == []
    assert kinds(looks(9)) == ["began"]
    looks(9, every_s=3600)
    (ended,) = looks(7, 7)
    assert ended.lasted_s == 2 * EVERY_S


def test_without_a_line_it_is_said_once_and_again_only_after_one_was_known() -> None:
    looks = Looks()
    assert kinds(looks(9, 9, 9, line=None)) == ["no-line"]
    assert kinds(looks(9, 9)) == ["known", "began"]
    # In an episode a line that is gone is unknown: that ends nothing.
    assert kinds(looks(9, 9, line=None)) == ["unknown"]
    assert looks.tracker.episode is not None


def test_a_clock_that_is_set_back_or_forth_changes_no_length() -> None:
    for jump_s in (-86400.0, 86400.0):
        looks = Looks()
        looks(9, 9, 9)
        looks.clock.at_s += jump_s
        looks(9)
        (ended,) = looks(7, 7)
        assert ended.lasted_s == 4 * EVERY_S
        assert ended.since_s == NOON_S + EVERY_S + jump_s
        assert ended.until_s is not None and ended.until_s <= looks.clock.at_s


def test_an_episode_that_another_watch_left_goes_on_and_the_time_between_is_not_known() -> None:
    clock = Clock()
    left = Episode(identity="1", server="rcss1", began_s=NOON_S - 600, seen_s=NOON_S - 300, line=8, most=9.0)
    looks = Looks(clock)
    looks.tracker.resume(left, *clock())
    assert looks(9, 9) == []
    (ended,) = looks(7, 7)
    assert ended.since_s == NOON_S - 600 and looks.tracker.episodes == 0
    assert ended.lasted_s == 300 + 2 * EVERY_S


def test_an_episode_that_was_left_when_the_clock_was_ahead_begins_now() -> None:
    clock = Clock()
    left = Episode(identity="1", server="rcss1", began_s=NOON_S + 9000, seen_s=NOON_S + 9500, line=8, most=9.0)
    looks = Looks(clock)
    looks.tracker.resume(left, *clock())
    (ended,) = looks(7, 7)
    assert ended.since_s == NOON_S and ended.lasted_s == 0


def test_an_episode_keeps_the_most_tasks_of_each_user_and_no_more_users_than_its_bound() -> None:
    tracker = Tracker("rcss1")
    clock = Clock()
    for users in ((ANN, BOB), (ANN,), (UserJobs(user="ann", jobs=1, tasks=9, names=()),)):
        clock.go(EVERY_S)
        tracker.update(saw(9, users=users), *clock(), longest_s=LONGEST_S)
    assert tracker.episode is not None and tracker.episode.users == {"ann": 9, "bob": 3}
    many = tuple(UserJobs(user=f"u{number}", jobs=1, tasks=1, names=()) for number in range(MOST_USERS + 5))
    tracker.episode.add(RunningJobs(users=many))
    assert len(tracker.episode.users) == MOST_USERS and tracker.episode.others == 1


def test_whatever_is_seen_events_alternate_and_lengths_are_never_negative() -> None:
    random = Random(7)
    for _ in range(200):
        looks, events = Looks(), list[Event]()
        for _ in range(60):
            looks.clock.at_s += random.choice([0, 0, 0, 0, -4000, 5000])
            line = random.choice([8, 8, 8, 8, None])
            events += looks(random.choice([None, 7, 9, 9]), line=line, every_s=random.choice([30, 30, 30, 200]))
        edges = [kind for kind in kinds(events) if kind in ("began", "ended")]
        assert edges == (["began", "ended"] * len(edges))[: len(edges)]
        assert all(event.lasted_s is None or event.lasted_s >= 0 for event in events)
        assert all(event.since_s is None or event.since_s <= event.at_s for event in events)


def test_a_look_is_above_where_one_part_alone_is_and_unknown_where_a_part_is_missing() -> None:
    assert ServerObservation(server="a", line=8, load=9.0, missing=("x",)).above is True
    assert ServerObservation(server="a", line=8, load=8.0, missing=("x",)).above is None
    assert ServerObservation(server="a", line=8, load=8.0).above is False
    assert ServerObservation(server="a", load=8.0).above is None
