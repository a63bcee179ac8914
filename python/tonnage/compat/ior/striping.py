"""The striping that a test asks for: by the user tools of Lustre and BeeGFS, or refused before anything is touched."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tonnage.compat.ior.file_names import file_names, parents
from tonnage.compat.ior.options import DEFAULTS, Parameters, spellings
from tonnage.errors import RequestError
from tonnage.machine.mounts import mount_of
from tonnage.records.line_types import Manifest

_STRIPED = ("POSIX", "AIO", "URING")
"""Backends that make their files as POSIX does."""
_TOOLS = {"Lustre": ("lfs",), "BeeGFS": ("beegfs", "beegfs-ctl")}


def stripe_of(test: Parameters) -> dict[str, object]:
    """The ``[stripe]`` of a test; empty where it asks for none."""
    wanted = {
        "count": test.beegfs_targets if test.beegfs_targets != -1 else test.lustre_count or None,
        "size": test.beegfs_chunk if test.beegfs_chunk != -1 else test.lustre_size or None,
        "start": test.lustre_start if test.lustre_start != -1 else None,
        "pool": test.lustre_pool or None,
    }
    given = {key: value for key, value in wanted.items() if value is not None}
    return {"stripe": given} if given and test.write_file and test.api in _STRIPED else {}


def refuse_striping(test: Parameters) -> None:
    """RequestError where the files of a test cannot be striped as it asks."""
    if not stripe_of(test):
        return
    lustre = _given(test, "lustre_")
    beegfs = _given(test, "beegfs_")
    if lustre and beegfs:
        raise RequestError(f"{lustre} and {beegfs} are for two file systems; hint: keep those of yours")
    option, system = (lustre, "Lustre") if lustre else (beegfs, "BeeGFS")
    for directory in parents(test):
        mount = mount_of(directory if directory.is_dir() else directory.parent)
        if mount is None or mount.file_system != system.lower():
            found = mount.file_system if mount else "an unknown file system"
            raise RequestError(f"{option}: {directory} is on {found}, not on {system}; hint: leave {option} out")
    if not any(map(shutil.which, _TOOLS[system])):
        tools = " or ".join(_TOOLS[system])
        raise RequestError(f"{option}: {tools} is not installed here; hint: install {system}'s client tools")
    if test.use_existing_test_file:
        for name in file_names(test, 0 if test.multi_file else None):
            if Path(name).exists():
                raise RequestError(f"{option}: {name} is there and keeps its striping; hint: leave -E or {option} out")


def problems(manifest: Manifest) -> Sequence[str]:
    """Why the files of a run are not striped as they were to be."""
    found: Sequence[str] = (manifest["target"].get("stripe") or {}).get("problems", ())
    return found


def _given(test: Parameters, system: str) -> str:
    """The first option of a file system that is given."""
    for name, found in spellings().items():
        if name.startswith(system) and getattr(test, name) != getattr(DEFAULTS, name):
            return f"--{found.long}"
    return ""
