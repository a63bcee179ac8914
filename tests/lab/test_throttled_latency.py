"""A latency objective on a real device of known speed: no rate above what the device does keeps it, however short a
trial is."""

from __future__ import annotations

from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

RATE = 50_000_000
TOLERANCE = 0.05

pytestmark = [pytest.mark.alone("rates of devices"), pytest.mark.slow]


def test_the_largest_offered_rate_is_that_of_the_device(tonnage: Any) -> None:
    """Trials are 3 s: of a rate 10 % above the device's they end while its queue is shorter than the objective."""
    words = ("--p99", "500ms", "--open-loop", "--op", "read", "--direct", "yes", "--max-tasks", "4")
    with skipped_where_impossible(), throttled(bytes_per_s=RATE) as device:
        said = tonnage("probe", *words, "--budget", "200s", "--seed", "1", device.path)
    assert said.code == 0, said.err
    (line,) = said.summary["load_lines"][0]["latency_lines"]
    assert line["largest"] == pytest.approx(RATE, rel=TOLERANCE), line
    assert 0 < line["low"] <= (1 + TOLERANCE) * RATE, line
