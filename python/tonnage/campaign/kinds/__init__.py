"""What a trial can do, as data: one module a kind of workload; ``kind.py`` says what each promises."""

from __future__ import annotations

from typing import Any

from tonnage.campaign.kinds.checkpoint import Checkpoint
from tonnage.campaign.kinds.command import Command
from tonnage.campaign.kinds.files import Files
from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.network import Network
from tonnage.campaign.kinds.stage import Stage
from tonnage.campaign.kinds.stream import Stream
from tonnage.campaign.kinds.tail import Tail
from tonnage.records.shapes import SettingValues

__all__ = ["WORKLOADS", "Setting", "WorkloadSection", "setting_of"]

WORKLOADS: dict[str, type[WorkloadSection]] = {
    "stream": Stream,
    "files": Files,
    "tail": Tail,
    "checkpoint": Checkpoint,
    "command": Command,
    "stage": Stage,
    "network": Network,
}
"""Kind → the table of the campaign file."""


def setting_of(setting: SettingValues) -> Setting:
    """The setting in a line of ``trials.jsonl``; a line without a kind is of a stream."""
    known: type[Any] = WORKLOADS[setting.get("kind", "stream")].SETTING
    # A line that was read back has lists where a setting, which must be hashable, has tuples.
    found: Setting = known(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in setting.items()}
    )
    return found
