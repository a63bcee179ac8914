"""How much space there is for files, on each file system of a target, and whether a campaign fits."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage import _native
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.machine.host_facts import memory
from tonnage.machine.mounts import mount_of
from tonnage.records.line_types import Json
from tonnage.records.phase_specs import ExportSpec
from tonnage.units import size_text

if TYPE_CHECKING:
    from tonnage.campaign.kinds import Setting
    from tonnage.campaign.model import Campaign
    from tonnage.campaign.plan import Plan


SEARCH_SPACE = 8 << 30
"""The default bound on the bytes of files of a search."""
_SEARCH_SPACE_SHARE = 10
"""… and the share of free space, as a divisor."""


def free_bytes(target: Target) -> int | None:
    """Bytes an ordinary user may still write, spread evenly over the target's directories; None where there is no
    bound or no such directory. Directories on one file system share what it has. RequestError where a pool, an export
    or a bucket cannot be reached."""
    if target.pool is not None:
        try:
            return _native.pool_free_bytes(json.dumps({**target.pool, "namespace": "-"}))
        except (OSError, ValueError) as error:
            hint = "; hint: give Ceph's file as conf=FILE, or set CEPH_CONF" if "cannot read " in str(error) else ""
            raise RequestError(f"{error}{hint}") from None
    if target.export is not None:
        return int(export_facts(target.export)["free_bytes"])
    if target.bucket is not None:
        try:
            _native.check_bucket(json.dumps(target.bucket))
        except (OSError, ValueError) as error:
            raise RequestError(str(error)) from None
        return None  # a service does not report its free space
    if target.scheme == "memory":
        return memory("MemAvailable")
    each = [free // len(shared) for shared, free in file_systems(target) if free is not None]
    return min(each) * len(target.paths) if each else None


def export_facts(export: ExportSpec) -> Json:
    """Returns the facts that the server of an ExportSpec reports. RequestError where the server refuses."""
    try:
        found: Json = json.loads(_native.export_facts(json.dumps(export)))
    except (OSError, ValueError) as error:
        raise RequestError(str(error)) from None
    return found


def search_space(free: int | None) -> int:
    """Bytes of files that a search may use on a target with ``free`` bytes."""
    return SEARCH_SPACE if free is None else min(SEARCH_SPACE, free // _SEARCH_SPACE_SHARE)


def check_space(campaign: Campaign, plan: Plan) -> None:
    """RequestError if the files do not fit, or may not be as many as that."""
    limit = campaign.budget.space_bytes
    if limit is not None and plan.company_bytes:
        _check_with_company(campaign, plan, limit)
    elif limit is not None and campaign.search is None and plan.space_bytes > limit:
        raise RequestError(
            f"the files need {size_text(plan.space_bytes)} and budget.space is {size_text(limit)}; "
            f"hint: {_largest(plan).smaller}, or raise budget.space"
        )
    if campaign.search is not None or plan.target.scheme != "path":
        if plan.free_bytes is not None and plan.space_bytes > plan.free_bytes:
            hint = "use a smaller budget.space" if campaign.search else _largest(plan).smaller
            raise RequestError(_too_little(plan.space_bytes, plan.target.name, plan.free_bytes, hint))
        return
    every = file_systems(plan.target)
    for setting in plan.settings:
        _check_names(setting, plan.target)
        needed = setting.space_in(plan.target) if setting.is_checked(plan.target) else []
        for shared, free in every:
            here = sum(needed[number] for number in shared) if needed else 0
            if free is not None and here > free:
                name = ", ".join(str(plan.target.paths[number]) for number in shared)
                raise RequestError(_too_little(here, name, free, setting.smaller))


def _check_with_company(campaign: Campaign, plan: Plan, limit: int) -> None:
    own = 1 if campaign.search is not None else plan.space_bytes
    if own + plan.company_bytes > limit:
        what = "leave nothing for the files of the search" if campaign.search else f"the files {size_text(own)}"
        raise RequestError(
            f"the files of the company need {size_text(plan.company_bytes)}, {what}, and budget.space is "
            f"{size_text(limit)}; hint: use another company, or raise budget.space"
        )


def _check_names(setting: Setting, target: Target) -> None:
    """RequestError if a file system has fewer names left than a setting makes, wherever it makes them."""
    for path in target.paths:
        try:
            facts = os.statvfs(path)
        except OSError:
            continue
        # Without a number of inodes there is no bound.
        if facts.f_files and 0 <= facts.f_favail * len(target.paths) < setting.names:
            raise RequestError(
                f"the campaign makes {setting.names} files and directories at once, and {path} has {facts.f_favail} "
                f"inodes free; hint: use fewer items, files or tasks, or another target"
            )


def _largest(plan: Plan) -> Setting:
    return max(plan.settings, key=lambda setting: setting.space_bytes)


def _too_little(needed: int, name: str, free: int, hint: str) -> str:
    return f"the files need {size_text(needed)} and {name} has {size_text(free)} free; hint: {hint}, or another target"


def file_systems(target: Target) -> list[tuple[list[int], int | None]]:
    """Returns the numbers of the directories on each file system, and the bytes free on it."""
    shared: dict[int | str, list[int]] = {}
    for number, path in enumerate(target.paths):
        try:
            shared.setdefault(file_system_of(path), []).append(number)
        except OSError:
            continue
    return [(numbers, _free_on(target, numbers)) for numbers in shared.values()]


def file_system_of(path: Path) -> int | str:
    """The same for all paths that share free space. OSError where nothing is there."""
    device = path.stat().st_dev
    mount = mount_of(path)
    # Subvolumes of Btrfs have devices of their own, and the space of one file system.
    return mount.device_number if mount is not None and mount.file_system == "btrfs" else device


def _free_on(target: Target, numbers: list[int]) -> int | None:
    try:
        facts = os.statvfs(target.paths[numbers[0]])
    except OSError:
        return None
    # A file system without a size (ramfs, some FUSE) has no known bound; it counts as not full.
    if not facts.f_blocks:
        return None
    here = {target.paths[number] for number in numbers}
    return facts.f_bavail * facts.f_frsize + sum(_taken(name) for name in target.names if name.parent in here)


def _taken(name: Path) -> int:
    """Bytes of a named file, which its next write takes over."""
    try:
        return name.lstat().st_blocks * 512
    except OSError:
        return 0


_SECTOR = 512
"""What ``st_blocks`` counts."""
_LEAST = 4096


def allocation_unit(directory: Path) -> int:
    """Bytes that the smallest file takes there: clusters, extents and space reserved ahead are often larger than the
    block that the file system tells of. That block where no file can be made."""
    unit = max(_LEAST, os.statvfs(directory).f_frsize)
    with suppress(OSError, ValueError), _file(directory) as descriptor:
        os.write(descriptor, b"\0")
        before = os.fstat(descriptor).st_blocks
        # Some allocate only when the data leave the page cache.
        os.fsync(descriptor)
        unit = max(unit, *(blocks * _SECTOR for blocks in (before, os.fstat(descriptor).st_blocks)))
    return unit


@contextmanager
def _file(directory: Path) -> Iterator[int]:
    """One without a name; where the file system has none, in a marked directory that a kill leaves to ``clean``."""
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        descriptor = os.open(directory, flags | os.O_TMPFILE, 0o600)
    except OSError:
        scratch = _native.Scratch.create(str(directory), secrets.token_hex(4))
        try:
            name = Path(scratch.path) / "data.00000000"
            descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
                name.unlink()
        finally:
            scratch.remove()
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_of_the_kernel(path: Path) -> bool:
    """Whether nobody can make a directory in it, though root's access to it says otherwise."""
    mount = mount_of(path)
    return mount is not None and mount.file_system in ("proc", "sysfs")
