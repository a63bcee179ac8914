"""Where the bytes of a read came from is told as far as it is known, and no further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tonnage.analysis import analyse
from tonnage.records import Run
from tonnage.report import phrases

Make = Callable[..., Run]
GB = 10**9
CURVE = {2: [GB, GB, GB]}


def of(make_run: Make, ratio: float, cached: float = 0.0, p50_ns: int = 500_000, direct: bool = False) -> Any:
    """What the analysis says of reads through the cache, of which a device gave ``ratio`` times the bytes."""

    def alter(line: dict[str, Any]) -> None:
        line["latency"]["p50_ns"] = p50_ns

    cache = {"cached_before_bytes": int(cached * 1000), "examined_bytes": 1000, "device_bytes": int(ratio * GB)}
    return analyse(make_run(CURVE, op="read", result={"cache": cache, "direct": direct}, alter=alter))


def codes(analysis: Any) -> set[str]:
    return {found.code for found in analysis.findings} & {"cache-read", "cache-unknown", "read-ahead"}


@pytest.mark.parametrize(
    ("ratio", "cached", "words", "code"),
    [
        (1.0, 0.0, "cold, 100 %", set()),
        (1.02, 1.0, "cold, 100 %", set()),
        (0.2, 0.8, "warm, 20 %", {"cache-read"}),
        (620, 0.0, "cold, 620 times the bytes read", {"read-ahead"}),
        # Half of the bytes may have come from what was cached: eight times the other half hides it.
        (4, 0.5, "unknown, 4.00 times the bytes read", {"cache-unknown", "read-ahead"}),
    ],
)
def test_the_bytes_that_a_device_gave_for_each_byte_read_are_told(
    make_run: Make, ratio: float, cached: float, words: str, code: set[str]
) -> None:
    analysis = of(make_run, ratio, cached)
    (point,) = analysis.points
    assert phrases.cache(point) == words
    assert point.cache_device_ratio == pytest.approx(ratio) and point.cache_device_share == min(1, ratio)
    assert codes(analysis) == code


def test_a_cold_read_of_operations_as_fast_as_memory_says_so(make_run: Make) -> None:
    analysis = of(make_run, 1.0, p50_ns=900)
    assert codes(analysis) == {"read-ahead"}
    (found,) = (found for found in analysis.findings if found.code == "read-ahead")
    assert found.evidence == "half of the operations took 900 ns or less, which no device answers in, at 2 tasks"


def test_files_in_the_cache_that_nobody_counts_are_told_unless_the_reads_passed_it(make_run: Make) -> None:
    cache = {"cached_before_bytes": 700, "examined_bytes": 1000, "device_bytes": None}
    through = analyse(make_run(CURVE, op="read", result={"cache": cache, "direct": False}))
    assert codes(through) == {"cache-unknown"} and phrases.cache(through.points[0]) == "unknown"


def test_direct_reads_that_nobody_counts_are_no_figures_of_memory(make_run: Make) -> None:
    cache = {"cached_before_bytes": 700, "examined_bytes": 1000, "device_bytes": None}
    assert not codes(analyse(make_run(CURVE, op="read", result={"cache": cache, "direct": True})))
