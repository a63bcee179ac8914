"""Truth on a real device: what Tonnage says of a device is what the kernel was told to make of it.

The throttle lets through what a slice of 100 ms holds, then waits: a trial of T seconds may see up to one slice more
than its share, so trials are 4 s long here (0.1 / 4 = 2.5 % at the very worst, about 1 % as a rule).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

TOLERANCE = 0.02
BUDGET = "112s"
"""For one operation: a twenty-eighth of it is a trial. The search ends long before, when it knows enough."""
KIB, MIB = 1 << 10, 1 << 20

pytestmark = pytest.mark.slow


def plateau(tonnage: Any, path: Any, op: str, transfer: int, space: int) -> int:
    """Bytes per second that probe finds on ``path`` with up to 4 tasks."""
    options = ["--op", op, "--transfer", str(transfer), "--budget", BUDGET, "--max-tasks", "4", "--space", str(space)]
    said = tonnage("probe", *options, "--direct", "yes", "--seed", "1", path)
    assert said.code == 0, said.err
    (line,) = said.summary["load_lines"]
    if op == "read":
        assert {trial["cache"]["state"] for trial in said.measured("read")} == {"cold"}
    found: int = line["plateau_bytes_per_s"]
    return found


@pytest.mark.parametrize("op", ["write", "read"])
def test_plateau_at_1_mib_is_the_set_bytes_per_second(op: str, tonnage: Any, device: Callable[..., Any]) -> None:
    rate = 50_000_000
    lab = device(bytes_per_s=rate)
    assert plateau(tonnage, lab.path, op, MIB, 128 * MIB) == pytest.approx(rate, rel=TOLERANCE)


@pytest.mark.parametrize(("op", "rate"), [("write", 1000), ("read", 1000), ("read", 2500)])
def test_plateau_at_4_kib_is_the_set_operations_per_second(
    op: str, rate: int, tonnage: Any, device: Callable[..., Any]
) -> None:
    lab = device(operations_per_s=rate)
    assert plateau(tonnage, lab.path, op, 4 * KIB, 16 * MIB) == pytest.approx(rate * 4 * KIB, rel=TOLERANCE)


MIX = """
target = {target!r}
seed = 1
[repeat]
count = 1
[workload]
op = {op!r}
tasks = 8
access = "random"
direct = "yes"
sync = "none"
block_size = {block!r}
transfer_size = {transfer!r}
time_limit = "8s"
wrap = true
"""


def random_trial(tonnage: Any, path: Any, work: Any, op: str, transfer: str, block: str) -> dict[str, Any]:
    """The line of one trial of eight tasks that visit their transfers in random order, past the cache."""
    file = work / "mix.toml"
    file.write_text(MIX.format(target=str(path), op=op, transfer=transfer, block=block))
    said = tonnage("run", file)
    assert said.code == 0, said.err
    (line,) = said.measured(op)
    return dict(line)


def test_a_mix_is_held_by_the_limit_of_its_reads(tonnage: Any, device: Callable[..., Any], tmp_path: Any) -> None:
    rate = 40_000_000
    lab = device(bytes_per_s=rate)
    line = random_trial(tonnage, lab.path, tmp_path, "mixed", "256KiB", "16MiB")
    # Half of the operations read and half write, and the device takes this much of each.
    assert line["bandwidth_bytes_per_s"] == pytest.approx(2 * rate, rel=0.03)
    parts = {part["op"]: part["bytes"] * 10**9 / line["elapsed_ns"] for part in line["parts"]}
    assert max(parts["read"], parts["write"]) == pytest.approx(rate, rel=TOLERANCE)


@pytest.mark.parametrize("op", ["write", "read"])
def test_random_4_kib_is_the_set_operations_per_second(
    op: str, tonnage: Any, device: Callable[..., Any], tmp_path: Any
) -> None:
    lab = device(operations_per_s=1000)
    line = random_trial(tonnage, lab.path, tmp_path, op, "4KiB", "1MiB")
    assert line["operations_per_s"] == pytest.approx(1000, rel=TOLERANCE)
