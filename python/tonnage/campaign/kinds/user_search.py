"""A search for the most users that are served: what its trials are, and which campaigns have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage.campaign.kinds.kind import Setting, WorkloadSection
from tonnage.campaign.kinds.kv_cache import KvCache, KvCacheSetting, with_users
from tonnage.campaign.users import UserSearch
from tonnage.errors import RequestError
from tonnage.toml_documents import refuse
from tonnage.units import format_time

_TURNS_LEAST = 40
"""Of one user in a trial: of fewer, the slowest alone is the 95th percentile."""
_SHORTEST_NS = 1_000_000_000
_TRIALS = 24
"""That a budget is cut into where turns are rare."""
_TRIALS_LEAST = 10
"""Fewer bracket nothing and repeat nothing."""
_BEYOND = 2
"""Times the objective for which turns that wait are waited for: then it is known that they do not meet it."""


def largest(search: UserSearch, setting: Setting) -> KvCacheSetting:
    """What a trial of ``setting`` comes to at most."""
    cached = with_users(kv_cache_of(setting), search.most)
    time_ns = trial_ns(search, cached)
    return replace(cached, duration_ns=time_ns, time_limit_ns=time_ns + _BEYOND * search.p95_ns)


def trial_ns(search: UserSearch, setting: KvCacheSetting) -> int:
    """How long turns are due in a trial."""
    return max(_TURNS_LEAST * setting.think_ns, _SHORTEST_NS, search.budget_ns // _TRIALS)


def check_serving(search: UserSearch, workloads: Sequence[WorkloadSection], *, written: bool) -> None:
    """Refuses workloads of which there is no one number of users, and a budget that shows nothing."""
    if len(workloads) != 1 or not isinstance(workloads[0], KvCache):
        refuse("users", "[users] is about one workload of kind kv-cache", 'set kind = "kv-cache"')
    cached = workloads[0]
    if written and {"users", "duration_ns", "time_limit_ns"} & cached.model_fields_set:
        key = min({"users", "duration_ns", "time_limit_ns"} & cached.model_fields_set).removesuffix("_ns")
        refuse(f"workload.{key}", f"[users] says the {key}", f"leave {key} out, or [users]")
    for key in ("context", "turn_tokens", "think_ns", "transfer_size", "direct", "cache", *cached.PLACES):
        name = key.removesuffix("_ns")
        if len(getattr(cached, key) or ()) > 1 or (key in cached.PLACES and getattr(cached, key) is not None):
            refuse(f"workload.{name}", f"a search looks at one {name}", f"give one {name}, or leave it out")
    first = cached.settings()[0]
    least_ns = _TRIALS_LEAST * trial_ns(search, kv_cache_of(first))
    if search.budget_ns < least_ns:
        refuse(
            "users.budget",
            f"a budget of {format_time(search.budget_ns)} is too short for {_TRIALS_LEAST} trials of "
            f"{format_time(least_ns // _TRIALS_LEAST)}",
            f"give at least {format_time(least_ns)}",
        )


def kv_cache_of(setting: Setting) -> KvCacheSetting:
    """``setting`` as that of a key–value cache; RequestError where it is another."""
    if not isinstance(setting, KvCacheSetting):
        raise RequestError("[users] is about a workload of kind kv-cache; hint: leave [users] out")
    return setting
