"""Reads bound to a processor that does not take the disk's interrupts, on the disk of this very host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tonnage.machine.affinity import interrupt_cpus

pytestmark = pytest.mark.alone("a disk of this machine, from processors of its choice")


@contextmanager
def bound_to(processors: set[int]) -> Iterator[None]:
    """What is started inside may use ``processors`` only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def test_a_binding_away_from_the_disks_interrupts_is_found_and_one_to_them_is_not(tonnage: Any, tmp_path: Path) -> None:
    served = set(interrupt_cpus(tmp_path) or ())
    away = os.sched_getaffinity(0) - served
    if not served or not away:
        pytest.skip(f"needs a disk whose interrupts some processors do not take; here {sorted(served) or 'unknown'} do")
    file = tonnage.campaign(
        tmp_path, op=["read"], tasks=[1], transfer_size="4KiB", block_size="4MiB", access="random", direct=["auto"]
    )
    with bound_to(away):
        said = tonnage("run", file)
    assert said.code == 0, said.err
    if not said.measured("read")[0]["direct"]:
        pytest.skip("needs a file system with O_DIRECT")
    assert "away-from-interrupt" in codes(said)
    with bound_to(os.sched_getaffinity(0) & served or served):
        assert "away-from-interrupt" not in codes(tonnage("run", file))


def codes(said: Any) -> set[str]:
    return {finding["code"] for finding in said.summary["findings"]}
