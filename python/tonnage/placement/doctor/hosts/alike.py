"""Where hosts that are to measure together are not the same: their figures then differ for other reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tonnage.placement.doctor.complaint import Complaint
from tonnage.placement.doctor.hosts.look import Host, Party
from tonnage.placement.doctor.hosts.names import named
from tonnage.units import size_text

_MEMORY_SHARE = 0.02
"""By which firmware makes equal hosts differ."""


def names(party: Party) -> Iterator[Complaint]:
    """Each name is a host of its own."""
    for node, same in _by(party.there, lambda host: host.facts["hostname"]).items():
        if len(same) > 1:
            yield Complaint(
                code="same-host",
                what=f"{_list(same)} are one host, {node}",
                hint="name it once: its tasks would be counted as two hosts'",
            )


def systems(party: Party) -> Iterator[Complaint]:
    """They run the same kernel and Python."""
    for key, code, what in (("kernel", "other-kernel", "kernels"), ("python", "other-python", "versions of Python")):
        yield from _differ(party.there, code, what, lambda host, key=key: str(host.facts[key]))  # type: ignore[misc]


def hardware(party: Party) -> Iterator[Complaint]:
    """They have the same CPUs and as much memory."""

    def cpus(host: Host) -> str:
        return f"{host.facts['cpus_allowed']} × {host.facts['cpu_model']}"

    yield from _differ(party.there, "other-cpus", "CPUs", cpus)
    sizes = [host.facts["memory_bytes"] for host in party.there if host.facts["memory_bytes"]]
    if sizes and min(sizes) < (1 - _MEMORY_SHARE) * max(sizes):
        yield from _differ(
            party.there, "other-memory", "memory sizes", lambda host: size_text(host.facts["memory_bytes"] or 0)
        )


def settings(party: Party) -> Iterator[Complaint]:
    """Their clients keep as much in memory, and their CPUs are clocked by one rule."""
    keys = sorted({key for host in party.there for key in host.facts["cache_settings"]})
    for key in keys:
        yield from _differ(
            party.there,
            "other-cache-limits",
            f"values of {key}",
            lambda host, key=key: str(host.facts["cache_settings"].get(key, "none")),  # type: ignore[misc]
        )
    boosts = {True: "may exceed", False: "keep to", None: "do not tell of"}
    yield from _differ(
        party.there, "other-boost", "clock rules", lambda host: f"CPUs {boosts[host.facts['boost']]} their nominal rate"
    )


def tools(party: Party) -> Iterator[Complaint]:
    """What some have installed to measure with, all have."""
    for tool in sorted({tool for host in party.there for tool in host.facts["tools"]}):
        for host in party.there:
            if tool not in host.facts["tools"]:
                what = f"{tool} is not installed, as it is on others"
                hint = f"install {tool} there, for workloads that run it"
                yield Complaint(code="no-tool", where=host.name, what=what, hint=hint, wrong=False)


def _differ(hosts: Sequence[Host], code: str, what: str, value: Callable[[Host], str]) -> Iterator[Complaint]:
    """A note where there is more than one value, with who has which; most hosts' first."""
    groups = sorted(_by(hosts, value).items(), key=lambda group: -len(group[1]))
    if len(groups) > 1:
        told = "; ".join(f"{one} on {_list(same)}" for one, same in groups)
        hint = "measure on hosts that are alike, or compare each with itself"
        yield Complaint(code=code, what=f"{what} differ: {told}", hint=hint, wrong=False)


def _by(hosts: Sequence[Host], value: Callable[[Host], Any]) -> dict[Any, list[Host]]:
    found: dict[Any, list[Host]] = {}
    for host in hosts:
        found.setdefault(value(host), []).append(host)
    return found


def _list(hosts: Sequence[Host]) -> str:
    return named([host.name for host in hosts])
