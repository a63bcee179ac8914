"""Trials of ``kv-cache``: files of the cache are laid out where they are not there, then users are served."""

from __future__ import annotations

from dataclasses import replace

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.run_phase import Status, TrialRun
from tonnage.campaign.kinds.kv_cache import PHASE, CacheFiles, KvCacheSetting, check_capacity
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.records.phase_specs import PhaseSpec

_WRITERS = 8
"""Tasks that lay a cache out, at most."""


class KvCacheExecutor(Executor[KvCacheSetting]):
    """Trials find the slots of the cache as those before have left them."""

    def check(self, setting: KvCacheSetting, target: Target) -> None:
        if target.names:
            raise RequestError("workload.kind: kv-cache makes its own files; hint: leave file_names out")
        check_capacity(setting)

    def try_out(self, setting: KvCacheSetting, target: Target) -> PhaseSpec:  # noqa: ARG002  (as every kind's)
        return phase_spec(replace(setting, users=1), "try-out", 0, laid_out=0)

    def measure(self, setting: KvCacheSetting, trial: TrialRun) -> Status:
        workspace, wanted = trial.workspace, setting.cache_files
        there = workspace.dataset if isinstance(workspace.dataset, CacheFiles) else None
        if there is None or replace(there, slots=wanted.slots) != wanted:
            there = None
        if trial.target.keeps and (there is None or there.slots < wanted.slots):
            if there is None:
                workspace.clear()
            spec = phase_spec(setting, trial.record("write"), trial.seed, laid_out=there.slots if there else 0)
            status = trial.phase(setting, "write", spec, purpose="fill").status
            if status != "ok":
                workspace.clear()
                if status == "failed":
                    return trial.without(PHASE, "the cache could not be laid out")
                return status
            workspace.dataset = wanted
        # Each trial has other turns, of which its figures must not depend.
        seed = (trial.seed + trial.number) % 2**63
        return trial.phase(setting, PHASE, phase_spec(setting, trial.record(PHASE), seed)).status


def phase_spec(setting: KvCacheSetting, record: str, seed: int, *, laid_out: int | None = None) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/kv_cache.rs``) that measures ``setting``, or writes the files of its cache
    but for the slots that are ``laid_out``."""
    files = (setting.slots - (laid_out or 0)) * setting.turns
    tasks = setting.users if laid_out is None else min(_WRITERS, files)
    return {
        "record": record,
        "tasks": {"first": 0, "here": tasks, "total": tasks},
        "limit": {"time_ns": setting.last_ns if laid_out is None else None},
        "seed": seed,
        "work": {
            "kind": "kv-cache",
            "step": "serve" if laid_out is None else "lay-out",
            "turn_bytes": setting.turn_bytes,
            "turns": setting.turns,
            "slots": setting.slots,
            "laid_out": laid_out or 0,
            "think_ns": setting.think_ns,
            "serve_ns": setting.duration_ns,
            "transfer_size": setting.transfer_size,
            "cache": setting.cache,
        },
    }
