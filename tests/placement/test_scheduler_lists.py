"""The scheduler's lists between submissions: asked once in a while, never older than allowed, each cluster its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from tonnage.cluster.scheduler import ClusterHost, Job
from tonnage.placement.jobs import cancel_jobs
from tonnage.placement.scheduler_lists import Lists, forget_lists

SECOND = 10**9


class Asked:
    """Counts what it is asked, and answers a little more each time."""

    name = "slurm"

    def __init__(self) -> None:
        self.times = 0

    def jobs(self) -> Sequence[Job]:
        self.times += 1
        return [Job(job=str(number), state="running", hosts=("a", "b"), server="rcss1") for number in range(self.times)]

    def hosts(self) -> Sequence[ClusterHost]:
        return [ClusterHost(name="a", up=True, slots=4, queues=("x",)), ClusterHost(name="b", up=False, slots=1)]


@pytest.fixture
def asked() -> Any:
    return Asked()


def test_a_list_is_asked_for_once_while_it_is_young(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now_s=1_000_000.0)
    monkeypatch.setattr("tonnage.placement.scheduler_lists.time.time", lambda: clock.now_s)
    first = Lists(asked, SECOND).jobs()
    clock.now_s += 0.9
    again = Lists(asked, SECOND).jobs()
    assert (again.rows, again.at_s, asked.times) == (first.rows, 1_000_000.0, 1)
    clock.now_s += 0.2
    assert len(Lists(asked, SECOND).jobs().rows) == asked.times == 2
    # A clock that was set back says nothing of the age.
    clock.now_s -= 10
    assert len(Lists(asked, SECOND).jobs().rows) == asked.times == 3


@pytest.mark.parametrize(("word", "times"), [("0", 2), ("99", 1)])
def test_after_a_job_was_ended_the_lists_are_asked_for_again(asked: Any, word: str, times: int) -> None:
    asked.cancel = lambda _job, _copy: None
    forget_lists(asked)
    Lists(asked, 600 * SECOND).jobs()
    cancel_jobs(asked, [word], [Job(job="0", key="k")])
    assert len(Lists(asked, 600 * SECOND).jobs().rows) == asked.times == times


def test_hosts_come_back_as_they_went(asked: Any) -> None:
    told = [asdict(host) for host in asked.hosts()]
    for _ in range(2):
        assert [asdict(host) for host in Lists(asked, 60 * SECOND).hosts().rows] == told


def test_no_age_is_always_as_it_is_now(asked: Any) -> None:
    for times in (1, 2):
        assert len(Lists(asked, 0).jobs().rows) == times


def test_another_cluster_has_lists_of_its_own(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for times, conf in enumerate(("/etc/one.conf", "/etc/other.conf"), 1):
        monkeypatch.setenv("SLURM_CONF", conf)
        assert len(Lists(asked, 60 * SECOND).jobs().rows) == times


def test_what_is_no_list_is_passed_over(asked: Any) -> None:
    lists = Lists(asked, 60 * SECOND)
    lists.jobs()
    place = lists._place
    assert place is not None
    for damage in (b"", b"{", b"[]", b'{"at_s": 0}', b'{"at_s": "x", "names": [], "rows": [[1]]}'):
        for file in place.glob("slurm-jobs-*.json"):
            file.write_bytes(damage)
        before = asked.times
        assert len(lists.jobs().rows) == asked.times == before + 1
