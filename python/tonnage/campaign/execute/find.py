"""Trials of ``find``: the files below the target are looked at, and left as they are."""

from __future__ import annotations

from pathlib import Path

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds.find import PHASE, FindSetting
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.records.phase_specs import PhaseSpec


class FindExecutor(Executor[FindSetting]):
    """On a model the files are those that the workload says."""

    def check(self, setting: FindSetting, target: Target) -> None:
        """RequestError where there is nothing to search, or no file to compare with."""
        if target.scheme == "sim":
            return
        if target.path is None:
            raise RequestError("a find searches one directory; hint: give one as target")
        if setting.newer is not None:
            changed_ns(setting.newer)

    def measure(self, setting: FindSetting, trial: TrialRun) -> Status:
        spec = phase_spec(setting, trial.target, trial.record(PHASE), trial.seed)
        return trial.phase(setting, PHASE, spec).status


def changed_ns(path: str) -> int:
    """When the file was made or last changed. RequestError where it is not there."""
    try:
        return Path(path).stat().st_ctime_ns
    except OSError as error:
        raise RequestError(f"workload.newer: {path}: {error.strerror}; hint: give a file that is there") from None


def phase_spec(setting: FindSetting, target: Target, record: str, seed: int) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/find.rs``) that searches."""
    is_model = target.scheme == "sim"
    return {
        "record": record,
        "tasks": {"first": 0, "here": setting.tasks, "total": setting.tasks},
        "limit": {"time_ns": setting.time_limit_ns},
        "seed": seed,
        "work": {
            "kind": "find",
            "root": "/" if is_model else str(target.path),
            "name": setting.pattern,
            "size_bytes": setting.size,
            # A model's files are all as they are asked for.
            "changed_since_ns": 0
            if setting.newer and is_model
            else changed_ns(setting.newer)
            if setting.newer
            else None,
            "files": setting.files,
        },
    }
