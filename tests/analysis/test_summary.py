"""The object for programs, the promises, and a second look at a run that was summarised."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from tonnage.analysis import analyse
from tonnage.analysis.compare.divisors import bases_of, contradiction
from tonnage.analysis.compare.normalise import Basis
from tonnage.analysis.summary import schema, summary
from tonnage.analysis.verify import verify
from tonnage.records import Run, RunWriter

Make = Callable[..., Run]
Curve = Callable[..., dict[int, list[float]]]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("knee", [4, 64])
@pytest.mark.parametrize("op", ["write", "read"])
def test_a_summary_is_what_its_schema_says(make_run: Make, quiet_curve: Curve, op: str, knee: int) -> None:
    found = summary(analyse(make_run(quiet_curve(knee=knee), op=op, manifest={"search": {"p99_ns": 10**9}})), "r.html")
    jsonschema.validate(json.loads(json.dumps(found)), schema())
    assert list(found) == ["run", "report", "load_lines", "points", "ceilings", "findings", "cost"]
    (line,) = found["load_lines"]
    assert line["reached"] == (knee == 4)
    assert line["tasks"] == (4 if knee == 4 else None)
    (latency,) = line["latency_lines"]
    assert (latency["objective_ns"], latency["load"], latency["trials"]) == (10**9, "tasks", 20)


def test_a_summary_without_an_objective_says_nothing_of_latency_lines(make_run: Make, quiet_curve: Curve) -> None:
    found = summary(analyse(make_run(quiet_curve())), None)
    assert all("latency_lines" not in line for line in found["load_lines"])
    jsonschema.validate(json.loads(json.dumps(found)), schema())


def test_an_empty_run_has_a_summary_too(make_run: Make) -> None:
    run = make_run({1: [1e9]}, alter=lambda line: line.update(status="failed", reason="EIO"))
    jsonschema.validate(summary(analyse(run), None), schema())


def test_what_the_campaign_divides_by_is_in_the_summary(make_run: Make, quiet_curve: Curve) -> None:
    campaign = {"normalise": {"disks": 10, "link_bytes_per_s": 4_000_000_000}}
    found = summary(analyse(make_run(quiet_curve(), manifest={"campaign": campaign})), None)
    jsonschema.validate(json.loads(json.dumps(found)), schema())
    (best,) = found["normalised"]
    disk, link = best["parts"]
    assert (disk["unit"], link["unit"]) == ("B/s per disk", "of the link")
    assert disk["value"] == pytest.approx(2e8, rel=0.02) and link["value"] == pytest.approx(0.5, rel=0.02)
    assert disk["low"] <= disk["value"] <= disk["high"] and disk["basis"]["count"] == 10


def test_the_osds_of_a_pool_carried_it_and_another_number_of_disks_is_told(make_run: Make, quiet_curve: Curve) -> None:
    osds = [{"osd": n, "host": "a", "weight": 1.0 if n else 0.0, "up": n < 4} for n in range(5)]
    target = {"pool": {"osds": osds}}
    found = analyse(make_run(quiet_curve(), manifest={"target": target}))
    assert found.bases == (Basis("OSD", 3, None),) and contradiction(found.bases) is None
    summed = summary(found, None)
    jsonschema.validate(json.loads(json.dumps(summed)), schema())
    assert [part["unit"] for part in summed["normalised"][0]["parts"]] == ["B/s per OSD"]
    says = {"campaign": {"normalise": {"disks": 10}}, "target": target}
    told = contradiction(bases_of(says))
    assert told is not None and "says 10 disks, and the pool has 3 OSDs" in told
    assert contradiction(bases_of({**says, "campaign": {"normalise": {"disks": 3}}})) is None


def test_the_schema_refuses_a_unit_that_was_forgotten(make_run: Make, quiet_curve: Curve) -> None:
    found = summary(analyse(make_run(quiet_curve())), None)
    found["load_lines"][0]["plateau_bytes_per_s"] = "2 GB/s"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema())


def test_a_summary_that_says_something_else_than_the_records_is_found(make_run: Make, quiet_curve: Curve) -> None:
    run = make_run(quiet_curve())
    said = summary(analyse(run), None)
    RunWriter(run.path, run.manifest).update_manifest(summary=said)
    assert not [text for text in verify(Run.open(run.path)).contradictions if text.startswith("summary")]
    said["load_lines"][0]["tasks"] = 3
    RunWriter(run.path, run.manifest).update_manifest(summary=said)
    texts = [text for text in verify(Run.open(run.path)).contradictions if text.startswith("summary")]
    assert texts == ["summary.load_lines[0].tasks was 3, and is 4 when analysed again"]


def test_repetitions_that_lie_very_far_apart_leave_a_run_that_can_be_read(make_run: Make) -> None:
    """A t-interval of two values with a ratio of 10,000 ends beyond 2⁶⁴, in nanoseconds and in bytes a second."""

    def apart(line: dict[str, Any]) -> None:
        line["latency"] = {**line["latency"], "p999_ns": (2_000, 20_000_000)[line["repetition"]]}

    run = make_run({4: [4e9, 4e5]}, alter=apart)
    RunWriter(run.path, run.manifest).update_manifest(summary=summary(analyse(run), None))
    again = Run.open(run.path)
    (point,) = again.manifest["summary"]["points"]
    bounds = point["latency_intervals"]["p999_ns"]
    assert bounds["low_ns"] < 2_000 and 20_000_000 < bounds["high_ns"] < 1 << 63
    assert point["low"] < 4e5 and 4e9 < point["high"] < 1 << 63


def promises(run: Run) -> dict[int, bool | None]:
    return {promise.number: promise.kept for promise in analyse(run).promises}


def test_the_promises_are_ticked_from_what_the_records_hold(make_run: Make, quiet_curve: Curve) -> None:
    kept = promises(make_run(quiet_curve()))
    assert list(kept) == list(range(1, 13))
    assert kept[7] is False, "this run was made without series files"
    assert {number for number, value in kept.items() if value is None} == {8, 12}
    assert all(kept[number] for number in (1, 2, 3, 4, 5, 6, 9, 10, 11))


@pytest.mark.parametrize(
    ("manifest", "number"),
    [({"ceilings": []}, 3), ({"cost": None}, 10), ({"seed": None}, 6), ({"command_line": None}, 11)],
)
def test_a_manifest_that_lacks_something_breaks_its_promise(
    make_run: Make, quiet_curve: Curve, manifest: dict[str, object], number: int
) -> None:
    assert promises(make_run(quiet_curve(), manifest=manifest))[number] is False


def test_a_rate_that_is_not_bytes_over_time_breaks_the_first(make_run: Make, quiet_curve: Curve) -> None:
    assert promises(make_run(quiet_curve(), alter=lambda line: line.update(elapsed_ns=1)))[1] is False


def test_a_float_breaks_the_fifth(make_run: Make, quiet_curve: Curve) -> None:
    assert promises(make_run(quiet_curve(), alter=lambda line: line.update(cpu_user_ns=1.5)))[5] is False


def test_a_failed_phase_in_a_complete_run_breaks_the_fourth(make_run: Make, quiet_curve: Curve) -> None:
    make_run({8: [2e9]}, alter=lambda line: line.update(status="failed"))
    assert promises(make_run(quiet_curve()))[4] is False


@pytest.mark.parametrize(("repetitions", "known"), [(1, False), (5, True)])
def test_what_was_not_repeated_has_no_ends_of_an_interval(make_run: Make, repetitions: int, known: bool) -> None:
    campaign = {"normalise": {"disks": 10}}
    found = summary(analyse(make_run({4: [2e9] * repetitions}, manifest={"campaign": campaign})), None)
    jsonschema.validate(json.loads(json.dumps(found)), schema())
    (point,), (divided,) = found["points"], found["normalised"]
    for one in (point, *divided["parts"]):
        assert (one["low"] is not None) == (one["high"] is not None) == known
    assert bool(point["confidence"]) == known


def test_a_summary_of_an_older_version_with_the_median_as_both_ends_holds(make_run: Make) -> None:
    run = make_run({4: [2e9]})
    said = summary(analyse(run), None)
    (point,) = said["points"]
    point["low"] = point["high"] = point["median"]
    RunWriter(run.path, run.manifest).update_manifest(summary=said)
    assert not [text for text in verify(Run.open(run.path)).contradictions if text.startswith("summary")]
