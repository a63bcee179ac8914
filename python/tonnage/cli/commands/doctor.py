"""``tonnage doctor``: the site file against the world, or hosts that are to measure together."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.printable_text import columns
from tonnage.units import parse_time, plural, rate_text, size_text, three_digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.placement.doctor import Complaint
    from tonnage.placement.doctor.host_facts import Host, HostGroupFacts, Link
    from tonnage.placement.doctor.site_facts import SiteFacts

_MOST_HOSTS = 1 << 16
"""As many as the largest clusters have."""


def _hosts(text: str) -> tuple[str, ...]:
    from tonnage.cluster.hostlist import how_many, unfold
    from tonnage.cluster.remote.client import check

    number = how_many(text)
    if number > _MOST_HOSTS:
        raise RequestError(f"{text!r} is {number} hosts, and {_MOST_HOSTS} can be asked; hint: name fewer")
    return tuple(dict.fromkeys(check(host) for host in unfold(text))) or (check(text),)


COMMAND = Command(
    "doctor",
    "check the site file against the world, or hosts that are to measure together",
    "Checks tonnage.toml against the scheduler, the servers' indices and the mounts. Prints one line for "
    "each problem, with a remedy. With --hosts it checks these hosts instead, for anything that would spoil "
    "a measurement: links, clocks, versions, other load, and the target as each host sees it (`tonnage "
    "explain doctor-hosts`).",
    (
        SITE,
        Option(("--hosts",), "check these hosts: a,b,c or node[1-3]", "HOST[,HOST]", parse=_hosts),
        Option(("--within",), "hosts that have not answered by then are left out", "TIME", "30s", parse=parse_time),
        Option(("--via",), "how to reach the hosts", None, "ssh", ("ssh", "slurm", "mpi")),
        Option(
            ("--target",),
            "check this directory on each host; a file of 64 KiB is created there and removed",
            "DIR",
            completes="directory",
        ),
        JSON,
    ),
    (
        ("tonnage doctor", "the site file; exit 0 if all is well, 1 if not"),
        ("tonnage doctor --hosts node1,node2,node3 --target /scratch/me", "three hosts, before a campaign on them"),
    ),
    loads=("tonnage.placement.doctor.site_checks",),
)

_UNKNOWN = "-"
_HEADINGS = ("HOST", "KERNEL", "PYTHON", "CPUS", "MEMORY", "LOAD", "CLOCK", "IO_URING")
_TARGET = ("TARGET", "FREE", "O_DIRECT")
_LINK = "TO THE NEXT"


def run(arguments: Arguments) -> int:
    """Exit code: 1 if something is wrong."""
    from tonnage.placement.doctor.site_checks import examine
    from tonnage.placement.doctor.site_facts import gather_site_facts
    from tonnage.placement.site import read_site

    if arguments.hosts is not None:
        return _examine_hosts(arguments)
    for option in ("via", "within", "target"):
        if getattr(arguments, option) is not None:
            raise RequestError(f"--{option} is for hosts; hint: name them with --hosts")
    facts = gather_site_facts(read_site(Path(), Path(arguments.site) if arguments.site else None))
    found = examine(facts)
    wrong = [complaint for complaint in found if complaint.wrong]
    if arguments.json:
        from tonnage.placement.answer_types import SiteChecked

        checked = SiteChecked(
            well=not wrong,
            files=tuple(str(source.path) for source in facts.loaded.sources),
            scheduler=facts.cluster.name,
            complaints=tuple(found),
        )
        print(json.dumps(asdict(checked), indent=2, ensure_ascii=False))
    else:
        print("\n".join([*map(str, found), _verdict(facts, wrong)]))
    return 1 if wrong else 0


def _examine_hosts(arguments: Arguments) -> int:
    from tonnage.cluster.remote import START_S, remote_hosts
    from tonnage.placement.doctor.host_checks import examine
    from tonnage.placement.doctor.host_facts import gather_host_facts

    if arguments.site is not None:
        raise RequestError("--site and --hosts are two questions; hint: ask one after the other")
    target = None if arguments.target is None else os.path.abspath(arguments.target)  # noqa: PTH100
    within_s = START_S if arguments.within is None else arguments.within / 1e9
    with remote_hosts(arguments.via or "ssh", arguments.hosts, start_s=within_s) as host_group:
        party = gather_host_facts(host_group, arguments.hosts, target)
    found = examine(party)
    well = not any(complaint.wrong for complaint in found)
    if arguments.json:
        from tonnage.placement.answer_types import HostsChecked, LinkAnswer

        checked = HostsChecked(
            well=well,
            target=party.target,
            hosts=party.hosts,
            links=tuple(LinkAnswer(**asdict(link)) for link in party.links),
            complaints=tuple(found),
        )
        print(json.dumps(asdict(checked), indent=2))
    else:
        print(host_table(party, found))
    return 0 if well else 1


def _verdict(facts: SiteFacts, wrong: list[Complaint]) -> str:
    files = ", ".join(str(source.path) for source in facts.loaded.sources) or "no site file"
    cluster = facts.cluster
    hosts = "that tells nothing" if cluster.problem else f"with {plural(len(cluster.hosts), 'host')}"
    looked = f"{files}: {plural(len(facts.site.server), 'server')}, {cluster.name} {hosts}"
    verdict = f"{plural(len(wrong), 'thing')} wrong" if wrong else "all is well"
    return f"{looked}: {verdict}"


def host_table(party: HostGroupFacts, complaints: Sequence[Complaint]) -> str:
    """What ``--hosts`` found: a line a host, and then what would spoil a measurement."""
    return "\n".join([_host_rows(party), *_spoilers(complaints), _of_hosts(party, complaints)])


def _host_rows(party: HostGroupFacts) -> str:
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


def _of_hosts(party: HostGroupFacts, complaints: Sequence[Complaint]) -> str:
    wrong = sum(one.wrong for one in complaints)
    count = plural(len(party.hosts), "host")
    if wrong:
        return f"{count}: {plural(wrong, 'thing')} wrong"
    return f"{count}: nothing wrong" + (f", {len(complaints)} to mind" if complaints else "")
