"""What the manifest keeps of the target: where it is, on what, and how its files are spread.

With it a run that goes on is held against the storage that it began with.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tonnage import _native
from tonnage.campaign.free_space import export_facts
from tonnage.campaign.model import Campaign
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.target import Target
from tonnage.campaign.workspace import accepts_direct
from tonnage.errors import RequestError
from tonnage.filesystems import Striping, facts_of, stripe, type_of
from tonnage.machine.affinity import interrupt_cpus
from tonnage.machine.mounts import Mount, identity, mount_of
from tonnage.records.line_types import Json
from tonnage.records.phase_specs import PoolSpec


def target_facts(campaign: Campaign, target: Target) -> Json:
    """Returns ``target`` of the manifest, before the run."""
    mounts = [mount_of(path) for path in target.paths]
    mount = mounts[0] if mounts else None
    direct = [accepts_direct(path) for path in target.paths]
    first = campaign.settings()[0]
    wanted = first.direct
    facts = {path: facts_of(str(path), mount) for path, mount in zip(target.paths, mounts, strict=True)}
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
                "facts": facts[path],
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
    """Returns ``major:minor`` of the path's file system. Directories with the same number share a device."""
    try:
        number = path.stat().st_dev
    except OSError:
        return None
    return f"{os.major(number)}:{os.minor(number)}"


def _interrupt_cpus(target: Target) -> list[int] | None:
    """The CPUs that take interrupts of any of its devices."""
    cpus = {cpu for path in target.paths for cpu in interrupt_cpus(path) or ()}
    return sorted(cpus) or None


def stripe_scratch(campaign: Campaign, target: Target, scratch: RunScratch) -> Json | None:
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


_REPLICATED = 1
_QUESTIONS: tuple[dict[str, str], ...] = (
    {"prefix": "osd pool ls", "detail": "detail"},
    {"prefix": "osd tree"},
    {"prefix": "osd crush rule dump"},
)


def pool_facts(pool: PoolSpec) -> Json | None:
    """``target.pool`` of the manifest (``docs/record-format.md``); None where a monitor does not say."""
    questions = [json.dumps({**question, "format": "json"}) for question in _QUESTIONS]
    try:
        said = _native.ask_monitor(json.dumps({**pool, "namespace": "-"}), questions)
        pools, tree, rules = (json.loads(answer) for answer in said)
        return facts_of_pool(pool["pool"], pools, tree, rules)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def facts_of_pool(name: str, pools: Sequence[Json], tree: Json, rules: Sequence[Json]) -> Json:
    """The same from a monitor's three answers; KeyError or StopIteration where they are not what they should be."""
    pool = next(pool for pool in pools if pool["pool_name"] == name)
    rule = next(rule for rule in rules if rule["rule_id"] == pool["crush_rule"])
    return {
        "name": name,
        "kind": "replicated" if pool["type"] == _REPLICATED else "erasure",
        "copies": pool["size"],
        "copies_least": pool["min_size"],
        "groups": pool["pg_num"],
        "osds": sorted(_osds(tree["nodes"], rule["steps"]), key=lambda osd: osd["osd"]),
    }


def _osds(nodes: Sequence[Json], steps: Sequence[Json]) -> Iterator[Json]:
    """Those below what a rule takes (``default``, or ``default~ssd`` for those of one class)."""
    by_id = {node["id"]: node for node in nodes}
    seen: set[int] = set()
    for taken in (step["item_name"] for step in steps if step["op"] == "take"):
        root, _, only = taken.partition("~")
        for top in (node for node in nodes if node["name"] == root):
            for host, node in _below(top, by_id, ""):
                if node["id"] not in seen and only in ("", node.get("device_class")):
                    seen.add(node["id"])
                    yield {
                        "osd": node["id"],
                        "host": host,
                        "device_class": node.get("device_class"),
                        "weight": node["crush_weight"] * node.get("reweight", 1),
                        "up": node.get("status") == "up",
                    }


