"""A shared device: what theory says of it."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from placement_site.device import Device
from placement_site.world import World

MB = 1e6


def ends(world: World, arrivals: list[tuple[float, float, bool]]) -> dict[int, float]:
    """When each of the (arrival in s, bytes, far) has its bytes."""
    device, found, version = Device(world), {}, 0
    coming = [(at_s, number) for number, (at_s, _, _) in enumerate(arrivals)]
    heapq.heapify(coming)
    while coming or len(device):
        next_s = device.next_end_s()
        if coming and (next_s is None or coming[0][0] <= next_s):
            at_s, number = heapq.heappop(coming)
            device.add(at_s, number, arrivals[number][1], arrivals[number][2])
        else:
            assert next_s is not None
            found.update((job, next_s) for job in device.take_ended(next_s))
        assert device.version > version
        version = device.version
    return found


def small(**changes: float) -> World:
    given = {"single_bytes_per_s": 100 * MB, "line": 4, "crowding": 0.0, "link_bytes_per_s": 150 * MB}
    return World(servers=1, hosts=10, beside=1, **{**given, **changes})  # type: ignore[arg-type]


def test_one_task_gets_what_one_task_gets() -> None:
    assert ends(small(), [(1.0, 300 * MB, False)]) == {0: pytest.approx(4.0)}


def test_tasks_up_to_the_line_do_not_disturb_each_other() -> None:
    found = ends(small(), [(0.0, 100 * MB, False)] * 4)
    assert found == {job: pytest.approx(1.0) for job in range(4)}


def test_tasks_beyond_the_line_share_the_plateau_in_equal_parts() -> None:
    found = ends(small(), [(0.0, 100 * MB, False)] * 8)
    assert found == {job: pytest.approx(2.0) for job in range(8)}


def test_crowding_costs_what_it_says() -> None:
    found = ends(small(crowding=0.1), [(0.0, 100 * MB, False)] * 8)
    assert found == {job: pytest.approx(2.0 * 1.1) for job in range(8)}


def test_far_tasks_share_the_link_and_leave_the_rest_to_the_near() -> None:
    # Two far ones get 75 MB/s each of the link, not the 100 of the device.
    found = ends(small(), [(0.0, 75 * MB, True), (0.0, 75 * MB, True), (0.0, 100 * MB, False)])
    assert found == {job: pytest.approx(1.0) for job in range(3)}


def test_a_task_that_comes_later_takes_its_part_from_then_on() -> None:
    # One task alone on a device that carries one: after 1 s a second one halves its rate.
    found = ends(small(line=1), [(0.0, 200 * MB, False), (1.0, 50 * MB, False)])
    assert found == {1: pytest.approx(2.0), 0: pytest.approx(2.5)}


def test_sojourn_is_that_of_processor_sharing() -> None:
    """M/M/1 with processor sharing: the mean sojourn is the mean service ÷ (1 − load) (Kleinrock 1967)."""
    chance = np.random.default_rng(7)
    load, count = 0.6, 60_000
    arrivals = np.cumsum(chance.exponential(1 / load, count))
    sizes = chance.exponential(100 * MB, count)
    found = ends(small(line=1), [(a, s, False) for a, s in zip(arrivals.tolist(), sizes.tolist(), strict=True)])
    sojourn = np.array([found[job] for job in range(count)]) - arrivals
    assert sojourn.mean() == pytest.approx(1 / (1 - load), rel=0.05)
