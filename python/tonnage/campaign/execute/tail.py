"""Trials of ``tail``: one phase, on a fresh file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tonnage.campaign.execute.executor import Executor, Refusal
from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds.tail import PHASE, TailSetting
from tonnage.campaign.target import Target
from tonnage.records.phase_specs import PhaseSpec


class TailExecutor(Executor[TailSetting]):
    """The file goes when the trial is over."""

    def not_with_objects(self, setting: TailSetting, target: Target) -> Iterator[Refusal]:  # noqa: ARG002
        if target.bucket is not None:
            yield "nobody can follow an object: it is not there before it is whole", "use a directory"

    def try_out(self, setting: TailSetting, target: Target) -> PhaseSpec:  # noqa: ARG002  (as every kind's)
        few = min(setting.readers, 1)
        one = replace(setting, file_size=setting.transfer_size, readers=few, tasks=1 + few, verify=False)
        return phase_spec(one, "try-out", 0)

    def measure(self, setting: TailSetting, trial: TrialRun) -> Status:
        trial.workspace.clear()
        try:
            return trial.phase(setting, PHASE, phase_spec(setting, trial.record(PHASE), trial.seed)).status
        finally:
            trial.workspace.clear()


def phase_spec(setting: TailSetting, record: str, seed: int) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/tail.rs``) that measures ``setting``."""
    spec: PhaseSpec = {
        "record": record,
        "tasks": {"first": 0, "here": setting.tasks, "total": setting.tasks},
        "limit": {"time_ns": setting.time_limit_ns},
        "seed": seed,
        "work": {
            "kind": "tail",
            "transfer_size": setting.transfer_size,
            "file_bytes": setting.file_size,
            "follow": setting.follow,
            "waiting": setting.wait,
            "poll_ns": setting.poll_ns,
            "grace_ns": setting.grace_ns,
            "durability": setting.sync,
            "verify": setting.verify,
        },
    }
    if setting.rate_bytes_per_s:
        spec["pace"] = {"bytes_per_s": setting.rate_bytes_per_s}
    return spec
