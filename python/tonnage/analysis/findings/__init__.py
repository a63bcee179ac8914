"""Named judgements on a run, each a small function in a registry. ``tonnage explain`` has a page for every code."""

# isort: off
# A run's findings are printed in the order of these imports, whatever the files are called.
from tonnage.analysis.findings import collective
from tonnage.analysis.findings import throughput_curve
from tonnage.analysis.findings import devices_and_hosts
from tonnage.analysis.findings import imported
from tonnage.analysis.findings import workload_kinds
from tonnage.analysis.findings import company
from tonnage.analysis.findings import links
from tonnage.analysis.findings import unequal_repetitions
from tonnage.analysis.findings import coordinated_omission
from tonnage.analysis.findings import snapshots
from tonnage.analysis.findings import within_trial
from tonnage.analysis.findings import untrue_figures
from tonnage.analysis.findings import host_events
from tonnage.analysis.findings.finding_rules import REGISTRY, Evidence, judge
# isort: on

__all__ = [
    "REGISTRY", "Evidence", "collective", "company", "coordinated_omission", "devices_and_hosts", "host_events",
    "imported", "judge", "links", "snapshots", "throughput_curve", "unequal_repetitions", "untrue_figures",
    "within_trial", "workload_kinds",
]  # fmt: skip
