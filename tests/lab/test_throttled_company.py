"""What company costs on a real device of known speed: a reader beside another one that has half of the device keeps the
other half."""

from __future__ import annotations

from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

TOLERANCE = 0.05

pytestmark = [pytest.mark.alone("rates of devices"), pytest.mark.slow]


def test_what_company_leaves_of_a_device_is_what_it_does_not_take(tonnage: Any) -> None:
    """Of whole trials it would be 55 % and more, for the queue of company fills while they are measured."""
    words = ("--share", "50%", "--budget", "75s", "--seed", "1")
    with skipped_where_impossible(), throttled(bytes_per_s=50_000_000) as device:
        said = tonnage("company", *words, device.path, "stream-read")
    assert said.code == 0, said.err
    (cost,) = said.summary["company"]
    assert cost["rate"]["ratio"] == pytest.approx(0.5, rel=TOLERANCE), cost
    assert cost["rate"]["low"] - TOLERANCE / 2 <= 0.5 <= cost["rate"]["high"], cost
