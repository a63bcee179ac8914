"""Facts collected around a phase, outside its clock: the devices that hold its files, and the counts of the NFS
client."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from typing import cast

from tonnage.campaign.kinds import Setting
from tonnage.campaign.workspace import Workspace
from tonnage.filesystems import file_layout
from tonnage.machine.mounts import find_mount, read_mounts
from tonnage.machine.mountstats import NfsMount, between, read_mountstats
from tonnage.records.line_types import DeviceItem, Devices
from tonnage.records.line_types import NfsMount as CountedMount

_NFS = frozenset({"nfs", "nfs4"})


class FileLayout:
    """Records which devices hold the files of a run, queried after the phase that wrote them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._latest: Devices | None = None
        """``devices`` of the trial line whose phase wrote the files that are there."""

    def after(
        self, setting: Setting, phase: str, record: str, *, moved: bool
    ) -> tuple[Devices | None, list[DeviceItem]]:
        """``devices`` of the trial line, and lines of ``devices.jsonl``, of a phase that just ended; ``moved``: it
        moved any bytes. A phase that wrote nothing new has what was found after the write, and no lines."""
        if phase != "write":
            return (self._latest if setting.files else None), []
        self._latest = None
        files = self._workspace.files_of(setting) if moved else []
        held = file_layout(files) if files else None
        if held is None:
            return None, []
        self._latest = held.summary(record)
        return self._latest, held.lines()


class NfsCounts:
    """The counters of the NFS mounts that a target is on. Where it is on none, nothing is read."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        mounts = read_mounts()
        found = [find_mount(mounts, os.path.realpath(path)) for path in paths]
        self._points = sorted({mount.mount_point for mount in found if mount and mount.file_system in _NFS})
        self._before: dict[str, NfsMount] = {}
        self._counted: list[CountedMount] | None = None

    def begin(self) -> None:
        """A phase is about to cross its start line."""
        self._counted = None
        self._before = read_mountstats() if self._points else {}

    def end(self) -> None:
        """It has ended."""
        if self._points:
            after = read_mountstats()
            differences = (between(self._before.get(point), after.get(point)) for point in self._points)
            counted = [{"host": platform.node(), **one} for one in differences if one is not None]
            self._counted = cast("list[CountedMount]", counted)

    def take(self) -> list[CountedMount] | None:
        """``nfs`` of its trial line: what was counted of each mount; None where the target is on none."""
        counted, self._counted = self._counted, None
        return counted
