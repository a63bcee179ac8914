"""Searches for the largest number of accelerators or users: what their trials are, and which campaigns have none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.kv_cache import KvCache, KvCacheSetting, with_users
from tonnage.campaign.kinds.training import Training, TrainingSetting, with_accelerators
from tonnage.campaign.number_search_tables import AcceleratorSearch, UserSearch
from tonnage.errors import RequestError
from tonnage.published.training_models import training_models
from tonnage.toml_documents import refuse
from tonnage.units import format_time, share

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign

UTILISATION = 0.9
"""Of an accelerator that counts as fed, where no model says it."""
_STEPS_LEAST, _STEPS = 20, 100
"""Of a trial, where all accelerators compute all the time."""
_UTILISATION_MOST = 0.99
"""Accelerators wait for each other's first batches, whatever the storage: more than this is no matter of its speed."""
_TURNS_LEAST = 40
"""Of one user in a trial: of fewer, the slowest alone is the 95th percentile."""
_BEYOND = 2
"""Times the objective for which turns that wait are waited for: then it is known that they do not meet it."""
_SHORTEST_NS = 1_000_000_000
_TRIALS = 24
"""The number of trials that a budget is divided into where steps are slow, or turns rare."""
_TRIALS_LEAST = 10
"""Fewer bracket nothing and repeat nothing."""


def largest_settings(search: AcceleratorSearch | UserSearch, settings: Iterable[Setting]) -> list[Setting]:
    """Returns what trials of ``settings`` come to at most, each once."""
    if isinstance(search, UserSearch):
        return list(dict.fromkeys(_largest_serving(search, setting) for setting in settings))
    return list(dict.fromkeys(_largest_feeding(search, setting) for setting in settings))


def _largest_feeding(search: AcceleratorSearch, setting: Setting) -> Setting:
    training = with_accelerators(training_of(setting), search.most)
    time_ns = _feeding_ns(search, training)
    return replace(training, time_limit_ns=time_ns, steps=time_ns // training.compute_ns + 2)


def _feeding_ns(search: AcceleratorSearch, setting: TrainingSetting) -> int:
    """Length of a trial: many steps, and short enough that there can be several."""
    wanted_ns = min(search.budget_ns // _TRIALS, _STEPS * setting.compute_ns)
    return max(_STEPS_LEAST * setting.compute_ns, _SHORTEST_NS, wanted_ns)


def _largest_serving(search: UserSearch, setting: Setting) -> Setting:
    cached = with_users(kv_cache_of(setting), search.most)
    time_ns = _serving_ns(search, cached)
    return replace(cached, duration_ns=time_ns, time_limit_ns=time_ns + _BEYOND * search.p95_ns)


def _serving_ns(search: UserSearch, setting: KvCacheSetting) -> int:
    """How long turns are due in a trial."""
    return max(_TURNS_LEAST * setting.think_ns, _SHORTEST_NS, search.budget_ns // _TRIALS)


def check_numbers(campaign: Campaign, *, written: bool) -> None:
    """Refuses a second search, workloads of which there is no one number, and a budget that shows nothing."""
    accelerators, users = campaign.accelerators, campaign.users
    mine = "accelerators" if users is None else "users"
    if campaign.search is not None or (accelerators is not None and users is not None):
        other = "accelerators" if campaign.search is None else "search"
        refuse(mine, f"[{other}] and [{mine}] are two searches", "keep one of them")
    if accelerators is not None:
        _check_feeding(accelerators, campaign.workloads, written=written)
    if users is not None:
        _check_serving(users, campaign.workloads, written=written)


def _check_feeding(search: AcceleratorSearch, workloads: Sequence[WorkloadSection], *, written: bool) -> None:
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
    if written:
        _refuse_stated("accelerators", training, {"accelerators", "steps", "time_limit_ns"})
    for key in ("readers", "batch", "prefetch", "transfer_size", "direct", "cache"):
        if len(getattr(training, key) or ()) > 1:
            refuse(f"workload.{key}", f"a search looks at one {key} at a time", f"give one {key}")
    if places := [key for key in training.PLACES if getattr(training, key) is not None]:
        refuse(
            f"workload.{places[0]}",
            f"a search looks at one place, and {places[0]} is a factor of sweeps",
            "leave it out",
        )
    first = training_of(training.settings()[0])
    trial_ns = _feeding_ns(search, first)
    if first.checkpoint_every and first.checkpoint_every > (steps := trial_ns // first.compute_ns):
        refuse(
            "workload.checkpoint_every",
            f"a trial has {steps} steps, and the first checkpoint comes after {first.checkpoint_every}",
            f"give at most {steps}",
        )
    _refuse_short("accelerators", search.budget_ns, trial_ns)


def _check_serving(search: UserSearch, workloads: Sequence[WorkloadSection], *, written: bool) -> None:
    if len(workloads) != 1 or not isinstance(workloads[0], KvCache):
        refuse("users", "[users] is about one workload of kind kv-cache", 'set kind = "kv-cache"')
    cached = workloads[0]
    if written:
        _refuse_stated("users", cached, {"users", "duration_ns", "time_limit_ns"})
    for key in ("context", "turn_tokens", "think_ns", "transfer_size", "direct", "cache", *cached.PLACES):
        name = key.removesuffix("_ns")
        if len(getattr(cached, key) or ()) > 1 or (key in cached.PLACES and getattr(cached, key) is not None):
            refuse(f"workload.{name}", f"a search looks at one {name}", f"give one {name}, or leave it out")
    _refuse_short("users", search.budget_ns, _serving_ns(search, kv_cache_of(cached.settings()[0])))


def _refuse_stated(table: str, workload: WorkloadSection, chosen: set[str]) -> None:
    """Refuses keys of the workload that the search chooses itself."""
    if stated := chosen & workload.model_fields_set:
        key = min(stated).removesuffix("_ns")
        refuse(f"workload.{key}", f"[{table}] says the {key}", f"leave {key} out, or [{table}]")


def _refuse_short(table: str, budget_ns: int, trial_ns: int) -> None:
    least_ns = _TRIALS_LEAST * trial_ns
    if budget_ns < least_ns:
        refuse(
            f"{table}.budget",
            f"a budget of {format_time(budget_ns)} is too short for {_TRIALS_LEAST} trials of {format_time(trial_ns)}",
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


def kv_cache_of(setting: Setting) -> KvCacheSetting:
    """``setting`` as that of a key–value cache; RequestError where it is another."""
    if not isinstance(setting, KvCacheSetting):
        raise RequestError("[users] is about a workload of kind kv-cache; hint: leave [users] out")
    return setting
