"""A shared device: what theory says of it."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from placement_site.device import Device
from placement_site.measured_curves import Law
from placement_site.site_model import SiteModel
from small_sites import FALLING, MB, small

ONE = Law("one", "made up", (1,), (1.0,))
"""One task has it all."""


def ends(world: SiteModel, arrivals: list[tuple[float, float, bool]]) -> dict[int, float]:
    """When each of the (arrival in s, bytes, far) has its bytes."""
    device, version = Device(world.servers[0], world.link_bytes_per_s), 0
    found: dict[int, float] = {}
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


def near(seconds: float) -> object:
    """A device forgives some kilobytes, which is less than a tenth of a millisecond here."""
    return pytest.approx(seconds, abs=1e-4)


def test_one_task_gets_what_one_task_gets() -> None:
    assert ends(small(), [(1.0, 300 * MB, False)]) == {0: near(4.0)}


def test_tasks_up_to_the_line_do_not_disturb_each_other() -> None:
    assert ends(small(), [(0.0, 100 * MB, False)] * 4) == {job: near(1.0) for job in range(4)}


def test_tasks_beyond_the_line_share_the_plateau_in_equal_parts() -> None:
    assert ends(small(), [(0.0, 100 * MB, False)] * 8) == {job: near(2.0) for job in range(8)}


def test_tasks_beyond_the_line_of_a_curve_that_falls_get_less_together() -> None:
    # Four share 100 MB/s where two had 200; more than were measured do not make it worse.
    assert ends(small(FALLING), [(0.0, 100 * MB, False)] * 4) == {job: near(4.0) for job in range(4)}
    assert ends(small(FALLING), [(0.0, 100 * MB, False)] * 8) == {job: near(8.0) for job in range(8)}


def test_far_tasks_share_the_link_and_leave_the_rest_to_the_near() -> None:
    # Two far ones get 75 MB/s each of the link, not the 100 of the device.
    found = ends(small(), [(0.0, 75 * MB, True), (0.0, 75 * MB, True), (0.0, 100 * MB, False)])
    assert found == {job: near(1.0) for job in range(3)}


def test_a_task_that_comes_later_takes_its_part_from_then_on() -> None:
    # One task alone on a device that carries one: after 1 s a second one halves its rate.
    found = ends(small(ONE), [(0.0, 200 * MB, False), (1.0, 50 * MB, False)])
    assert found == {1: near(2.0), 0: near(2.5)}


def test_sojourn_is_that_of_processor_sharing() -> None:
    """M/M/1 with processor sharing: the mean sojourn is the mean service ÷ (1 − load) (Kleinrock 1967)."""
    chance = np.random.default_rng(7)
    load, count = 0.6, 60_000
    arrivals = np.cumsum(chance.exponential(1 / load, count))
    sizes = chance.exponential(100 * MB, count)
    found = ends(small(ONE), [(a, s, False) for a, s in zip(arrivals.tolist(), sizes.tolist(), strict=True)])
    sojourn = np.array([found[job] for job in range(count)]) - arrivals
    assert sojourn.mean() == pytest.approx(1 / (1 - load), rel=0.05)
