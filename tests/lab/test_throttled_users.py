"""Users of an inference server on a real device of known speed: it serves as many as it has bytes for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

RATE = 50_000_000
TURN = 512 * 256
"""Bytes that a turn adds; the eight turns of a conversation read 0, 1, … 7 times as much."""
READ = TURN * 7 / 2
"""Bytes that a turn reads, on average. The limits of reads and of writes are apart, and a turn writes less."""
THINK_S = 0.3
CAMPAIGN = """
target = {target!r}
seed = 1
[workload]
kind = "kv-cache"
token_size = "256"
direct = "yes"
[users]
p95 = "500ms"
most = 64
budget = "4m"
"""
TOLERANCE = 0.05

pytestmark = [pytest.mark.alone("rates of devices"), pytest.mark.slow]


def test_so_many_are_served_as_the_device_has_bytes_for(tonnage: Any, tmp_path: Path) -> None:
    """Trials are 12 s: a device that is 4 % too slow for its users makes the last turns wait for half a second."""
    with skipped_where_impossible(), throttled(bytes_per_s=RATE) as device:
        file = tmp_path / "users.toml"
        file.write_text(CAMPAIGN.format(target=str(device.path)))
        said = tonnage("run", file)
        assert not list(device.path.glob(".tonnage*"))
    assert said.code == 0, said.err
    (served,) = said.summary["kv_cache"]
    answer = served["answer"]
    filled = RATE * THINK_S / READ
    assert answer["shown"] and answer["users"] == pytest.approx(filled, rel=TOLERANCE), answer
    assert answer["low"] <= filled <= answer["high"], answer
    assert answer["limit"] == "storage"
