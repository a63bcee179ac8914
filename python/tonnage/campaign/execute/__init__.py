"""Carries trials out: one module a kind of workload; ``executor.py`` has their interface."""

from __future__ import annotations

from typing import Any

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.kinds import Setting
from tonnage.campaign.kinds.kind import OnDemand

__all__ = ["EXECUTORS", "Executor", "executor_of"]

_HERE = "tonnage.campaign.execute"
EXECUTORS = OnDemand[type[Executor[Any]]](
    {
        "stream": f"{_HERE}.stream:StreamExecutor",
        "files": f"{_HERE}.files:FilesExecutor",
        "tail": f"{_HERE}.tail:TailExecutor",
        "checkpoint": f"{_HERE}.checkpoint:CheckpointExecutor",
        "command": f"{_HERE}.command:CommandExecutor",
        "find": f"{_HERE}.find:FindExecutor",
        "stage": f"{_HERE}.stage:StageExecutor",
        "network": f"{_HERE}.network:NetworkExecutor",
        "training": f"{_HERE}.training:TrainingExecutor",
        "kv-cache": f"{_HERE}.kv_cache:KvCacheExecutor",
    }
)
"""Kind → what carries its trials out."""


def executor_of(setting: Setting) -> Executor[Any]:
    """Returns the executor that carries out the trials of a setting."""
    return EXECUTORS[setting.kind]()