def _below(node: Json, by_id: Mapping[int, Json], host: str) -> Iterator[tuple[str, Json]]:
    if node["type"] == "osd":
        yield host, node
    host = node["name"] if node["type"] == "host" else host
    for child in node.get("children", ()):
        if child in by_id:
            yield from _below(by_id[child], by_id, host)


_KEPT_IDS = frozenset({"ext2", "ext3", "ext4", "btrfs"})
"""File systems whose ``f_fsid`` is made of their UUID; that of others is a device's number, or new with each mount."""
_BY_UUID = re.compile(r"local:[^:]*:[0-9A-Fa-f]{4,}-[0-9A-Fa-f-]+(:.*)?")
"""An identity that a restart of the host does not change; the names of block devices may."""


def storage_of(path: Path, mount: Mount | None) -> dict[str, str | None]:
    """Returns what identifies the storage of a directory of the target, also after a restart."""
    return {
        "real_path": os.path.realpath(path),
        "identity": None if mount is None else identity(mount, str(path)),
        "file_system_id": _file_system_id(path, mount),
    }


def _file_system_id(path: Path, mount: Mount | None) -> str | None:
    if mount is None or mount.file_system not in _KEPT_IDS:
        return None
    try:
        return f"{os.statvfs(path).f_fsid & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    except OSError:
        return None


def check_same_target(manifest: Json, target: Target, *, by_job: bool) -> None:
    """RequestError where a directory of the target is on another storage than when the run was begun, or is another
    directory. What an older version did not keep is not compared.

    A scheduler's job (``by_job``), or several processes, may go on with it on other hosts than it was begun on: those
    have the same storage only where that is shared.
    """
    known = (manifest.get("target") or {}).get("directories") or []
    if not isinstance(known, list) or len(known) != len(target.paths):
        return
    hostname = (manifest.get("host") or {}).get("hostname")
    elsewhere = (by_job or bool(manifest.get("launcher"))) and hostname != platform.node()
    for path, then in zip(target.paths, known, strict=True):
        if not isinstance(then, dict):
            continue
        if not os.path.lexists(path):
            raise RequestError(
                f"{path}, which the run measures, is not there any more; hint: make it lead to the same storage again"
            )
        mount = mount_of(path)
        now = {"file_system": mount.file_system if mount else None, **storage_of(path, mount)}
        for what in _differences(then, now, elsewhere=elsewhere):
            raise RequestError(
                f"{path} is not what the run was begun on: {what}; "
                "hint: make it lead there again, or begin another run: one run measures one storage"
            )


def _differences(then: Json, now: Mapping[str, str | None], *, elsewhere: bool) -> Iterator[str]:
    kept = {key: (then.get(key), now[key]) for key in now if isinstance(then.get(key), str)}
    before, here = kept.get("identity", ("", ""))
    if elsewhere and not (before and _is_shared(before)):
        return
    kinds = kept.get("file_system", ("", ""))
    paths = kept.get("real_path", ("", ""))
    if paths[0] != paths[1] and not elsewhere:
        yield f"it leads to {paths[1]}, and led to {paths[0]}"
    if kinds[0] != kinds[1] and not elsewhere:
        yield f"its file system is {kinds[1] or 'of an unknown type'}, and was {kinds[0]}"
    ids = kept.get("file_system_id", ("", ""))
    if before and _stays(before) != _stays(here or ""):
        yield f"its storage is {here or 'unknown'}, and was {before}"
    if ids[0] != ids[1] and not elsewhere:
        yield f"its file system is another {kinds[0]} (identifier {ids[1] or 'unknown'}, and was {ids[0]})"


def _is_shared(name: str) -> bool:
    return not name.startswith("local:")


def _stays(name: str) -> str:
    """The part of an identity that a restart of the host does not change."""
    if _is_shared(name) or _BY_UUID.fullmatch(name):
        return name
    return ":".join(name.split(":")[:2])
