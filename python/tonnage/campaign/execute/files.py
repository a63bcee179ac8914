"""Trials of ``files``: a tree is made, its names are worked on phase by phase, and what is left is removed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tonnage.campaign.execute.executor import Executor, Refusal
from tonnage.campaign.execute.hooks import Hook
from tonnage.campaign.execute.run_phase import PhaseOutcome, Status, TrialRun
from tonnage.campaign.kinds.files import MAKING, OF_DIRECTORIES, TREE, WRITING, FilesSetting
from tonnage.campaign.target import Target
from tonnage.records.phase_specs import PhaseSpec
from tonnage.units import format_size

_STEPS = {"stat": 1, "write": 1, "rename": 1, "read-directory": 1, "read": 2, "remove": 3}
"""How many shifts further a phase works than the one that created, as in mdtest: no task meets its own cache."""
_LIMITED = {
    "create", "make-directory", "write", "stat", "stat-directory", "read", "read-directory", "open-write-close",
    "churn",
}  # fmt: skip
"""Phases that a time limit may cut; what others left would be neither here nor there."""
_NOT_OF_OBJECTS = ("rename", "make-tree", "remove-tree")


class FilesExecutor(Executor[FilesSetting]):
    """Makes the tree, measures the phases in their order, and removes what is left. After a phase that failed, the
    others are recorded as failed too."""

    def not_with_objects(self, setting: FilesSetting, target: Target) -> Iterator[Refusal]:
        for phase in setting.phases:
            if phase in _NOT_OF_OBJECTS:
                yield f"objects have no directories and no other names, so there is nothing to {phase}", "leave it out"
        if setting.what != "files":
            yield "objects have no directories", 'use what = "files"'
        if setting.syncfs:
            yield "there is no file system to sync", "leave syncfs out"
        if target.pool is not None:
            yield from _not_in_pool(setting, target.pool["object_bytes"])

    def try_out(self, setting: FilesSetting, target: Target) -> PhaseSpec:  # noqa: ARG002  (as every kind's)
        # What moves bytes may be refused for their number.
        moving = [phase for phase in setting.phases if phase in {*WRITING, "read"} and setting.bytes_of(phase)]
        return phase_spec(setting, (moving or setting.phases)[0], "try-out", 0)

    def company(self, setting: FilesSetting, trial: TrialRun) -> PhaseSpec | None:
        trial.workspace.clear()
        tree = phase_spec(setting, "make-tree", trial.record("make-tree"), trial.seed)
        if trial.phase(setting, "make-tree", tree, purpose="fill").status != "ok":
            return None
        return phase_spec(setting, setting.phases[-1], trial.record(setting.phases[-1]), trial.seed)

    def measure(self, setting: FilesSetting, trial: TrialRun) -> Status:
        if setting.keep:
            return _measure(setting, trial)
        trial.workspace.clear()
        try:
            return _measure(setting, trial)
        finally:
            # A full disk must not stay full for the next trial.
            trial.workspace.clear()


def _not_in_pool(setting: FilesSetting, object_bytes: int) -> Iterator[Refusal]:
    if "read-directory" in setting.phases:
        yield "a pool lists all of its objects or none, so there is no directory to read", "leave read-directory out"
    if setting.file_size > object_bytes:
        yield (
            f"a file of {format_size(setting.file_size)} is one object, and those have {format_size(object_bytes)}",
            "give object more bytes, or measure large ones with the stream workload",
        )


def _measure(setting: FilesSetting, trial: TrialRun) -> Status:
    failed: str | None = None
    if "make-tree" not in setting.phases and not setting.keep:
        spec = phase_spec(setting, "make-tree", trial.record("make-tree"), trial.seed)
        status = trial.phase(setting, "make-tree", spec, purpose="fill").status
        if status == "interrupted":
            return status
        failed = "the tree could not be made" if status == "failed" else None
    counts: dict[bool, list[int]] = {}
    if setting.made is not None:
        # Not a smaller tree: trees that earlier builds left say by the number of an item in it what its file holds.
        counts = dict.fromkeys((False, True), [setting.items_there] * setting.tasks)
    renamed: set[bool] = set()
    for phase in setting.phases:
        if failed is not None:
            trial.without(phase, failed)
            continue
        of_directories = phase.endswith("-directory") and phase != "read-directory"
        spec = phase_spec(setting, phase, trial.record(phase), trial.seed)
        spec["work"]["counts"] = counts.get(of_directories, [])
        spec["work"]["renamed"] = of_directories in renamed
        measured = _with_hooks(setting, trial, phase, spec)
        if measured.status == "interrupted":
            return measured.status
        if measured.status == "failed":
            failed = "the phase before it failed"
        elif phase.startswith("rename"):
            renamed ^= {of_directories}
        elif phase in MAKING and measured.line["stop_reason"] == "time":
            made = measured.operations
            # Of shared files there are as many as the task has that made most.
            counts[of_directories] = [max(made)] * len(made) if setting.shared_files else made
    return "failed" if failed is not None else "ok"


def _with_hooks(setting: FilesSetting, trial: TrialRun, phase: str, spec: PhaseSpec) -> PhaseOutcome:
    """The phase, with the user's commands before and after it."""
    if phase in TREE or trial.target.scheme == "sim":
        return trial.phase(setting, phase, spec)
    hook = Hook(Path.cwd(), (), trial.interrupts)
    about = {"TONNAGE_TRIAL": str(trial.number), "TONNAGE_TASKS": str(setting.tasks), "TONNAGE_PHASE": phase}
    if reason := hook.run("before_phase", setting.before_phase, about):
        return PhaseOutcome(trial.without(phase, reason))
    if setting.before_phase and trial.interrupts:
        return PhaseOutcome("interrupted")
    measured = trial.phase(setting, phase, spec)
    if setting.after_phase and measured.status == "ok":
        began_ns = time.monotonic_ns()
        reason = hook.run("after_phase", setting.after_phase, about)
        trial.hook_took(phase, "after_phase", time.monotonic_ns() - began_ns)
        if reason:
            trial.phases.complain(reason)
    return measured


