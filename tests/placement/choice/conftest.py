"""What the tests of choices share: a plain candidate, a located path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.placement.choice import Candidate
from tonnage.placement.site import Policy
from tonnage.placement.task_caps import Demand
from tonnage.placement.where import Located

GB = 10**9


@pytest.fixture
def candidate() -> Callable[..., Candidate]:
    def make(host: str = "rcss1", **given: Any) -> Candidate:
        near = given.get("near", True)
        plain = {"server": "rcss1", "near": True, "bandwidth_bytes_per_s": 1e9 if near else 1e8, "latency_s": 0.0}
        return Candidate(**{"host": host, "slots": 8, **plain, **given})

    return make


@pytest.fixture
def far(candidate: Callable[..., Candidate]) -> Callable[..., Candidate]:
    return lambda host="c1", **given: candidate(host, near=False, **given)


@pytest.fixture
def located() -> Callable[..., Located]:
    def make(**given: Any) -> Located:
        return Located(**{"path": "/data", "mount": None, "target": "nfs:rcss1:/x", "servers": ("rcss1",), **given})

    return make


@pytest.fixture
def policy() -> Policy:
    return Policy()


@pytest.fixture
def demand() -> Demand:
    return Demand(bytes=GB, operations=0)
