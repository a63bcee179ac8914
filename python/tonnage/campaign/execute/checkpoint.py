"""Trials of ``checkpoint``: rounds are written, one is read back, and the snapshots go."""

from __future__ import annotations

from dataclasses import replace

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds.checkpoint import CHECKPOINT, RESTART, CheckpointSetting, why_no_snapshots
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.records.phase_specs import PhaseSpec, SnapshotMeans

_MEANS = {"rados": "rados-self-managed"}
"""What the engine calls a means (``crates/workload/src/checkpoint.rs``) where a campaign file has a shorter name."""
_OF_POOLS = ("rados", "rados-pool")
_OF_FILES = ("cephfs", "btrfs", "reflink")


class CheckpointExecutor(Executor[CheckpointSetting]):
    """On fresh files. Snapshots are removed whatever became of the phases before."""

    def check(self, setting: CheckpointSetting, target: Target) -> None:
        if target.names:
            raise RequestError("workload.kind: checkpoint makes its own files; hint: leave file_names out")
        if setting.snapshot == "auto":
            raise RequestError(
                f"workload.snapshot: {why_no_snapshots(target)}; hint: give another target, or use command or none"
            )
        if setting.snapshot == "none" or target.scheme == "sim" or setting.snapshot == "command":
            return
        needed = "rados" if setting.snapshot in _OF_POOLS else "sim" if setting.snapshot == "model" else "path"
        if target.scheme != needed:
            able = {"rados": _OF_POOLS, "path": _OF_FILES}.get(target.scheme, ())
            hint = f"use {', '.join((*able, 'command'))} or none"
            raise RequestError(
                f"workload.snapshot: {target.uri} has no snapshots of kind {setting.snapshot}; hint: {hint}"
            )

    def try_out(self, setting: CheckpointSetting, target: Target) -> PhaseSpec:
        one = replace(setting, tasks=1, rounds=1, block_size=setting.transfer_size)
        return phase_spec(one, CHECKPOINT, "try-out", 0, modelled=target.scheme == "sim")

    def measure(self, setting: CheckpointSetting, trial: TrialRun) -> Status:
        trial.workspace.clear()
        modelled, failed = trial.target.scheme == "sim", False
        try:
            for step in setting.phases:
                if failed and step == RESTART:
                    trial.without(step, "the checkpoint that it reads could not be written")
                    continue
                spec = phase_spec(setting, step, trial.record(step), trial.seed, modelled=modelled)
                status = trial.phase(setting, step, spec).status
                if status == "interrupted":
                    return status
                failed = failed or status == "failed"
        finally:
            trial.workspace.clear()
        return "failed" if failed else "ok"


def phase_spec(setting: CheckpointSetting, step: str, record: str, seed: int, *, modelled: bool) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/checkpoint.rs``) that measures one step; ``modelled``: on a simulator, which
    has one kind of snapshot."""
    chosen = setting.restart if isinstance(setting.restart, int) else None
    spec: PhaseSpec = {
        "record": record,
        "tasks": {"first": 0, "here": setting.tasks, "total": setting.tasks},
        "seed": seed,
        "work": {
            "kind": "checkpoint",
            "step": step,
            "rounds": setting.rounds,
            "think_ns": setting.think_ns,
            "coordination": setting.coordination,
            "geometry": {
                "transfer_size": setting.transfer_size,
                "block_size": setting.block_size,
                "segments": 1,
                "layout": setting.layout,
                "access": "sequential",
            },
            "queue_depth": setting.queue_depth,
            "durability": setting.sync,
            "cache": setting.cache if step == RESTART else "keep",
            "payload": setting.payload,
            "verify": setting.verify and step == RESTART,
            "snapshot": _snapshot(setting, modelled=modelled),
            "of_round": chosen if step == RESTART else None,
        },
    }
    if setting.retry_for_ns:
        spec["work"]["retry_ns"] = setting.retry_for_ns
    return spec


def _snapshot(setting: CheckpointSetting, *, modelled: bool) -> SnapshotMeans | None:
    if setting.snapshot == "none":
        return None
    if modelled:
        return {"means": "model"}
    if setting.snapshot == "command":
        return {
            "means": "command",
            "argv": list(setting.snapshot_command),
            "remove_argv": list(setting.remove_command) or None,
            "read_directory": setting.snapshot_directory,
            "timeout_ns": setting.snapshot_timeout_ns,
        }
    return {"means": _MEANS.get(setting.snapshot, setting.snapshot)}
