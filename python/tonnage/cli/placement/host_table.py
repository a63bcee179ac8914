"""What ``tonnage doctor --hosts`` found, as a table with a line a host and then what would spoil a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cli.placement.columns import columns
from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor.host_facts import Host, HostGroupFacts, Link
from tonnage.units import rate_text, size_text, three_digits

_UNKNOWN = "-"
_HEADINGS = ("HOST", "KERNEL", "PYTHON", "CPUS", "MEMORY", "LOAD", "CLOCK", "IO_URING")
_TARGET = ("TARGET", "FREE", "O_DIRECT")
_LINK = "TO THE NEXT"


def text(party: HostGroupFacts, complaints: Sequence[Complaint]) -> str:
    """All of it, as printed."""
    return "\n".join([_table(party), *_spoilers(complaints), _verdict(party, complaints)])


def _table(party: HostGroupFacts) -> str:
    headings = [*_HEADINGS, *(_TARGET if party.target is not None else ()), *([_LINK] if party.links else [])]
    to_next = {link.sender: link for link in party.links}
    return columns([headings, *(_row(host, party, to_next.get(host.name)) for host in party.hosts)])


def _row(host: Host, party: HostGroupFacts, link: Link | None) -> list[str]:
    target = _target(host) if party.target is not None else []
    way = [_link(link)] if party.links else []
    if host.problem is not None:
        return [host.name, *[_UNKNOWN] * (len(_HEADINGS) - 1 + len(target) + len(way))]
    facts = host.facts
    return [
        host.name,
        facts["kernel"],
        facts["python"],
        str(facts["cpus_allowed"]),
        size_text(facts["memory_bytes"]) if facts["memory_bytes"] else _UNKNOWN,
        f"{facts['load_1min']:.1f}",
        _clock(host),
        "yes" if facts["io_uring"] else "no",
        *target,
        *way,
    ]


def _clock(host: Host) -> str:
    if host.clock_ahead_ns is None or host.clock_uncertainty_ns is None:
        return _UNKNOWN
    ahead_ms, uncertain_ms = host.clock_ahead_ns / 1e6, host.clock_uncertainty_ns / 1e6
    return f"{'+' if ahead_ms >= 0 else '-'}{three_digits(abs(ahead_ms))} ± {three_digits(uncertain_ms)} ms"


def _target(host: Host) -> list[str]:
    path = host.path
    if path is None or not path["is_directory"]:
        return ["silent" if host.path_problem else "missing" if path else _UNKNOWN, _UNKNOWN, _UNKNOWN]
    direct = {True: "yes", False: "no", None: _UNKNOWN}[path["direct"]]
    return [f"{path['file_system']} {'rw' if path['writable'] else 'ro'}", size_text(path["free_bytes"] or 0), direct]


def _link(link: Link | None) -> str:
    if link is None:
        return _UNKNOWN
    if link.problem is not None or link.bytes_per_s is None:
        return "none"
    return f"{three_digits(link.told['median_round_trip_ns'] / 1e3)} us, {rate_text(link.bytes_per_s)}"


def _spoilers(complaints: Sequence[Complaint]) -> list[str]:
    if not complaints:
        return []
    return ["", "What would spoil a measurement:", *(f"{one.code}: {one}" for one in complaints), ""]


def _verdict(party: HostGroupFacts, complaints: Sequence[Complaint]) -> str:
    wrong = sum(one.wrong for one in complaints)
    count = f"{len(party.hosts)} host{'' if len(party.hosts) == 1 else 's'}"
    if wrong:
        return f"{count}: {wrong} thing{'' if wrong == 1 else 's'} wrong"
    return f"{count}: nothing wrong" + (f", {len(complaints)} to mind" if complaints else "")
