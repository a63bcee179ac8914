"""A surface on a real device of known speed: small transfers meet its operations per second, large ones its bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

OPERATIONS_PER_S = 1000
BYTES_PER_S = 50_000_000
BUDGET = "600s"
"""All of it is used; a trial is 4.7 s, which may see 2.1 % more than its share (``test_throttled_truth.py``)."""
TOLERANCE = 0.05

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.alone("rates of devices"),
    pytest.mark.slow,
    pytest.mark.skipif("TONNAGE_ALL_DEVICES" not in os.environ, reason="takes eleven minutes: make nightly runs it"),
]


@pytest.fixture(scope="module")
def said(tonnage_of_module: Any) -> Iterator[dict[str, Any]]:
    """What the command said, of writes and of reads, each on a device of its own at once."""
    tonnage = tonnage_of_module
    with ExitStack() as stack:
        running = {}
        for op in ("write", "read"):
            with skipped_where_impossible():
                lab = stack.enter_context(throttled(bytes_per_s=BYTES_PER_S, operations_per_s=OPERATIONS_PER_S))
            words: tuple[str | Path, ...] = ("--direct", "yes", "--seed", "1", "--max-tasks", "4", lab.path)
            process, _ = running[op] = tonnage.start("probe", "--surface", "--op", op, "--budget", BUDGET, *words)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield {op: tonnage.end(*one) for op, one in running.items()}


@pytest.mark.parametrize("op", ["write", "read"])
def test_each_transfer_size_has_the_limit_that_it_meets(op: str, said: dict[str, Any]) -> None:
    assert said[op].code == 0, said[op].err
    (surface,) = said[op].summary["surfaces"]
    reached = [size for size in surface["sizes"] if size["reached"]]
    sizes = [size["transfer_size"] for size in reached]
    assert min(sizes) * OPERATIONS_PER_S < BYTES_PER_S < max(sizes) * OPERATIONS_PER_S, "both limits"
    for size in reached:
        true = min(OPERATIONS_PER_S * size["transfer_size"], BYTES_PER_S)
        assert size["plateau_bytes_per_s"] == pytest.approx(true, rel=TOLERANCE), size
        assert size["tasks_low"] == 1, "one task takes all that the device lets through"
