"""``kv-cache``: users of an inference server whose key–value cache is on a storage, as MLPerf Storage has it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tonnage.campaign.kinds.kind import MOST_TRANSFER, Factors, Setting, Transfers, WorkloadSection, scaled
from tonnage.campaign.kinds.stream import Cache, Direct
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.field_types import Count, Size, Sweep, Time
from tonnage.published.kv_cache_models import kv_cache_models
from tonnage.records.phase_specs import Delays
from tonnage.toml_documents import refuse, time_field
from tonnage.units import format_size, format_time

PHASE = "serve"
_FREE_SHARE = 10
"""So much of what is free is the cache, as a divisor, where a campaign says nothing."""
_STEP = 4096
"""What a turn adds has a multiple of so many bytes, so that it can go past the page cache."""
_LATE = 2
"""Turns that wait begin until so many times the duration."""


def _published(name: Any) -> Any:
    if name not in kv_cache_models():
        raise ValueError(f"there is no model {name!r}; hint: they are {', '.join(kv_cache_models())}")
    return name


_MODEL = {"enum": list(kv_cache_models())}
Model = Annotated[str, BeforeValidator(_published), WithJsonSchema(_MODEL)]


@dataclass(frozen=True, slots=True)
class CacheFiles:
    """What distinguishes the files of one cache from those of another, and how many slots have theirs."""

    turn_bytes: int
    turns: int
    direct: str
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCacheSetting(Setting):
    """Every factor of a key–value cache. ``tasks`` are the users. Sizes in bytes."""

    kind: str = "kv-cache"
    model: str | None
    """The published one, where its size of a token was not given otherwise."""
    users: int
    token_size: int
    context: int
    turn_tokens: int
    think_ns: int
    capacity: int | None
    duration_ns: int
    transfer_size: int
    cache: str

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def turn_bytes(self) -> int:
        """Bytes that a turn adds to its conversation."""
        return -(-self.turn_tokens * self.token_size // _STEP) * _STEP

    @property
    def turns(self) -> int:
        """Of a conversation."""
        return self.context // self.turn_tokens

    @property
    def conversation_bytes(self) -> int:
        """At its end."""
        return self.turns * self.turn_bytes

    @property
    def slots(self) -> int:
        """Conversations that the cache has room for, of all users at most."""
        return self.users if self.capacity is None else min(self.users, self.capacity // self.conversation_bytes)

    @property
    def cache_files(self) -> CacheFiles:
        """The files that it works on."""
        return CacheFiles(self.turn_bytes, self.turns, self.direct, self.slots)

    @property
    def last_ns(self) -> int:
        """No turn begins later than this after the start."""
        return _LATE * self.duration_ns if self.time_limit_ns is None else self.time_limit_ns

    @property
    def buffer_bytes(self) -> int:
        return 2 * self.transfer_size

    @property
    def space_bytes(self) -> int:
        return self.slots * self.conversation_bytes

    @property
    def smaller(self) -> str:
        return "use a smaller capacity, context or scale"

    @property
    def turns_due(self) -> int:
        """Turns of all users in a trial, on average."""
        return self.users * self.duration_ns // self.think_ns

    @property
    def write_bytes(self) -> int:
        return self.space_bytes + self.turns_due * self.conversation_bytes

    @property
    def read_bytes(self) -> int:
        return self.turns_due * self.conversation_bytes

    @property
    def time_ns_most(self) -> int | None:
        return self.last_ns

    def least_ns(self, delays: Delays) -> int:  # noqa: ARG002  (as every kind's)
        return min(self.duration_ns, self.last_ns) - self.think_ns

    def describe(self) -> str:
        return (
            f"{self.users} users  turns of {self.turn_tokens} tokens × {format_size(self.token_size)}"
            f"  conversations of {format_size(self.conversation_bytes)}, {self.slots} in the cache"
            f"  think {format_time(self.think_ns)}  {format_time(self.duration_ns)}  direct {self.direct}"
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, "unique")


class KvCache(WorkloadSection):
    """Users whose conversations an inference server keeps on a storage: each turn reads what there is of its
    conversation, and writes what it adds."""

    SETTING = KvCacheSetting

    kind: Literal["kv-cache"] = Field(description="users of an inference server whose key–value cache is on the target")
    model: Model | None = Field(None, description="a published model, such as llama3.1-8b, which has a token_size")
    users: Sweep[Count] = Field((1, 2, 4, 8), description="users that are served at once, each a task")
    token_size: Size | None = Field(None, description="bytes of the cache for each token; of the model, times scale")
    context: Sweep[Count] = Field((4096,), description="tokens of a conversation at its end; then the user begins anew")
    turn_tokens: Sweep[Count] = Field((512,), description="tokens that a turn adds, question and answer")
    think_ns: Sweep[Time] = time_field(
        "think", (300_000_000,), "time from the intended start of a user's turn to the next, on average"
    )
    capacity: Size | None = Field(
        None, description="bytes of all conversations that are kept; of all users, at most a tenth of the free space"
    )
    duration_ns: Time = time_field("duration", 15 * 10**9, "turns are intended to begin for so long")
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one call")
    direct: Sweep[Direct] = Field(
        ("auto",), description="past the page cache (O_DIRECT), through it, or past it where possible"
    )
    cache: Sweep[Cache] = Field(("drop",), description="the page cache before each trial")
    time_limit_ns: Time | None = time_field(
        "time_limit", None, "no turn begins later than this after the start; twice the duration"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> KvCache:
        if self.model is None and self.token_size is None:
            refuse(
                "token_size", "without a model, kv-cache needs token_size", "give it, or a model such as llama3.1-8b"
            )
        for context in self.context:
            for tokens in self.turn_tokens:
                if context < tokens:
                    refuse("context", f"a context of {context} tokens has no turn of {tokens}", "give a larger context")
        for transfer_size in self.transfer_size:
            if transfer_size > MOST_TRANSFER or transfer_size % _STEP:
                refuse(
                    "transfer_size",
                    f"transfer_size {format_size(transfer_size)} is no multiple of 4KiB up to 1GiB",
                    "use 1MiB",
                )
        if self.time_limit_ns is not None and self.time_limit_ns < self.duration_ns:
            refuse("time_limit", "time_limit ends before the last turns are due", "give at least the duration")
        return self

    def on(self, target: Target) -> KvCache:
        free = [os.statvfs(path) for path in target.paths if path.is_dir()]
        if self.capacity is not None or not free:
            return self
        room = min(facts.f_bavail * facts.f_frsize // _FREE_SHARE for facts in free)
        return self.model_copy(update={"capacity": max(room, 1)})

    def knobs(self, factors: Factors, scale: float) -> Factors:
        model = kv_cache_models().get(self.model or "")
        found = super().knobs(factors, scale)
        token_size = self.token_size or (model.token_bytes if model else 0)
        return found | {
            "model": None if self.token_size else self.model,
            "tasks": found["users"],
            "token_size": scaled(token_size, scale),
        }


def with_users(setting: KvCacheSetting, users: int) -> KvCacheSetting:
    """Returns the same setting for so many users."""
    return replace(setting, users=users, tasks=users)


def check_capacity(setting: KvCacheSetting) -> None:
    """RequestError where the cache has no room for one conversation."""
    if setting.slots == 0:
        raise RequestError(
            f"workload.capacity: {format_size(setting.capacity or 0)} have no room for one conversation of "
            f"{format_size(setting.conversation_bytes)}; hint: give more, a shorter context, or a smaller scale"
        )
