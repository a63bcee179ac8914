"""A search for the most accelerators that are fed: what its trials are, and which campaigns have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage.campaign.accelerators import AcceleratorSearch
from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.training import Training, TrainingSetting, with_accelerators
from tonnage.errors import RequestError
from tonnage.published.training_models import training_models
from tonnage.toml_documents import refuse
from tonnage.units import format_time, share

UTILISATION = 0.9
"""Of an accelerator that counts as fed, where no model says it."""
_STEPS_LEAST, _STEPS = 20, 100
"""Of a trial, where all accelerators compute all the time."""
_UTILISATION_MOST = 0.99
"""Accelerators wait for each other's first batches, whatever the storage: more than this is no matter of its speed."""
_SHORTEST_NS = 1_000_000_000
_TRIALS = 24
"""That a budget is cut into where computing is slow."""
_TRIALS_LEAST = 10
"""Fewer bracket nothing and repeat nothing."""


def largest(search: AcceleratorSearch, setting: Setting) -> Setting:
    """What a trial of ``setting`` comes to at most."""
    training = with_accelerators(training_of(setting), search.most)
    time_ns = trial_ns(search, training)
    return replace(training, time_limit_ns=time_ns, steps=time_ns // training.compute_ns + 2)


def trial_ns(search: AcceleratorSearch, setting: TrainingSetting) -> int:
    """Length of a trial: many steps, and short enough that there can be several."""
    wanted_ns = min(search.budget_ns // _TRIALS, _STEPS * setting.compute_ns)
    return max(_STEPS_LEAST * setting.compute_ns, _SHORTEST_NS, wanted_ns)


def check_feeding(search: AcceleratorSearch, workloads: Sequence[WorkloadSection], *, written: bool) -> None:
    """Refuses workloads of which there is no one number of accelerators, and a budget that shows nothing."""
    if len(workloads) != 1 or not isinstance(workloads[0], Training):
        refuse("accelerators", "[accelerators] is about one workload of kind training", 'set kind = "training"')
    training = workloads[0]
    if search.utilisation is not None and search.utilisation > _UTILISATION_MOST:
        refuse(
            "accelerators.utilisation",
            f"no storage, however fast, shows a utilisation of {share(search.utilisation)}: accelerators wait for each "
            "other as well",
            f"give at most {share(_UTILISATION_MOST)}",
        )
    if written and {"accelerators", "steps", "time_limit_ns"} & training.model_fields_set:
        key = min({"accelerators", "steps", "time_limit_ns"} & training.model_fields_set).removesuffix("_ns")
        refuse(f"workload.{key}", f"[accelerators] says the {key}", f"leave {key} out, or [accelerators]")
    for key in ("readers", "batch", "prefetch", "transfer_size", "direct", "cache"):
        if len(getattr(training, key) or ()) > 1:
            refuse(f"workload.{key}", f"a search looks at one {key} at a time", f"give one {key}")
    if places := [key for key in training.PLACES if getattr(training, key) is not None]:
        refuse(
            f"workload.{places[0]}",
            f"a search looks at one place, and {places[0]} is a factor of sweeps",
            "leave it out",
        )
    first = training.settings()[0]
    if isinstance(first, TrainingSetting) and (every := first.checkpoint_every):
        steps = trial_ns(search, first) // first.compute_ns
        if every > steps:
            refuse(
                "workload.checkpoint_every",
                f"a trial has {steps} steps, and the first checkpoint comes after {every}",
                f"give at most {steps}",
            )
    least_ns = _TRIALS_LEAST * trial_ns(search, first) if isinstance(first, TrainingSetting) else 0
    if search.budget_ns < least_ns:
        refuse(
            "accelerators.budget",
            f"a budget of {format_time(search.budget_ns)} is too short for {_TRIALS_LEAST} trials of "
            f"{format_time(least_ns // _TRIALS_LEAST)}",
            f"give at least {format_time(least_ns)}",
        )


def objective_of(search: AcceleratorSearch, training: WorkloadSection) -> float:
    """The utilisation that counts as fed: as given, as the model has it, or the usual one."""
    model = training_models().get(getattr(training, "model", None) or "")
    return search.utilisation or (model.utilisation if model else UTILISATION)


def training_of(setting: Setting) -> TrainingSetting:
    """``setting`` as that of a training; RequestError where it is another."""
    if not isinstance(setting, TrainingSetting):
        raise RequestError("[accelerators] is about a workload of kind training; hint: leave [accelerators] out")
    return setting
