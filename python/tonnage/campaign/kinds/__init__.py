"""The kinds of workload as data, one module each; ``kind.py`` has their interface."""

from __future__ import annotations

from typing import Any

from tonnage.campaign.kinds.kind import OnDemand, Setting, WorkloadSection
from tonnage.records.line_types import SettingValues

__all__ = ["WORKLOADS", "Setting", "WorkloadSection", "setting_of"]

_HERE = "tonnage.campaign.kinds"
WORKLOADS = OnDemand[type[WorkloadSection]](
    {
        "stream": f"{_HERE}.stream:Stream",
        "files": f"{_HERE}.files:Files",
        "tail": f"{_HERE}.tail:Tail",
        "checkpoint": f"{_HERE}.checkpoint:Checkpoint",
        "command": f"{_HERE}.command:Command",
        "find": f"{_HERE}.find:Find",
        "stage": f"{_HERE}.stage:Stage",
        "network": f"{_HERE}.network:Network",
        "training": f"{_HERE}.training:Training",
        "kv-cache": f"{_HERE}.kv_cache:KvCache",
    }
)
"""Kind → the table of the campaign file. To build the tables of all takes longer than all else before a first trial."""


def setting_of(setting: SettingValues) -> Setting:
    """The setting in a line of ``trials.jsonl``; a line without a kind is of a stream."""
    known: type[Any] = WORKLOADS[setting.get("kind", "stream")].SETTING
    # A line that was read back has lists where a setting, which must be hashable, has tuples.
    found: Setting = known(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in setting.items()}
    )
    return found
