"""``tonnage doctor``: the site file against the world, or hosts that are to measure together."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor.site_checks import examine
from tonnage.placement.doctor.site_facts import SiteFacts, gather_site_facts
from tonnage.placement.site import read_site


def run(arguments: Namespace) -> int:
    """Exit code: 1 if something is wrong."""
    if arguments.hosts is not None:
        return _examine_hosts(arguments)
    for option in ("via", "within", "target"):
        if getattr(arguments, option) is not None:
            raise RequestError(f"--{option} is for hosts; hint: name them with --hosts")
    facts = gather_site_facts(read_site(Path(), Path(arguments.site) if arguments.site else None))
    found = examine(facts)
    wrong = [complaint for complaint in found if complaint.wrong]
    if arguments.json:
        from tonnage.placement.answers import SiteChecked

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


def _examine_hosts(arguments: Namespace) -> int:
    from tonnage.cli.placement.host_table import text
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
        from tonnage.placement.answers import HostsChecked, LinkTold

        checked = HostsChecked(
            well=well,
            target=party.target,
            hosts=party.hosts,
            links=tuple(LinkTold(**asdict(link)) for link in party.links),
            complaints=tuple(found),
        )
        print(json.dumps(asdict(checked), indent=2))
    else:
        print(text(party, found))
    return 0 if well else 1


def _verdict(facts: SiteFacts, wrong: list[Complaint]) -> str:
    files = ", ".join(str(source.path) for source in facts.loaded.sources) or "no site file"
    cluster = facts.cluster
    hosts = "that tells nothing" if cluster.problem else f"with {_count(len(cluster.hosts), 'host')}"
    looked = f"{files}: {_count(len(facts.site.server), 'server')}, {cluster.name} {hosts}"
    verdict = f"{_count(len(wrong), 'thing')} wrong" if wrong else "all is well"
    return f"{looked}: {verdict}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
