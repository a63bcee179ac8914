"""Truth on a real device: what Tonnage says of a device is what the kernel was told to make of it.

The throttle lets through what a slice of 100 ms holds, then waits: a trial of T seconds may see up to one slice more
than its share, so trials are 4 s long here (0.1 / 4 = 2.5 % at the very worst, about 1 % as a rule). All devices are
measured at once, each by a command of its own: their limits are their own, and nearly all of that time is waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

TOLERANCE = 0.025
BUDGET = "252s"
"""For one operation: a sixty-third of it is a trial. The search ends long before, when it knows enough."""
PLAIN = ("--direct", "yes", "--seed", "1")
KIB, MIB = 1 << 10, 1 << 20
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

pytestmark = [pytest.mark.alone("rates of devices"), pytest.mark.slow]


@dataclass(frozen=True)
class Search:
    """What probe finds on a device with up to 4 tasks."""

    op: str
    transfer: int
    space: int
    bytes_per_s: int = 0
    operations_per_s: int = 0

    def words(self, target: Path, _work: Path) -> list[str | Path]:
        sizes = ["--transfer", str(self.transfer), "--space", str(self.space)]
        return ["probe", "--op", self.op, *sizes, "--budget", BUDGET, "--max-tasks", "4", *PLAIN, target]


@dataclass(frozen=True)
class Mix:
    """One trial of eight tasks that visit their transfers in random order, past the cache."""

    op: str
    transfer: str
    block: str
    bytes_per_s: int = 0
    operations_per_s: int = 0

    def words(self, target: Path, work: Path) -> list[str | Path]:
        file = work / f"{self.op}-{self.transfer}.toml"
        file.write_text(MIX.format(target=str(target), op=self.op, transfer=self.transfer, block=self.block))
        return ["run", file]


BYTES = [Search(op, MIB, 128 * MIB, bytes_per_s=50_000_000) for op in ("write", "read")]
OPERATIONS = [
    Search(op, 4 * KIB, 16 * MIB, operations_per_s=rate)
    for op, rate in (("write", 1000), ("read", 1000), ("read", 2500))
]
MIXED = Mix("mixed", "256KiB", "16MiB", bytes_per_s=40_000_000)
RANDOM = [Mix(op, "4KiB", "1MiB", operations_per_s=1000) for op in ("write", "read")]


@pytest.fixture(scope="module")
def said(tonnage_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Search | Mix, Any]]:
    """What the command said of each device."""
    tonnage, work = tonnage_of_module, tmp_path_factory.mktemp("campaigns")
    with ExitStack() as stack:
        running = {}
        for case in (*BYTES, *OPERATIONS, MIXED, *RANDOM):
            limits = {"bytes_per_s": case.bytes_per_s, "operations_per_s": case.operations_per_s}
            with skipped_where_impossible():
                lab = stack.enter_context(throttled(**limits))
            process, _ = running[case] = tonnage.start(*case.words(lab.path, work))
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield {case: tonnage.end(*one) for case, one in running.items()}


def plateau(said: Any, op: str) -> int:
    """Bytes per second."""
    assert said.code == 0, said.err
    (line,) = said.summary["load_lines"]
    if op == "read":
        assert {trial["cache"]["state"] for trial in said.measured("read")} == {"cold"}
    found: int = line["plateau_bytes_per_s"]
    return found


def only(said: Any, op: str) -> dict[str, Any]:
    """The line of the one trial."""
    assert said.code == 0, said.err
    (line,) = said.measured(op)
    return dict(line)


@pytest.mark.parametrize("search", BYTES, ids=lambda search: search.op)
def test_plateau_at_1_mib_is_the_set_bytes_per_second(search: Search, said: dict[Search | Mix, Any]) -> None:
    assert plateau(said[search], search.op) == pytest.approx(search.bytes_per_s, rel=TOLERANCE)


@pytest.mark.parametrize("search", OPERATIONS, ids=lambda search: f"{search.op}-{search.operations_per_s}")
def test_plateau_at_4_kib_is_the_set_operations_per_second(search: Search, said: dict[Search | Mix, Any]) -> None:
    set_bytes_per_s = search.operations_per_s * search.transfer
    assert plateau(said[search], search.op) == pytest.approx(set_bytes_per_s, rel=TOLERANCE)


def test_a_mix_is_held_by_the_limit_of_its_reads(said: dict[Search | Mix, Any]) -> None:
    line, rate = only(said[MIXED], "mixed"), MIXED.bytes_per_s
    assert {part["op"] for part in line["parts"]} == {"read", "write"}
    assert sum(part["bytes"] for part in line["parts"]) == line["bytes"]
    # Each operation is drawn: of some 2,400, the reads are half within 5 % (five deviations), and the device takes this
    # much a second of the more frequent kind. The other kind then waits for it, so the sum has twice the spread.
    reads = next(part["operations"] for part in line["parts"] if part["op"] == "read")
    assert reads / line["operations"] == pytest.approx(0.5, abs=0.05)
    parts = {part["op"]: part["bytes"] * 10**9 / line["elapsed_ns"] for part in line["parts"]}
    assert max(parts["read"], parts["write"]) == pytest.approx(rate, rel=TOLERANCE)


@pytest.mark.parametrize("mix", RANDOM, ids=lambda mix: mix.op)
def test_random_4_kib_is_the_set_operations_per_second(mix: Mix, said: dict[Search | Mix, Any]) -> None:
    assert only(said[mix], mix.op)["operations_per_s"] == pytest.approx(mix.operations_per_s, rel=TOLERANCE)
