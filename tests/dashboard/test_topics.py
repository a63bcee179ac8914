"""The latest of each topic, and what of it is news to whom; and how often work may be done."""

from __future__ import annotations

import asyncio

import pytest
from tonnage.dashboard import background_thread
from tonnage.dashboard.background_thread import WorkRate
from tonnage.dashboard.topic_store import TopicStore, encode


def topics() -> TopicStore:
    found = TopicStore()
    found.put("a", "1")
    found.put("b", "2")
    found.put("a", "3")
    return found


def test_who_was_away_gets_the_latest_of_each_and_not_what_was_between() -> None:
    assert topics().since(0, ["a", "b"]) == [(2, "b", "2"), (3, "a", "3")]
    assert topics().since(2, ["a", "b"]) == [(3, "a", "3")]
    assert topics().since(3, ["a", "b"]) == []
    assert topics().since(0, ["b", "never told"]) == [(2, "b", "2")]


def test_what_is_no_news_has_no_number() -> None:
    found = topics()
    found.put("a", "3")
    assert found.version == 3


def test_a_topic_that_was_dropped_is_news_when_it_comes_back() -> None:
    found = topics()
    found.drop(["a", "never told"])
    assert found.since(0, ["a", "b"]) == [(2, "b", "2")]
    found.put("a", "3")
    assert found.since(3, ["a", "b"]) == [(4, "a", "3")]


@pytest.mark.parametrize(
    "last", [None, "", "3", "other.3", "{epoch}.", "{epoch}.x", "{epoch}.-1", "{epoch}.٣", "." * 99]
)
def test_an_identifier_of_another_server_or_of_none_has_seen_nothing(last: str | None) -> None:
    found = topics()
    assert found.seen(last and last.replace("{epoch}", found.epoch)) == 0


def test_an_identifier_of_this_server_says_what_was_seen_and_never_more_than_there_is() -> None:
    found = topics()
    assert (found.seen(f"{found.epoch}.2"), found.seen(f"{found.epoch}.99")) == (2, 3)


def test_a_change_wakes_who_waits_and_without_one_the_time_ends_it() -> None:
    async def wait() -> tuple[bool, bool]:
        found = topics()
        waiting = asyncio.create_task(found.wait(20))
        await asyncio.sleep(0)
        found.put("a", "4")
        return await waiting, await found.wait(0.01)

    assert asyncio.run(wait()) == (True, False)


def test_an_event_is_one_line_of_ascii_and_no_number_that_json_has_not() -> None:
    assert encode({"a": "\n\u2028\udcff"}) == '{"a":"\\n\\u2028\\udcff"}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(float("nan"))


def test_what_takes_long_is_done_a_five_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, used = [0.0], [0.0]
    monkeypatch.setattr(background_thread.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(background_thread.time, "thread_time", lambda: used[0])

    def busy() -> str:
        now[0], used[0] = now[0] + 3.0, used[0] + 0.5  # it had to wait for a processor
        return "done"

    work = WorkRate(2.0)
    assert work.is_due() and work.during(busy) == "done"
    now[0] = 3.0 + 249.4
    assert not work.is_due()
    now[0] = 3.0 + 249.6
    assert work.is_due()
    work.during(lambda: None)
    now[0] += 1.9
    assert not work.is_due()
    now[0] += 0.2
    assert work.is_due()
