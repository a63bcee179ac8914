"""Decisions: beside the data, and elsewhere only where that helps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tonnage.placement.choice import Candidate, Decision, NoFileServer, NothingNear, decide, weight
from tonnage.placement.site import Policy
from tonnage.placement.task_caps import Capacity, Demand, Plateau
from tonnage.placement.where import Located

Make = Callable[..., Candidate]


@pytest.fixture
def choose(located: Callable[..., Located], policy: Policy, demand: Demand) -> Callable[..., Decision]:
    def choose(*candidates: Candidate, **given: Any) -> Decision:
        plain = {"located": located(), "policy": policy}
        return decide(given.pop("demand", demand), candidates, **{**plain, **given})

    return choose


def test_a_free_host_beside_the_data_is_taken_and_bound(choose: Any, candidate: Make, far: Make) -> None:
    found = choose(far("c1"), candidate("rcss1"), far("c2"))
    assert (found.hosts, found.bind, found.server) == (("rcss1",), "pin", "rcss1")
    assert [one.host for one in found.considered] == ["rcss1", "c1", "c2"]
    assert "free slot" in found.why[0]


def test_a_short_wait_beside_the_data_beats_a_free_host_elsewhere(choose: Any, candidate: Make, far: Make) -> None:
    full = candidate(busy=8, waiting=7, slot_s=50)
    found = choose(full, far())
    assert found.bind == "pin" and found.hosts == ("rcss1",)
    assert found.considered[0].host == "c1", "the far one would start sooner; it is not preferred yet"


def test_after_a_long_wait_the_best_score_wins(choose: Any, candidate: Make, far: Make) -> None:
    full = candidate(busy=8, waiting=9, slot_s=50)
    found = choose(full, far("c1"), far("c2"))
    assert (found.bind, found.hosts) == ("free", ()), "all hosts elsewhere are alike: the scheduler chooses"
    assert "62 s" in found.why[0]


def test_hosts_elsewhere_that_are_not_alike_are_a_wish(choose: Any, candidate: Make, far: Make) -> None:
    full = candidate(busy=8, waiting=99, slot_s=50)
    found = choose(full, far("c1"), far("slow", bandwidth_bytes_per_s=1e7), far("c2"))
    assert (found.bind, found.hosts) == ("prefer", ("c1", "c2"))


def test_nothing_goes_elsewhere_when_the_server_itself_is_full(choose: Any, candidate: Make, far: Make) -> None:
    load = {"line": 8, "on_server": 8}
    found = choose(candidate(busy=8, waiting=9, slot_s=500, **load), far(**load))
    assert found.bind == "pin"
    assert "load line of 8" in str(found.considered[1].passed_over) or "load line of 8" in str(
        found.considered[0].passed_over
    )


def test_hosts_of_one_server_are_all_named_and_those_of_another_are_not(choose: Any, candidate: Make) -> None:
    found = choose(
        candidate("a1", server="a", on_server=3),
        candidate("a2", server="a", on_server=3, busy=8, slot_s=10),
        candidate("b1", server="b", on_server=5),
    )
    assert (found.server, found.hosts) == ("a", ("a1", "a2"))


def test_a_host_that_is_down_or_too_small_is_passed_over_and_said_so(choose: Any, candidate: Make) -> None:
    found = choose(candidate("a1", problem="it is down"), candidate("a2", slots=2), candidate("a3"), slots=4)
    assert found.hosts == ("a3",)
    assert {one.host: one.passed_over for one in found.considered} == {
        "a1": "it is down",
        "a2": "it has 2 slots, the job takes 4",
        "a3": None,
    }


def test_an_unknown_server_is_an_error_unless_anywhere_will_do(choose: Any, far: Make, located: Any) -> None:
    nowhere = located(servers=(), problem="nothing tells who serves it")
    with pytest.raises(NoFileServer, match="nothing tells"):
        choose(far(server=None), located=nowhere)
    found = choose(far(server=None), located=nowhere, anywhere=True)
    assert (found.bind, found.hosts, found.server) == ("free", (), None)


def test_a_server_with_nothing_beside_it_is_another_error(choose: Any, candidate: Make, far: Make) -> None:
    with pytest.raises(NothingNear, match="rcss1: it is down"):
        choose(candidate(problem="it is down"), far())
    assert choose(candidate(problem="it is down"), far(), anywhere=True).server == "rcss1"
    assert choose(anywhere=True).hosts == ()


def test_striped_data_prefers_and_never_binds(choose: Any, candidate: Make, located: Any) -> None:
    spread = located(striped=True, servers=("oss1", "oss2"))
    found = choose(candidate("oss1", server="oss1"), candidate("oss2", server="oss1"), located=spread)
    assert found.bind == "prefer" and set(found.hosts) == {"oss1", "oss2"}
    assert choose(located=spread).bind == "free"


def test_a_job_that_computes_goes_anywhere_but_away_from_local_data(
    choose: Any, candidate: Make, demand: Demand, located: Any
) -> None:
    computes = replace(demand, io_share=0.02)
    line = Capacity(tasks=8, low=8, high=8, source="measured")
    found = choose(candidate(), demand=computes, copies=50, carried={"rcss1": line})
    assert (found.bind, found.cap) == ("free", None)
    assert choose(candidate(), demand=computes, located=located(local=True)).bind == "pin"


def test_copies_are_capped_at_the_line_and_the_slots_beside_the_data(choose: Any, candidate: Make) -> None:
    line = Capacity(tasks=12, low=10, high=14, source="measured")
    assert choose(candidate(), copies=50, carried={"rcss1": line}).cap == 8
    assert choose(candidate(slots=None), copies=50, carried={"rcss1": line}).cap == 12
    assert choose(candidate(slots=16), copies=50, carried={"rcss1": line}, slots=2).cap == 8
    assert choose(candidate(), carried={"rcss1": line}).cap is None


def test_a_cap_and_a_demand_go_by_the_line_of_the_server_that_is_chosen(choose: Any, candidate: Make) -> None:
    first = Capacity(tasks=1, low=1, high=1, source="measured", servers=("rcss1",))
    plateau = Plateau(tasks=16, bytes_per_s=1600)
    second = replace(first, tasks=16, low=16, high=16, promised=4.0, servers=("rcss2",), plateau=plateau)
    both = (candidate("rcss1", busy=8, waiting=99), candidate("rcss2", server="rcss2", slots=64))
    reads = Demand(bytes=10**9, operations=0, bytes_per_s=200, measured=True)
    found = choose(*both, copies=500, carried={"rcss1": first, "rcss2": second}, demand=reads)
    assert (found.server, found.cap) == ("rcss2", 6)
    assert "rcss2's load line" in found.why[-1] and "each copy asks 2" in found.why[-1]
    assert choose(*both, copies=500, carried={"rcss1": first}).cap is None, (
        "a line of another server is none of its own"
    )


def test_symmetrical_hosts_take_turns_and_the_order_given_does_not_matter(choose: Any, candidate: Make) -> None:
    alike = [candidate(name, server=name, used_at_s=at) for name, at in (("a", 30.0), ("b", 10.0), ("c", 20.0))]
    for _ in range(5):
        random.Random(3).shuffle(alike)
        assert choose(*alike).server == "b"
    emptier = candidate("d", server="d", line=8, on_server=1, used_at_s=50.0)
    fuller = candidate("e", server="e", line=8, on_server=5, used_at_s=0.0)
    assert choose(fuller, emptier).server == "d"


def burst(policy: Policy, located: Located, seed: int) -> tuple[dict[str, int], dict[str, float]]:
    """1,000 submissions in 20 s over 12 servers that hold the same data; nobody sees any of them run meanwhile."""
    random_ = random.Random(seed)
    servers = {f"s{number:02}": random_.choice((4, 8, 16, 32)) for number in range(12)}
    busy = {name: random_.uniform(0, line) for name, line in servers.items()}
    every = [
        Candidate(
            host=name,
            server=name,
            near=True,
            bandwidth_bytes_per_s=1e9,
            latency_s=0.0,
            slots=None,
            line=line,
            on_server=busy[name],
        )
        for name, line in servers.items()
    ]
    got = dict.fromkeys(servers, 0)
    by_name = {one.host: one for one in every}
    for _ in range(1000):
        for one in every:
            one.placed *= weight(0.02, policy.decay / 1e9)
        chosen = decide(Demand(bytes=10**9, operations=0), every, located=located, policy=policy).hosts[0]
        by_name[chosen].placed += 1
        got[chosen] += 1
    whole = 1000 + sum(busy.values())
    fair = {name: whole * line / sum(servers.values()) - busy[name] for name, line in servers.items()}
    return got, fair


@pytest.mark.parametrize("seed", range(5))
def test_a_burst_gives_each_server_its_share(policy: Policy, located: Any, seed: int) -> None:
    got, fair = burst(policy, located(), seed)
    for name, share in fair.items():
        assert got[name] <= share * 1.1 + 1, (name, got, fair)


def test_a_decision_over_12_servers_and_64_other_hosts_takes_little(choose: Any, candidate: Make, far: Make) -> None:
    every = [candidate(f"s{n}", server=f"s{n}", line=8, on_server=n) for n in range(12)]
    every += [far(f"c{n}", line=8) for n in range(64)]
    took = []
    for _ in range(50):
        start = time.perf_counter()
        choose(*every)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.01, f"{min(took) * 1e6 / len(every):.1f} µs a candidate"
