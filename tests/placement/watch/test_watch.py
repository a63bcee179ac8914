"""A watch keeps what it saw, goes on where the last one was killed, and shows Prometheus what it knows."""

from __future__ import annotations

import os
import signal
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tonnage.metrics_endpoint import Endpoint
from tonnage.placement.server_load import LoadReader, load_rows
from tonnage.placement.server_metrics import WatchCollector, watch_metric_names
from tonnage.placement.site import Server, Site
from tonnage.placement.watch.watch import Watch
from tonnage.placement.watch.watch_history import History

from .observations import ANN, EVERY_S, NOON_S, Clock, kinds, saw

PAGE = Path(__file__).resolve().parents[3] / "docs" / "watch.md"
SITE = Site(server=(Server(name="rcss1"), Server(name="rcss2")))


class Desk:
    """A watch that is shown looks of two servers."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.history = History(directory)
        self.watch = Watch(LoadReader(SITE, SITE.server), every_s=EVERY_S, history=self.history, clock=self.clock)
        self.watch.resume()

    def __call__(self, *loads: float | None, other: float | None = 0) -> list[str]:
        """The kinds of events."""
        found = []
        for load in loads:
            self.clock.go(EVERY_S)
            seen = [saw(load, users=(ANN,)), saw(other, server="rcss2")]
            found += kinds(self.watch.record(load_rows(SITE, {}, [], {}, now_s=NOON_S), seen))
        return found


def test_an_episode_is_on_disk_when_it_begins_and_when_it_ends_and_rows_when_they_are_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk(9, 9) == ["began"]
    kept = desk.history.read()
    assert [(one.began_s, one.ended_s, one.users) for one in kept.episodes] == [(NOON_S + 30, None, {"ann": 6})]
    assert kept.spans == ()
    desk(*[9] * 10)
    kept = desk.history.read()
    assert [(one.server, one.known_s, one.above_s) for one in kept.spans] == [("rcss1", 270, 270), ("rcss2", 270, 0)]
    assert kept.episodes[0].seen_s == NOON_S + 330
    assert desk(7, 7) == ["ended"]
    assert desk.history.read().episodes[0].ended_s == NOON_S + 390


def test_a_watch_that_ends_keeps_what_is_not_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk(9, 9, 9)
    desk.watch.close()
    kept = desk.history.read()
    assert [one.above_s for one in kept.spans] == [60, 0] and kept.episodes[0].seen_s == NOON_S + 90


def test_a_killed_watch_loses_what_was_not_whole_and_the_next_one_goes_on_with_its_episode(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            Desk(tmp_path)(*[9] * 15)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    clock = Clock(at_s=NOON_S + 450 + 600, tick_s=5.0)
    desk = Desk(tmp_path, clock)
    assert sum(one.above_s for one in desk.history.read().spans) == 270
    assert desk(9, 9, 9) == []
    assert desk(7, 7) == ["ended"]
    (episode,) = desk.history.read().episodes
    assert episode.began_s == NOON_S + 30
    # Known are the time until the row was kept, and that of the looks of the second watch.
    assert episode.lasted_s == 300 + 3 * EVERY_S


def test_what_cannot_be_kept_is_said_and_watching_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "episodes.jsonl").mkdir()
    assert desk(9, 9) == ["began"]
    assert desk.watch.problem is not None and "Is a directory" in desk.watch.problem
    (tmp_path / "episodes.jsonl").rmdir()
    assert desk(7, 7) == ["ended"] and desk.watch.problem is None


def scraped(watch: Watch) -> dict[tuple[str, str], float]:
    endpoint = Endpoint(0)
    endpoint.serve_from(WatchCollector(lambda: watch.states))
    try:
        with urllib.request.urlopen(endpoint.address, timeout=10) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
    finally:
        endpoint.close()
    return {(sample.name, sample.labels["server"]): sample.value for family in families for sample in family.samples}


def test_prometheus_is_told_whether_since_when_and_how_often_and_nothing_of_what_is_not_known(tmp_path: Path) -> None:
    above, seconds, episodes = watch_metric_names()
    desk = Desk(tmp_path)
    assert scraped(desk.watch) == {}
    desk(9, 9, 9, other=None)
    assert scraped(desk.watch) == {(above, "rcss1"): 1, (seconds, "rcss1"): 60, (episodes, "rcss1"): 1}
    desk(None)
    assert {server for _, server in scraped(desk.watch)} == {"rcss2"}
    desk(7, 7)
    assert scraped(desk.watch)[above, "rcss1"] == 0 and scraped(desk.watch)[seconds, "rcss1"] == 0
    desk(9, 9)
    assert scraped(desk.watch)[episodes, "rcss1"] == 2


def test_every_name_is_on_the_page() -> None:
    assert not [name for name in watch_metric_names() if f"`{name}`" not in PAGE.read_text()]


@pytest.mark.parametrize(("age_s", "is_adopted"), [(60.0, True), (3600.0, False)])
def test_who_keeps_nothing_knows_since_when_from_a_watch_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_s: float, is_adopted: bool
) -> None:
    desk = Desk(tmp_path)
    desk(9, 9)
    before = (tmp_path / "episodes.jsonl").read_bytes()
    clock = Clock(at_s=desk.clock.at_s + age_s, tick_s=77.0)
    page = Watch(LoadReader(SITE, SITE.server), every_s=5, history=desk.history, clock=clock)
    found = load_rows(SITE, {}, [], {}, now_s=NOON_S)
    monkeypatch.setattr(page, "observe", lambda: (found, [saw(9), saw(0, server="rcss2")]))
    first, second = page.observe_only()
    assert first.since_s == (NOON_S + 30 if is_adopted else None) and second.since_s is None
    monkeypatch.setattr(page, "observe", lambda: (found, [saw(7), saw(0, server="rcss2")]))
    for _ in range(3):
        clock.go(5)
        states = page.observe_only()
    assert not states[0].above and (tmp_path / "episodes.jsonl").read_bytes() == before
