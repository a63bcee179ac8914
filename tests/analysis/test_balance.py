"""Uneven is only what chance does not do: false alarms at their rate, and a planted favourite is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import numpy as np
import pytest
from tonnage.analysis import analyse
from tonnage.analysis.balance import LEVEL, Balance, balances_of
from tonnage.analysis.results import Point
from tonnage.analysis.summary import schema, summary
from tonnage.records import Run, RunWriter, object_lines, trial_line, verify_files
from tonnage.report.page_data import Source
from tonnage.report.sections.balance import exhibits, story, table

MIB = 1 << 20


def group(number: int, osds: list[int], objects: int = 1, reads: int = 0) -> dict[str, Any]:
    names = [f"data.{number:08}.{index:08x}" for index in range(objects)]
    return {
        "record": "0000-write", "group": number, "osds": osds, "objects": objects, "names": names,
        "writes": 0 if reads else 4 * objects, "written_bytes": 0 if reads else 4 * MIB * objects,
        "reads": reads, "read_bytes": reads * MIB,
    }  # fmt: skip


def pool_of(weights: list[float]) -> dict[str, Any]:
    return {"osds": [{"osd": n, "host": f"host{n}", "weight": weight, "up": True} for n, weight in enumerate(weights)]}


def balance(point: Point, groups: list[dict[str, Any]], pool: dict[str, Any] | None) -> Balance:
    line = {"record": "0000-write", "objects": {"groups": 32, "unplaced_objects": 0}}
    (found,) = balances_of([point], [line], groups, pool)
    return found


@pytest.fixture
def point(make_run: Callable[..., Run]) -> Point:
    (found,) = analyse(make_run({2: [1e9]})).points
    return found


def drawn(random: np.random.Generator, groups: int, weights: list[float], copies: int) -> list[dict[str, Any]]:
    fair = np.array(weights) / sum(weights)
    return [
        group(number, [int(osd) for osd in random.choice(len(weights), copies, replace=False, p=fair)], objects)
        for number, objects in enumerate(random.integers(1, 4, groups))
    ]


@pytest.mark.parametrize(
    ("weights", "groups", "copies"), [([1.0] * 3, 32, 1), ([1.0] * 12, 64, 3), ([1.0, 1.0, 2.0, 4.0], 24, 1)]
)
def test_what_chance_does_is_called_uneven_as_seldom_as_it_says(
    point: Point, weights: list[float], groups: int, copies: int
) -> None:
    random = np.random.default_rng(groups)
    tries = 120
    found = [balance(point, drawn(random, groups, weights, copies), pool_of(weights)) for _ in range(tries)]
    alarms = sum(one.verdict == "uneven" for one in found)
    assert alarms <= tries * LEVEL + 3 * (tries * LEVEL * (1 - LEVEL)) ** 0.5
    assert all(one.busiest >= 1 and one.typical <= one.most for one in found)


def test_an_osd_that_gets_twice_its_share_of_many_groups_is_found(point: Point) -> None:
    groups = [group(number, [0 if number % 2 else 1 + number // 2 % 3]) for number in range(120)]
    found = balance(point, groups, pool_of([1.0] * 4))
    assert found.verdict == "uneven" and found.busiest == pytest.approx(2.0)
    assert "more than chance" in story(found)
    # The same of few objects is what chance does.
    few = balance(point, groups[:6], pool_of([1.0] * 4))
    assert few.verdict == "as chance has it" and few.most > 1.9


def test_an_osd_that_got_nothing_and_one_of_twice_the_weight_are_seen(point: Point) -> None:
    found = balance(point, [group(0, [0]), group(1, [1])], pool_of([2.0, 1.0, 1.0]))
    assert [part.osd for part in found.parts] == [0, 1, 2]
    assert [part.fair_share for part in found.parts] == [0.5, 0.25, 0.25]
    assert [part.share for part in found.parts] == [0.5, 0.5, 0.0]


def test_copies_are_written_to_all_and_read_from_the_first(point: Point) -> None:
    wrote = balance(point, [group(0, [0, 1], 2), group(1, [1, 2])], pool_of([1.0] * 3))
    first, second, third = wrote.parts
    assert (first.operations, first.bytes, first.copy_bytes) == (8, 8 * MIB, 0)
    assert (second.bytes, second.copy_bytes, second.copy_operations, second.objects) == (4 * MIB, 8 * MIB, 8, 3)
    assert third.share == pytest.approx(1 / 6)
    read = balance(point, [group(0, [0, 1], reads=3), group(1, [1, 2], reads=1)], pool_of([1.0] * 3))
    assert [part.share for part in read.parts] == [0.75, 0.25, 0.0]


def test_without_a_pool_in_the_manifest_those_that_hold_objects_count_alike(point: Point) -> None:
    found = balance(point, [group(0, [7]), group(1, [3])], None)
    assert [(part.osd, part.fair_share) for part in found.parts] == [(3, 0.5), (7, 0.5)]


def test_a_run_keeps_its_groups_and_page_and_summary_tell_them(make_run: Callable[..., Run]) -> None:
    held = [{key: value for key, value in group(n, [n % 3]).items() if key != "record"} for n in range(9)]
    placement = {"epoch": 7, "groups": 32, "unplaced_objects": 2, "held": held}
    run = make_run({2: [1e9]}, result={"placement": placement}, manifest={"target": {"pool": pool_of([1.0] * 3)}})
    RunWriter(run.path, run.manifest).update_manifest(state="running")
    writer = RunWriter.reopen(run.path)
    (line,) = run.trials()
    assert line["objects"] == {"epoch": 7, "groups": 32, "unplaced_objects": 2, "placed_objects": 9}
    assert any("and 0 from objects.jsonl" in what for what in verify_files(run))
    again = trial_line(
        trial=1, setting=line["setting"], phase="write", repetition=1, block=1, started="now", result=None
    )
    # Groups of a trial whose line was never written do not count after a resume.
    writer.append_trial(again, (), (), objects=object_lines({**line, "record": "0000-write"}, {"placement": placement}))
    with (run.path / "objects.jsonl").open("ab") as file:
        file.write(b'{"record": "0009-write"')
    RunWriter.reopen(run.path)
    assert not [what for what in verify_files(run) if "objects" in what]
    analysis = analyse(run)
    (found,) = analysis.balances
    assert (found.objects, found.groups, found.unplaced_objects, found.verdict) == (9, 9, 2, "as chance has it")
    jsonschema.validate(summary(analysis, None), schema())
    (exhibit,) = exhibits(analysis, Source.of(run))
    assert "2 objects were not looked up" in exhibit.variants[0].figures[0].caption
    assert table(found, 2).rows[0][0].startswith("osd.") and len(table(found, 2).rows) == 2


@pytest.mark.parametrize(("groups", "told"), [(120, True), (6, False)])
def test_an_osd_with_more_than_chance_gives_it_is_a_finding(
    make_run: Callable[..., Run], groups: int, told: bool
) -> None:
    run = make_run({2: [1e9]}, manifest={"target": {"pool": pool_of([1.0] * 4)}})
    (line,) = run.trials()
    placed = [group(number, [0 if number % 2 else 1 + number // 2 % 3]) for number in range(groups)]
    (run.path / "objects.jsonl").write_text(
        "".join(f"{json.dumps({**one, 'record': line['record']})}\n" for one in placed)
    )
    found = [finding for finding in analyse(Run.open(run.path)).findings if finding.code == "uneven-osds"]
    assert bool(found) == told
    if told:
        assert "osd.0 took 50 % of the bytes of 120 objects, 2 times its fair share" in found[0].evidence
