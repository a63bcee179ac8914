"""The nodes of a model: which task is where, and a line a node where there are very many."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.cluster.launcher import Placing
from tonnage.cluster.local_launcher import Local
from tonnage.errors import RequestError

MODEL = {"kind": "sim", "seed": 1, "node_plateau_bytes_per_s": 10**9, "plateau_bytes_per_s": 10**11}


def spec(tasks: int) -> dict[str, Any]:
    """A short write of 1 MiB transfers."""
    geometry = {"transfer_size": 1 << 20, "block_size": 4 << 20, "layout": "file-per-task", "access": "sequential"}
    work = {"kind": "stream", "op": "write", "geometry": geometry, "durability": "none", "cache": "keep"}
    return {"record": "0000-write", "tasks": {"first": 0, "here": tasks, "total": tasks}, "seed": 1, "work": work}


def measure(tasks: int, placing: Placing) -> tuple[dict[str, Any], list[str]]:
    """The result, and the host of each of its lines."""
    step = Local().open(MODEL, None).prepare(spec(tasks), placing)
    step.go()
    assert step.wait(10)
    return step.result(), list(step.hosts())


def test_tasks_fill_node_after_node() -> None:
    result, hosts = measure(5, Placing(tasks_per_node=2))
    assert [task["task"] for task in result["tasks"]] == [0, 1, 2, 3, 4]
    assert hosts == ["node0001", "node0001", "node0002", "node0002", "node0003"]


def test_hosts_may_have_names_and_must_have_room() -> None:
    assert measure(3, Placing(hosts=("a", "b", "c")))[1] == ["a", "b", "c"]
    assert measure(4, Placing(hosts=("a", "b", "c"), tasks_per_node=2))[1] == ["a", "a", "b", "b"]
    with pytest.raises(RequestError, match="4 tasks with 1 on a host need 4 hosts, not 2"):
        measure(4, Placing(hosts=("a", "b")))


def test_without_a_placing_all_tasks_are_here() -> None:
    _, hosts = measure(3, Placing())
    assert len(hosts) == 3 and len(set(hosts)) == 1 and "node0001" not in hosts


def test_of_very_many_tasks_a_line_is_a_node() -> None:
    result, hosts = measure(1030, Placing(tasks_per_node=100))
    assert [task["tasks"] for task in result["tasks"]] == [100] * 10 + [30]
    assert hosts[-1] == "node0011" and sum(task["bytes"] for task in result["tasks"]) == 1030 * (4 << 20)


def test_nodes_share_the_plateau_and_have_one_each() -> None:
    def rate(nodes: int) -> float:
        result, _ = measure(8 * nodes, Placing(tasks_per_node=8))
        ends = [task["end_ns"] for task in result["tasks"]]
        return sum(task["bytes"] for task in result["tasks"]) * 1e9 / max(ends)

    assert rate(2) == pytest.approx(2e9, rel=0.15)
    assert rate(400) == pytest.approx(1e11, rel=0.15)
