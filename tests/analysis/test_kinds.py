"""Points and load lines of every kind of workload, and of several workloads in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from tonnage.analysis import analyse, measured_points
from tonnage.analysis.summary import schema, summary
from tonnage.records import Run
from tonnage.units import BANDWIDTH, OPERATIONS

Make = Callable[..., Run]
Curve = Callable[..., dict[int, list[float]]]

LATENCY = {"count": 9, "min_ns": 1, "mean_ns": 5, "p50_ns": 5, "p90_ns": 8, "p99_ns": 9, "p999_ns": 9, "max_ns": 9}


@pytest.mark.parametrize("kind", ["files", "command"])
def test_names_and_copies_are_counted_in_operations_and_their_load_line_too(
    make_run: Make, quiet_curve: Curve, kind: str
) -> None:
    found = analyse(make_run(quiet_curve(), op="create", setting={"kind": kind}))
    top = found.points[-1]
    assert (top.kind, top.metric) == (kind, OPERATIONS)
    assert top.median == pytest.approx(1900, rel=0.02)
    (line,) = found.load_lines
    assert (line.tasks, line.plateau_bytes_per_s) == (4, None)
    assert line.plateau_operations_per_s == pytest.approx(1900, rel=0.02)
    assert ("copies/s" if kind == "command" else "operations/s") in line.why
    assert found.findings == ()
    jsonschema.validate(summary(found, None), schema())


def test_a_command_slower_than_one_a_second_is_not_rounded_to_nothing(make_run: Make) -> None:
    def slow(line: dict[str, Any]) -> None:
        line.update(elapsed_ns=2700 * 10**9, operations=50, operations_per_s=0)

    (point,) = measured_points(make_run({8: [1e9]}, op="command", setting={"kind": "command"}, alter=slow))
    assert point.median == pytest.approx(50 / 2700)
    assert point.elapsed_ns == 2700 * 10**9


def test_a_stream_is_counted_in_bytes(make_run: Make, quiet_curve: Curve) -> None:
    found = analyse(make_run(quiet_curve(), setting={"kind": "stream"}))
    assert {(point.kind, point.metric) for point in found.points} == {("stream", BANDWIDTH)}
    assert found.load_lines[0].plateau_operations_per_s is None


def test_several_workloads_are_told_apart_by_their_names_alone(make_run: Make) -> None:
    make_run({1: [1e9], 4: [2e9]}, setting={"workload": "b", "block_size": 4, "wrap": True})
    run = make_run({1: [1e9], 4: [2e9]}, op="create", setting={"workload": "a", "kind": "files", "depth": 2})
    assert [(point.group, point.workload) for point in measured_points(run)] == [
        ("b", "b"),
        ("b", "b"),
        ("a", "a"),
        ("a", "a"),
    ]


def test_what_one_workload_swept_is_no_factor_of_the_other(make_run: Make) -> None:
    for access in ("random", "sequential"):
        make_run({1: [1e9]}, setting={"workload": "a", "access": access})
    run = make_run({1: [1e9]}, setting={"workload": "b", "access": "strided"})
    assert {point.group for point in measured_points(run)} == {"a, access random", "a, access sequential", "b"}


def test_workloads_come_in_the_order_of_the_file(make_run: Make) -> None:
    campaign = {"workloads": [{"name": "second"}, {"name": "first"}]}
    make_run({1: [1e9]}, setting={"workload": "first"}, manifest={"campaign": campaign})
    run = make_run({1: [1e9]}, setting={"workload": "second"})
    assert [point.workload for point in measured_points(run)] == ["second", "first"]


def test_two_numbers_of_tasks_are_no_sweep(make_run: Make) -> None:
    found = analyse(make_run({1: [1e9, 1e9], 2: [2e9, 2e9]}))
    assert found.load_lines == ()
    assert found.findings == ()


def test_a_search_of_two_numbers_of_tasks_has_its_line(make_run: Make) -> None:
    found = analyse(make_run({1: [1e9, 1e9], 2: [2e9, 2e9]}, manifest={"search": {"op": ["write"]}}))
    assert [line.reached for line in found.load_lines] == [False]


def test_a_tail_has_readers_and_no_load_line_over_tasks(make_run: Make) -> None:
    follow = {"readers": 2, "bytes": 10**9, "lag": LATENCY, "max_lag_bytes": 7, "waits": 3}
    curve = {n: [1e9, 1e9] for n in (1, 3, 9)}
    found = analyse(make_run(curve, op="tail", setting={"kind": "tail"}, result={"follow": follow}))
    assert found.load_lines == ()
    point = found.points[1]
    assert (point.metric, point.median) == (BANDWIDTH, pytest.approx(1e9, rel=1e-6))
    assert point.follow is not None
    assert (point.follow.readers, point.follow.lag["p99_ns"], point.follow.max_lag_bytes) == (2, 9, 7)
    assert point.follow.bandwidth_bytes_per_s == pytest.approx(1e9)
    jsonschema.validate(summary(found, None), schema())


def test_a_mix_says_what_each_kind_of_operation_did(make_run: Make) -> None:
    parts = [
        {"op": "write", "bytes": 3 * 10**8, "operations": 30, "latency": LATENCY},
        {"op": "read", "bytes": 7 * 10**8, "operations": 70, "latency": {**LATENCY, "p99_ns": 8}},
    ]
    found = analyse(make_run({4: [1e9, 1e9]}, op="mixed", setting={"read_percent": 70}, result={"parts": parts}))
    (point,) = found.points
    assert [(part.op, part.bandwidth_bytes_per_s, part.operations_per_s) for part in point.parts] == [
        ("write", pytest.approx(3e8), pytest.approx(30)),
        ("read", pytest.approx(7e8), pytest.approx(70)),
    ]
    assert point.parts[1].latency["p99_ns"] == 8
    jsonschema.validate(summary(found, None), schema())


def test_a_check_is_no_point(make_run: Make) -> None:
    make_run({1: [9e9]}, op="check", purpose="check")
    assert [point.op for point in measured_points(make_run({1: [1e9]}))] == ["write"]
