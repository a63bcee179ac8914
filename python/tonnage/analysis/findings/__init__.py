"""Named judgements on a run, each a small function in a registry. ``tonnage explain`` has a page for every code."""

from tonnage.analysis.findings import (
    collective,
    coordinated_omission,
    devices_and_hosts,
    imported,
    links,
    snapshots,
    throughput_curve,
    unequal_repetitions,
    untrue_figures,
    within_trial,
    workload_kinds,
)
from tonnage.analysis.findings import host_events as meanwhile
from tonnage.analysis.findings.finding_rules import REGISTRY, Evidence, judge

__all__ = [
    "REGISTRY", "Evidence", "collective", "curve", "hosts", "imported", "judge", "kinds", "links", "meanwhile",
    "noise", "omission", "snapshots", "time", "trust",
]  # fmt: skip
