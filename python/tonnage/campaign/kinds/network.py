"""The table of a ``network`` workload, and the settings that it expands into."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from tonnage.campaign.kinds.kind import Factors, Setting, WorkloadSection, scaled
from tonnage.errors import RequestError
from tonnage.field_types import Count, Delay, Name, Rate, Sweep, Time
from tonnage.toml_documents import refuse, time_field, unit_field
from tonnage.units import plural

PHASE = "network"
SECOND_NS = 10**9

Direction = Literal["send", "receive", "both"]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:%_-]{0,254}$")]
"""What a client connects to: a name, or an address of either family."""


def _as_names(value: Any) -> Any:
    """A pair as it stands in records, ``a:b``, or as a file writes it, ``["a", "b"]``."""
    return tuple(value.split(":")) if isinstance(value, str) else value


HostPair = Annotated[tuple[Name, Name], BeforeValidator(_as_names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSetting(Setting):
    """Every factor of a trial between hosts. ``pairs`` are ``first:second``; a task is a flow, from one host to one."""

    kind: str = "network"
    storage: str = "null"
    pairs: tuple[str, ...]
    streams: int
    direction: str
    duration_ns: int
    omit_ns: int
    limit_bytes_per_s: int | None
    """Of each flow."""
    ports: tuple[int, int]
    addresses: tuple[str, ...]
    """``host=address``."""
    carries: tuple[str, ...] | None

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def needs_scratch(self) -> bool:
        return False

    @property
    def ends(self) -> list[tuple[str, str]]:
        """Both hosts of each pair: the one that opens the connection, and the other."""
        return [(one, other) for one, _, other in (pair.partition(":") for pair in self.pairs)]

    @property
    def time_ns_most(self) -> int:
        return self.duration_ns + self.omit_ns

    def describe(self) -> str:
        lasts = f"{self.duration_ns // SECOND_NS} s after {self.omit_ns // SECOND_NS} s"
        each = plural(self.streams, "stream")
        return f"{' '.join(self.pairs)}  {self.direction}  {each}  {lasts}"


class Network(WorkloadSection):
    """Pairs of hosts, and what is sent between them."""

    SETTING = NetworkSetting

    kind: Literal["network"] = Field(description="iperf3 between hosts: the links that a storage is reached over")
    pairs: Literal["all", "each"] | Annotated[tuple[HostPair, ...], Field(min_length=1)] = Field(
        "all",
        description="all: every two of the hosts; each: the first half of them with the second, one to one; "
        "or a list of pairs, of which the first opens the connection",
    )
    direction: Sweep[Direction] = Field(
        ("send", "receive"), description="from the first of a pair to the second, the other way, or both at once"
    )
    streams: Sweep[Count] = Field((1, 10), description="TCP connections of each pair and way")
    at_once: Sweep[bool] = Field((False,), description="all pairs in one trial, or a trial for each pair")
    duration_ns: Time = time_field("duration", 10 * SECOND_NS, "of a trial, in whole seconds; scale multiplies it")
    omit_ns: Delay = time_field("omit", SECOND_NS, "sent before that and not counted, in whole seconds")
    limit_bytes_per_s: Rate | None = unit_field("limit", "bytes_per_s", None, 'of each pair and way, such as "10MB/s"')
    ports: tuple[Port, Port] = Field((5201, 5300), description="first and last TCP port of the servers")
    addresses: dict[Name, Address] = Field({}, description="what to connect to for a host, where that is not its name")
    carries: tuple[Annotated[str, Field(max_length=64)], ...] | None = Field(
        None,
        description="workloads whose bytes cross this link from the first hosts of the pairs; all, where the target is "
        "on a network file system",
    )

    @model_validator(mode="after")
    def _can_be_done(self) -> Network:
        for key, value in (("duration", self.duration_ns), ("omit", self.omit_ns)):
            if value % SECOND_NS:
                refuse(key, f"iperf3 counts {key} in whole seconds", 'write it like "10s"')
        if self.ports[0] > self.ports[1]:
            refuse("ports", f"ports {self.ports[0]} to {self.ports[1]} are none", "give the first and the last")
        if self.tasks_per_node is not None:
            refuse("tasks_per_node", "pairs of hosts have no tasks_per_node", "use streams")
        if self.partition is not None and self.hosts is None and isinstance(self.pairs, str):
            refuse("partition", "which hosts the scheduler gives is not known when pairs are made", "name the hosts")
        for named in self.hosts or ():
            self._check_pairs(named)
        return self

    def _check_pairs(self, hosts: tuple[str, ...]) -> None:
        if self.pairs == "each" and len(hosts) > 1 and len(hosts) % 2:
            refuse("pairs", f"{len(hosts)} hosts do not make pairs", 'name an even number, or use pairs = "all"')
        if not isinstance(self.pairs, str) and (strange := set(itertools.chain(*self.pairs)) - set(hosts)):
            refuse("pairs", f"{min(strange)!r} is in a pair and not in hosts", "name it there, or leave hosts out")

    def settings(self, scale: float = 1.0) -> list[Setting]:
        """A setting for all pairs at once, or one for each pair."""
        found = (
            replace(self.setting({**factors, "pairs": pairs}, scale), partition=partition, hosts=hosts)
            for partition, hosts in itertools.product(self.partition or (None,), self.hosts or (None,))
            for factors in self._product()
            for pairs in self._trials(hosts, factors.pop("at_once"))
        )
        return list(dict.fromkeys(found))

    def knobs(self, factors: Factors, scale: float) -> Factors:
        return super().knobs(factors, scale) | {
            "tasks": len(factors["pairs"]) * (2 if factors["direction"] == "both" else 1),
            "duration_ns": SECOND_NS * scaled(self.duration_ns // SECOND_NS, scale),
            "addresses": tuple(f"{host}={address}" for host, address in sorted(self.addresses.items())),
        }

    @property
    def names_hosts_late(self) -> bool:
        return self.hosts is None

    def on_hosts(self, there: Callable[[], Sequence[str]]) -> Network:
        """The same with all hosts of the run where it names none, so that the manifest says which they were.
        RequestError where a pair has a host that is none of them."""
        hosts, placed = tuple(there()), self
        if self.hosts is None and isinstance(self.pairs, str):
            try:
                placed = Network.model_validate({**self.model_dump(), "hosts": (hosts,)})
            except ValidationError as error:
                raise RequestError(f"workload.pairs: {error.errors()[0]['msg']}") from None
        wanted = {host for pair in placed._host_pairs() for host in pair}
        if strange := sorted(wanted - set(hosts)):
            raise RequestError(
                f"workload.pairs: {strange[0]} is no host of this run, which has {', '.join(hosts)}; "
                "hint: start it on all hosts of the pairs, with mpiexec, srun or --on"
            )
        return placed

    def _host_pairs(self) -> Iterator[tuple[str, str]]:
        """Every pair of any of its settings."""
        for hosts in self.hosts or ((platform.node(),),):
            yield from self._pairs(hosts)

    def _trials(self, hosts: tuple[str, ...] | None, at_once: bool) -> Iterator[tuple[str, ...]]:
        pairs = tuple(f"{one}:{other}" for one, other in self._pairs(hosts or (platform.node(),)))
        return iter([pairs]) if at_once else ((pair,) for pair in pairs)

    def _pairs(self, hosts: tuple[str, ...]) -> list[tuple[str, str]]:
        if not isinstance(self.pairs, str):
            return list(self.pairs)
        if len(hosts) == 1:
            return [(hosts[0], hosts[0])]
        if self.pairs == "all":
            return list(itertools.combinations(hosts, 2))
        half = len(hosts) // 2
        return list(zip(hosts[:half], hosts[half:], strict=True))
