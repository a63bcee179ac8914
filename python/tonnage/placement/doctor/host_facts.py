"""The facts that the host checks examine: each host, its clock, the target as it sees it, and links to its neighbours.

Every question goes to all hosts at once and has a limit; a host that does not answer one is not asked the rest.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypedDict, cast

from pydantic import GetPydanticSchema

from tonnage.cluster.host_group import Answer, HostGroup
from tonnage.machine.host_facts import HostState, PathFacts
from tonnage.machine.path_facts import LOOK_S
from tonnage.placement.doctor import named

ANSWER_S = 20.0
"""For what needs no file system."""
PATH_S = 2 * LOOK_S + ANSWER_S
LINK_S = 60.0
"""For one link, both of its ends."""
ONE_BY_ONE = 16
"""Links."""
_PINGS = 10
"""Questions for the time, of which the quickest counts."""


class LinkFacts(TypedDict, total=False):
    """Holds what one end of a link measured; empty where no connection came about."""

    address: str
    round_trip_ns: int
    """The shortest."""
    median_round_trip_ns: int
    bytes: int
    """As they arrived, as ``elapsed_ns``."""
    elapsed_ns: int


_AS_TOLD = GetPydanticSchema(lambda _, handler: handler(dict[str, object]))
"""The schema of ``doctor --json`` leaves open what a host tells: one of another version may tell more."""
_HostState = Annotated[HostState, _AS_TOLD]
_PathFacts = Annotated[PathFacts, _AS_TOLD]
_LinkFacts = Annotated[LinkFacts, _AS_TOLD]


@dataclass(slots=True, kw_only=True, eq=False)
class Host:
    """Holds what is known of one host."""

    name: str
    """The name as the user gave it."""
    problem: str | None = None
    """Why it does not answer; then nothing else is known."""
    facts: _HostState = field(default_factory=lambda: cast("HostState", {}))
    """Of ``tonnage.machine.host_facts``."""
    clock_ahead_ns: int | None = None
    """Its wall clock against ours."""
    clock_uncertainty_ns: int | None = None
    """Half the quickest round trip: the difference is known no better."""
    path: _PathFacts | None = None
    """Of ``tonnage.machine.path_facts.path_facts``; None where there is no target."""
    path_problem: str | None = None
    """Why nothing is known of the target."""
    storage: int | None = None
    """Hosts of one number saw the same file in the target; None where that could not be tried."""

    @property
    def address(self) -> str:
        """Without the user."""
        return self.name.rpartition("@")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One direction between two hosts."""

    sender: str
    receiver: str
    problem: str | None = None
    told: _LinkFacts = field(default_factory=LinkFacts)
    """Of ``tonnage.cluster.remote.links.attempt``."""
    bytes_per_s: int | None = field(init=False)

    def __post_init__(self) -> None:
        elapsed_ns = self.told.get("elapsed_ns")
        bytes_per_s = round(self.told["bytes"] * 1e9 / elapsed_ns) if elapsed_ns else None
        object.__setattr__(self, "bytes_per_s", bytes_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGroupFacts:
    """All of them."""

    hosts: tuple[Host, ...]
    """In the order asked for."""
    target: str | None
    links: tuple[Link, ...] = ()

    @property
    def there(self) -> list[Host]:
        """Those that answer."""
        return [host for host in self.hosts if host.problem is None]


def gather_host_facts(host_group: HostGroup, hosts: Sequence[str], target: str | None = None) -> HostGroupFacts:
    """Asks each of ``hosts``; raises for no host's sake. ``target``: an absolute path of which each host tells what it
    sees; a file of 64 KiB is made there for a moment."""
    group = HostGroupFacts(hosts=tuple(Host(name=name) for name in dict.fromkeys(hosts)), target=target)
    for host in group.hosts:
        if host.name not in host_group.hosts:
            others = named(host_group.hosts)
            host.problem = f"nothing was started on it, but on {others}; hint: start a process on it, or leave it out"
    for host, answer in _ask(host_group, "host-state", {host: {} for host in group.there}, ANSWER_S):
        host.problem, host.facts = answer.problem, cast("HostState", answer.value or {})
    for host in group.there:
        _compare_clocks(host_group, host)
    if target is not None:
        _check_target(host_group, group.there, target)
    return HostGroupFacts(hosts=group.hosts, target=target, links=tuple(_try_links(host_group, group.there)))


def _ask(
    host_group: HostGroup, service: str, arguments: Mapping[Host, Mapping[str, object]], timeout_s: float
) -> Sequence[tuple[Host, Answer]]:
    """As the host group does, by hosts instead of their names."""
    answers = host_group.ask(service, {host.name: given for host, given in arguments.items()}, timeout_s=timeout_s)
    return [(host, answers[host.name]) for host in arguments]


def _compare_clocks(host_group: HostGroup, host: Host) -> None:
    """One host after the other: a question that waits behind others' would be a long round trip."""
    for _ in range(_PINGS):
        began_ns = time.time_ns()
        answer = host_group.ask("wall-clock", {host.name: {}}, timeout_s=ANSWER_S)[host.name]
        took_ns = time.time_ns() - began_ns
        if answer.problem is not None:
            host.problem = answer.problem
            return
        if host.clock_uncertainty_ns is None or 0 <= took_ns < 2 * host.clock_uncertainty_ns:
            host.clock_uncertainty_ns = max(0, took_ns) // 2
            host.clock_ahead_ns = answer.value - (began_ns + took_ns // 2)


def _check_target(host_group: HostGroup, hosts: Sequence[Host], target: str) -> None:
    asked = {"path": target, "probe": True}
    for host, answer in _ask(host_group, "path-facts", dict.fromkeys(hosts, asked), PATH_S):
        host.path, host.path_problem = answer.value, answer.problem
    left = [host for host in hosts if host.path and host.path["is_directory"]]
    for number in range(len(left)):
        first = next((host for host in left if host.path and host.path["writable"]), None)
        if first is None:
            return
        for host in _share_a_mark(host_group, first, left, target):
            host.storage = number
        left = [host for host in left if host.storage is None and host.path_problem is None]


def _share_a_mark(host_group: HostGroup, first: Host, hosts: Sequence[Host], target: str) -> list[Host]:
    """Those of ``hosts`` that see what ``first`` leaves in the target; it is there only meanwhile."""
    left = host_group.ask("leave-mark", {first.name: {"path": target}}, timeout_s=PATH_S)[first.name]
    if left.problem is not None:
        first.path_problem = left.problem
        return []
    mark = {"path": target, "name": left.value}
    sharers = [first]
    try:
        for host, answer in _ask(host_group, "sees-mark", dict.fromkeys(hosts, mark), PATH_S):
            host.path_problem = answer.problem
            if answer.value and host is not first:
                sharers.append(host)
    finally:
        # Another one, should the first have gone meanwhile.
        for host in sharers:
            if host_group.ask("remove-mark", {host.name: mark}, timeout_s=PATH_S)[host.name].problem is None:
                break
    return [host for host in sharers if host.path_problem is None]


def _try_links(host_group: HostGroup, hosts: Sequence[Host]) -> list[Link]:
    """Each host to the next one, the last one to the first; one after the other, so that none takes another's share.
    Many are tried at once, for that would take minutes: each host is at one end of one then."""
    pairs = list(zip(hosts, [*hosts[1:], *hosts[:1]], strict=True)) if len(hosts) > 1 else []
    rounds = [pairs[:-1:2], pairs[1:-1:2], pairs[-1:]] if len(pairs) > ONE_BY_ONE else [[pair] for pair in pairs]
    found = {pair: link for pairs_at_once in rounds for pair, link in _try_at_once(host_group, pairs_at_once)}
    return [found[pair] for pair in pairs]


def _try_at_once(host_group: HostGroup, pairs: Sequence[tuple[Host, Host]]) -> list[tuple[tuple[Host, Host], Link]]:
    waiting = dict(_ask(host_group, "link-listen", {receiver: {} for _, receiver in pairs}, ANSWER_S))
    known = {
        sender: {**waits.value, "addresses": [receiver.address, *waits.value["addresses"]]}
        for sender, receiver in pairs
        if (waits := waiting[receiver]).problem is None
    }
    tried = dict(_ask(host_group, "link-try", known, LINK_S))
    found = []
    for sender, receiver in pairs:
        answer = tried.get(sender) or Answer(problem=f"{receiver.name}: {waiting[receiver].problem}")
        told = cast("LinkFacts", answer.value or {})
        link = Link(sender=sender.name, receiver=receiver.name, problem=answer.problem, told=told)
        found.append(((sender, receiver), link))
    return found
