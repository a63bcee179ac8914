"""What a trial can do, as data: one module a kind of workload; ``kind.py`` says what each promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tonnage.campaign.kinds.checkpoint import Checkpoint, CheckpointSetting
from tonnage.campaign.kinds.command import Command, CommandSetting
from tonnage.campaign.kinds.files import Files, FilesSetting
from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.network import Network, NetworkSetting
from tonnage.campaign.kinds.stage import Stage, StageSetting
from tonnage.campaign.kinds.stream import Stream, StreamSetting
from tonnage.campaign.kinds.tail import Tail, TailSetting

__all__ = ["SETTINGS", "WORKLOADS", "Setting", "WorkloadSection", "setting_of"]

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

SETTINGS: dict[str, type[Setting]] = {
    "stream": StreamSetting,
    "files": FilesSetting,
    "tail": TailSetting,
    "checkpoint": CheckpointSetting,
    "command": CommandSetting,
    "stage": StageSetting,
    "network": NetworkSetting,
}
"""Kind → a setting of all its factors."""


def setting_of(setting: Mapping[str, Any]) -> Setting:
    """The setting in a line of ``trials.jsonl``; a line without a kind is of a stream."""
    known: type[Any] = SETTINGS[setting.get("kind", "stream")]
    # A line that was read back has lists where a setting, which must be hashable, has tuples.
    found: Setting = known(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in setting.items()}
    )
    return found
