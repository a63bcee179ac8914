"""A finding: a point whose trials have few operations says little about their latency."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.findings.finding_rules import Evidence, subject
from tonnage.analysis.results import Finding

LEAST = 10**12
"""Absurdly many, so that each run shows how the finding looks."""


def judge(evidence: Evidence) -> Iterator[Finding]:
    """A point of a run, by what is in its records and nothing else."""
    for op, group, points in evidence.curves():
        for point in points:
            count = point.latency.get("count", 0)
            if 0 < count < LEAST:
                yield Finding(
                    "few-operations",
                    subject(op, group, point.tasks),
                    f"its trials have {count} operations, fewer than {LEAST}",
                    "Let them last longer before you quote their percentiles.",
                )
                return
