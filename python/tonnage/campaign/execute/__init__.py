"""What carries a trial out: one module a kind of workload; ``executor.py`` says what each promises."""

from __future__ import annotations

from typing import Any

from tonnage.campaign.execute.checkpoint import CheckpointExecutor
from tonnage.campaign.execute.command import CommandExecutor
from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.files import FilesExecutor
from tonnage.campaign.execute.network import NetworkExecutor
from tonnage.campaign.execute.stage import StageExecutor
from tonnage.campaign.execute.stream import StreamExecutor
from tonnage.campaign.execute.tail import TailExecutor
from tonnage.campaign.kinds import Setting

__all__ = ["EXECUTORS", "Executor", "executor_of"]

EXECUTORS: dict[str, Executor[Any]] = {
    "stream": StreamExecutor(),
    "files": FilesExecutor(),
    "tail": TailExecutor(),
    "checkpoint": CheckpointExecutor(),
    "command": CommandExecutor(),
    "stage": StageExecutor(),
    "network": NetworkExecutor(),
}
"""Kind → what carries its trials out."""


def executor_of(setting: Setting) -> Executor[Any]:
    """What carries out the trials of a setting."""
    return EXECUTORS[setting.kind]
