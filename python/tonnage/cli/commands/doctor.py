"""``tonnage doctor``: the site file against the world."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from tonnage.placement.doctor import Complaint, World, examine, look
from tonnage.placement.site import read_site


def run(arguments: Namespace) -> int:
    """Exit code: 1 if something is wrong."""
    world = look(read_site(Path(), Path(arguments.site) if arguments.site else None))
    found = examine(world)
    wrong = [complaint for complaint in found if complaint.wrong]
    if arguments.json:
        value = {
            "well": not wrong,
            "files": [str(source.path) for source in world.loaded.sources],
            "scheduler": world.cluster.name,
            "complaints": [complaint.as_dict() for complaint in found],
        }
        print(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        print("\n".join([*map(str, found), _verdict(world, wrong)]))
    return 1 if wrong else 0


def _verdict(world: World, wrong: list[Complaint]) -> str:
    files = ", ".join(str(source.path) for source in world.loaded.sources) or "no site file"
    cluster = world.cluster
    hosts = "that tells nothing" if cluster.problem else f"with {_count(len(cluster.hosts), 'host')}"
    looked = f"{files}: {_count(len(world.site.server), 'server')}, {cluster.name} {hosts}"
    verdict = f"{_count(len(wrong), 'thing')} wrong" if wrong else "all is well"
    return f"{looked}: {verdict}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
