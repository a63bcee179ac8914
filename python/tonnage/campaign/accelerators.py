"""``[accelerators]``: the table of a campaign that looks for the most accelerators that a storage feeds."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tonnage.campaign.kinds import Setting, WorkloadSection
from tonnage.campaign.kinds.training import Training, TrainingSetting, with_accelerators
from tonnage.document_table import DocumentTable, refuse, time_field
from tonnage.errors import RequestError
from tonnage.field_types import Count, Share, Time
from tonnage.published.training_models import training_models
from tonnage.units import format_time

UTILISATION = 0.9
"""Of an accelerator that counts as fed, where no model says it."""
_STEPS = 20
"""Of a trial, where all accelerators compute all the time."""
_SHORTEST_NS, _LONGEST_NS = 1_000_000_000, 10_000_000_000
_TRIALS = 40
"""That a budget is cut into."""
_TRIALS_LEAST = 10
"""Fewer bracket nothing and repeat nothing."""


class AcceleratorSearch(DocumentTable):
    """A search for the most accelerators that are fed, instead of the numbers of a workload."""

    utilisation: Share | None = Field(
        None, description="share of the time that an accelerator that is fed computes; of the model, or 90 %"
    )
    most: Count = Field(64, description="largest number of accelerators tried")
    budget_ns: Time = time_field("budget", 300 * 10**9, "time for the whole search")

    def largest(self, setting: Setting) -> Setting:
        """What a trial of ``setting`` comes to at most."""
        if not isinstance(setting, TrainingSetting):
            return setting
        return self.timed(with_accelerators(setting, self.most))

    def timed(self, setting: TrainingSetting) -> TrainingSetting:
        """``setting`` for the time of a trial."""
        from dataclasses import replace

        time_ns = self.trial_ns(setting)
        return replace(setting, time_limit_ns=time_ns, steps=time_ns // setting.compute_ns + 2)

    def trial_ns(self, setting: TrainingSetting) -> int:
        """Length of a trial: many steps, and short enough that there can be several."""
        steps_ns = _STEPS * setting.compute_ns
        return max(steps_ns, _SHORTEST_NS, min(self.budget_ns // _TRIALS, _LONGEST_NS))


def check_feeding(search: AcceleratorSearch, workloads: Sequence[WorkloadSection], *, written: bool) -> None:
    """Refuses workloads of which there is no one number of accelerators, and a budget that shows nothing."""
    if len(workloads) != 1 or not isinstance(workloads[0], Training):
        refuse("accelerators", "[accelerators] is about one workload of kind training", 'set kind = "training"')
    training = workloads[0]
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
    least_ns = _TRIALS_LEAST * search.trial_ns(first) if isinstance(first, TrainingSetting) else 0
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
