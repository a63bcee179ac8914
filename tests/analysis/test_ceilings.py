"""Ceilings are those of a point's transfer size, and where there is none of it that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.analysis import Analysis, analyse
from tonnage.analysis.transfer_sizes import Ceiling, ceilings_at
from tonnage.records import Run
from tonnage.report import phrases
from tonnage.report.sections import load_line

Make = Callable[..., Run]
Curve = Callable[..., dict[int, list[float]]]
KIB = 1 << 10


def entry(name: str, size: int, operations_per_s: int) -> dict[str, Any]:
    """As a run has it that measured at ``size``."""
    moved = {"bytes_per_s": size * operations_per_s, "operations_per_s": operations_per_s}
    return {"name": name, **moved, "tasks": 2, "transfer_size": size, "source": "measured"}


MEASURED = [
    entry("memory-copy", 4 * KIB, 20_000_000),
    entry("null-storage", 4 * KIB, 100_000),
    entry("memory-copy", 1024 * KIB, 20_000),
    entry("null-storage", 1024 * KIB, 90_000),
]


def test_of_each_name_the_one_of_the_size_is_taken_else_the_nearest_which_says_so() -> None:
    copied, made = ceilings_at(MEASURED, 4 * KIB)
    assert copied == Ceiling("memory-copy", 4 * KIB * 20e6, None) and made == Ceiling(
        "null-storage", 4 * KIB * 1e5, None
    )
    copied, made = ceilings_at(MEASURED, 512 * KIB)
    assert (copied.other_transfer_size, copied.bytes_per_s) == (1024 * KIB, 1024 * KIB * 20_000)
    copied, made = ceilings_at(MEASURED[:2], 64 * KIB)
    assert (made.other_transfer_size, made.bytes_per_s) == (4 * KIB, 64 * KIB * 100_000), (
        "no more operations, but larger ones"
    )
    highest = {one.name: one.bytes_per_s for one in ceilings_at(MEASURED, None)}
    assert highest == {"memory-copy": 4 * KIB * 20e6, "null-storage": 1024 * KIB * 90e3}


def test_a_link_bounds_every_size_and_an_older_run_tells_its_size_by_its_operations() -> None:
    old = {key: value for key, value in MEASURED[3].items() if key != "transfer_size"}
    link, made = ceilings_at([{"name": "link", "bytes_per_s": 10**9}, old], 4 * KIB)
    assert link == Ceiling("link", 1e9, None) and made.other_transfer_size == 1024 * KIB


def said(analysis: Analysis) -> list[str]:
    return [finding.evidence for finding in analysis.findings if finding.code == "above-ceiling"]


@pytest.mark.parametrize(
    ("ceilings", "flagged"),
    [
        (MEASURED, []),
        (MEASURED[:2], []),
        ([entry("memory-copy", 1024 * KIB, 700)], ["is above the measured memory-copy ceiling of 734 MB/s"]),
        (
            [entry("memory-copy", 4 * KIB, 200_000)],
            ["is above the measured memory-copy ceiling of 819 MB/s, measured with transfers of 4 KiB"],
        ),
    ],
    ids=["of its size", "a generator of small ones", "a low one", "a low one of small ones"],
)
def test_megabytes_are_not_held_against_what_four_kilobytes_can(
    make_run: Make, quiet_curve: Curve, ceilings: list[dict[str, Any]], flagged: list[str]
) -> None:
    found = said(analyse(make_run(quiet_curve(), manifest={"ceilings": ceilings})))
    assert len(found) == len(flagged)
    for evidence, part in zip(found, flagged, strict=True):
        assert part in evidence


def test_picture_and_promise_say_that_a_ceiling_is_of_another_size(make_run: Make, quiet_curve: Curve) -> None:
    analysis = analyse(make_run(quiet_curve(), manifest={"ceilings": MEASURED[:2]}))
    (promise,) = [promise for promise in analysis.promises if promise.number == 3]
    assert "with those of the nearest size" in promise.evidence
    (exhibit,) = load_line.exhibits(analysis)
    caption = exhibit.variants[0].figures[0].caption
    assert "ceiling of memory copy and of null storage was measured with transfers of 4 KiB, not of 1 MiB." in caption


def test_ceilings_of_several_sizes_are_one_line_of_each_name() -> None:
    copied, made = phrases.ceilings(MEASURED)
    assert copied == ("memory copy, by transfer size: 81.9 GB/s at 4 KiB, 21.0 GB/s at 1 MiB with 2 tasks", "")
    assert made[0].startswith("null storage, by transfer size: 410 MB/s at 4 KiB")
    assert phrases.ceilings(MEASURED[:1])[0][1] == "measured"
