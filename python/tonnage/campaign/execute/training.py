"""Trials of ``training``: the data set is laid out where it is not there, then the accelerators are fed from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tonnage.campaign.execute.executor import Executor, Refusal
from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds.training import PHASE, TrainingSetting, check_steps
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.records.phase_specs import PhaseSpec, Saving

_WRITERS = 8
"""Tasks that lay a data set out, at most."""
_PASSES = 1 << 20
"""More than a trial makes over its data set. Each trial has an order of its own, as each epoch has: what an order does
to the utilisation is then part of the interval."""


class TrainingExecutor(Executor[TrainingSetting]):
    """Trials of one data set find it as the first has left it."""

    def check(self, setting: TrainingSetting, target: Target) -> None:
        if target.names:
            raise RequestError("workload.kind: training makes its own files; hint: leave file_names out")
        check_steps(setting)

    def not_with_objects(self, setting: TrainingSetting, target: Target) -> Iterator[Refusal]:
        if target.bucket is not None and setting.samples_per_file > 1 and setting.shuffle == "samples":
            yield "objects are opened for each sample then", 'use shuffle = "files"'

    def try_out(self, setting: TrainingSetting, target: Target) -> PhaseSpec:  # noqa: ARG002  (as every kind's)
        return phase_spec(replace(setting, dataset_files=1), "try-out", 0, lay_out=True)

    def measure(self, setting: TrainingSetting, trial: TrialRun) -> Status:
        workspace = trial.workspace
        if trial.target.keeps and workspace.dataset != setting.dataset:
            workspace.clear()
            spec = phase_spec(setting, trial.record("write"), trial.seed, lay_out=True)
            status = trial.phase(setting, "write", spec, purpose="fill").status
            if status != "ok":
                workspace.clear()
                if status == "failed":
                    return trial.without(PHASE, "the data set could not be laid out")
                return status
            workspace.dataset = setting.dataset
        spec = phase_spec(setting, trial.record(PHASE), trial.seed, first_pass=trial.number * _PASSES)
        return trial.phase(setting, PHASE, spec).status


def phase_spec(
    setting: TrainingSetting, record: str, seed: int, *, lay_out: bool = False, first_pass: int = 0
) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/training.rs``) that measures ``setting``, or writes its data set."""
    tasks = min(_WRITERS, setting.dataset_files) if lay_out else setting.tasks + setting.writers
    saving: Saving | None = None
    if setting.checkpoint_every:
        saving = {
            "every_steps": setting.checkpoint_every,
            "writers": setting.writers,
            "writer_bytes": setting.part_bytes,
        }
    return {
        "record": record,
        "tasks": {"first": 0, "here": tasks, "total": tasks},
        "limit": {"time_ns": None if lay_out else setting.time_limit_ns},
        "seed": seed,
        "work": {
            "kind": "training",
            "step": "lay-out" if lay_out else "train",
            "dataset": {
                "files": setting.dataset_files,
                "samples_per_file": setting.samples_per_file,
                "sample_bytes": setting.sample_size,
                "spread_bytes": setting.sample_spread,
            },
            "transfer_size": setting.transfer_size,
            "accelerators": setting.accelerators,
            "readers": setting.readers,
            "batch_samples": setting.batch,
            "prefetch_batches": setting.prefetch,
            "compute_ns": setting.compute_ns,
            "steps": setting.steps,
            "epochs": setting.epochs,
            "shuffle": setting.shuffle,
            "first_pass": first_pass,
            "cache": setting.cache,
            "saving": saving,
        },
    }
