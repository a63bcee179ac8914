"""What a trial can do. One module a kind of workload; ``kind.py`` says what each promises."""

from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.registry import WORKLOADS, setting_of

__all__ = ["WORKLOADS", "Setting", "WorkloadSection", "setting_of"]
