"""What the manifest keeps of the target: where it is, on what, and how its files are spread."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tonnage.campaign.model import Campaign
from tonnage.campaign.pool import pool_facts
from tonnage.campaign.room import accepts_direct
from tonnage.campaign.same_target import storage_of
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.space import export_facts
from tonnage.campaign.target import Target
from tonnage.filesystems import Striping, facts_of, stripe, type_of
from tonnage.machine.affinity import interrupt_cpus
from tonnage.machine.mounts import mount_of


def target_facts(campaign: Campaign, target: Target) -> dict[str, Any]:
    """``target`` of the manifest, before the run."""
    mounts = [mount_of(path) for path in target.paths]
    mount = mounts[0] if mounts else None
    direct = [accepts_direct(path) for path in target.paths]
    first = campaign.settings()[0]
    wanted = first.direct
    told = {path: facts_of(str(path), mount) for path, mount in zip(target.paths, mounts, strict=True)}
    kinds = dict.fromkeys(mount.file_system for mount in mounts if mount)
    return {
        "name": target.name,
        "uri": target.uri,
        "kind": target.kind(first.storage),
        "path": str(target.path) if target.path else None,
        "file_system": ", ".join(kinds) or None,
        "mount_options": mount.options if mount else None,
        "device": mount.device if mount else None,
        "direct": "unsupported" if False in direct else "no" if wanted == "no" or target.path is None else "yes",
        "memory_backed": all(mount and mount.memory_backed for mount in mounts)
        if mounts
        else target.scheme == "memory",
        "directories": [
            {
                "path": str(path),
                "file_system": mount and mount.file_system,
                "device": mount and mount.device,
                "device_number": _device_number(path),
                **storage_of(path, mount),
                "facts": told[path],
            }
            for path, mount in zip(target.paths, mounts, strict=True)
        ],
        "files": [str(name) for name in target.names],
        "bucket": target.bucket,
        "stripe": None,
        "pool": None if target.pool is None else pool_facts(target.pool),
        "interrupt_cpus": _interrupt_cpus(target),
        "export": target.export and {**target.export, **export_facts(target.export)},
    }


def _device_number(path: Path) -> str | None:
    """Of its file system, ``major:minor``: two directories with the same one share all that is below it."""
    try:
        number = path.stat().st_dev
    except OSError:
        return None
    return f"{os.major(number)}:{os.minor(number)}"


def _interrupt_cpus(target: Target) -> list[int] | None:
    """The CPUs that take interrupts of any of its devices."""
    cpus = {cpu for path in target.paths for cpu in interrupt_cpus(path) or ()}
    return sorted(cpus) or None


def stripe_scratch(campaign: Campaign, target: Target, scratch: RunScratch) -> dict[str, Any] | None:
    """Stripes the run's scratch directories as the campaign says; ``target.stripe`` of the manifest. Only they are
    touched: files that the user named begin in one of them, and their own directories are left as they are."""
    asked = campaign.stripe
    if asked is None:
        return None
    pools = asked.pool if isinstance(asked.pool, tuple) else ()
    pool = asked.pool if isinstance(asked.pool, str) else None
    wanted = Striping(asked.count, asked.size, asked.osts or (), pool, pools, asked.start)
    mounts = [mount_of(path) for path in scratch.directories]
    striped = stripe(scratch.directories, [type_of(mount) if mount else None for mount in mounts], wanted)
    problems = [one.problem for one in striped if one.problem]
    if not scratch.directories:
        problems = [f"{target.name} has no scratch directories, and nothing else is ever striped"]
    if target.names and any(one.pin for one in striped):
        problems.append("GlusterFS pins scratch files alone, and these were named by the user")
    return {
        "wanted": asked.model_dump(mode="json"),
        "problems": list(dict.fromkeys(problems)),
        "directories": [one.as_dict() for one in striped],
    }