def phase_spec(setting: FilesSetting, phase: str, record: str, seed: int) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/files.rs``) that measures one phase of ``setting``."""
    steps = _STEPS.get(phase.removesuffix("-directory") if phase in OF_DIRECTORIES.values() else phase, 0)
    reads = phase == "read"
    if setting.collective and phase == "write":
        # What the first task made empty, each task fills for itself.
        steps = 0
    return {
        "record": record,
        "tasks": {"first": 0, "here": setting.tasks, "total": setting.tasks},
        "limit": {
            # What wears out has an end of its own: the others then do all that was made, however long it takes.
            "time_ns": setting.time_limit_ns if phase in (MAKING if setting.wear_out else _LIMITED) else None,
            "wear_out": setting.wear_out and phase in MAKING,
        },
        "seed": seed,
        "work": {
            "kind": "files",
            "op": phase,
            "tree": {
                "depth": setting.depth,
                "branch": setting.branch,
                "items_per_directory": setting.items_per_directory,
                "leaves_only": setting.leaves_only,
                "shared": setting.directories == "shared",
            },
            "operations": setting.operations,
            "file_bytes": setting.bytes_of(phase),
            "fsync": setting.sync != "none" and phase in WRITING,
            "syncfs": setting.syncfs,
            "mknod": setting.mknod,
            "collective": setting.collective,
            "shared_files": setting.shared_files,
            "shift": setting.shift * steps % setting.tasks,
            "random": setting.order == "random",
            "cache": setting.cache,
            "payload": setting.payload,
            "verify": setting.verify and reads,
            "check_written": setting.check_written and phase in WRITING,
        },
    }
