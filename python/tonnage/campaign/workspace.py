"""The workspace of a run: its scratch directories, the storages open on it, and which files hold what."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tonnage.campaign.kinds import Setting
from tonnage.campaign.kinds.stream import CELL_BYTES, FILL_TRANSFER, StreamSetting
from tonnage.campaign.target import STORAGES_WITH_FILES, Target
from tonnage.cluster.host_group import HostGroup
from tonnage.cluster.launcher import Ensemble, Launcher
from tonnage.errors import MeasurementError
from tonnage.printable_text import typed


def sync_file_system(path: Path) -> None:
    """Returns once the file system of ``path`` has committed what was done to it: blocks of removed files are free
    then. OSError where it fails."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(ctypes.c_int(handle)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class _Key:
    """Identifies an open storage. A target that is no path has one storage."""

    storage: str
    direct: str = ""
    devices: int | None = None
    device: int | None = None
    cut: str = ""
    opening: str = ""


@dataclass(slots=True)
class _LaidOut:
    """Files 0…files−1 hold ``file_bytes`` each of this payload."""

    payload: tuple[str, int]
    files: int
    file_bytes: int


class Workspace:
    """Opens storages when a setting first needs them and keeps one generation of files at a time."""

    def __init__(
        self,
        target: Target,
        launcher: Launcher,
        seed: int,
        directories: Sequence[Path],
        series: Path | None,
        *,
        run_id: str = "",
        lay_out_tasks: int = 1,
        clock: Callable[[int | None], int] = lambda _: 0,
    ) -> None:
        """``directories``: the run's scratch directories. ``run_id`` marks named files.

        ``lay_out_tasks``: lay files out for at least so many tasks at once: a search will ask for them, and together
        they are written at the storage's full speed.

        ``clock``: where the virtual clock of a model begins, in ns, by its device (None: the only one)."""
        self._target = target
        self._launcher = launcher
        self._seed = seed
        self._directories = directories
        self._run_id = run_id
        self._series = series
        self._lay_out_tasks = lay_out_tasks
        self._clock = clock
        self._open: dict[_Key, Ensemble] = {}
        self._laid_out: dict[_Key, _LaidOut] = {}
        self.pins: tuple[str, ...] = ()
        """What the names of new files in each of the directories end in while they are made; empty: nothing."""
        self.frees_late: tuple[Path, ...] = ()
        """Directories of which what was removed must be free before more is written."""
        self.dataset: object = None
        """The data set of a training, or the files of a key–value cache (``kinds/``), that are there; None: none."""
        self.written_operations: int | None = None
        """Of each task, in the last write of files that the user named; None before one."""

    @property
    def target(self) -> Target:
        """What the campaign's ``target`` names."""
        return self._target

    @property
    def host_group(self) -> HostGroup:
        """A process on each host of the run, for what is done beside the timed phases."""
        return self._launcher.host_group

    def ensemble(self, setting: Setting) -> Ensemble:
        """Returns the processes with the setting's storage open."""
        key = _key(setting, self._target)
        if key not in self._open:
            spec: Any = self._target.spec(
                setting.storage,
                setting.direct,
                self._directories,
                self._seed,
                devices=setting.devices,
                device=setting.device,
                run_id=self._run_id,
            )
            if self.pins and "directories" in spec:
                one = setting.device
                spec["pins"] = list(self.pins[: setting.devices] if one is None else self.pins[one : one + 1])
            if self._target.scheme == "sim":
                spec["clock_ns"] = self._clock(key.device)
            elif setting.cut is not None:
                spec["cut"] = setting.cut
            if key.opening:
                spec |= setting.opening
            self._open[key] = self._launcher.open(spec, self._series)
        return self._open[key]

    def directory(self, device: int) -> Path:
        """Returns the scratch directory in the target's directory of that number."""
        return self._directories[device]

    def files_of(self, setting: Setting) -> list[tuple[str, int, int | None]]:
        """(path, number, only task that works on it) of each file that a write of ``setting`` makes; empty where it
        or the target has no files."""
        target = self._target
        if not setting.files or target.scheme != "path" or setting.storage not in STORAGES_WITH_FILES:
            return []
        cut = setting.cut["count"] if setting.cut else 1
        numbers = range(setting.files * cut)
        if target.names:
            paths = [str(name) for name in target.names[: len(numbers)]]
        else:
            one = setting.device
            places = self._directories[: setting.devices] if one is None else self._directories[one : one + 1]
            turn = [places[number] for number in target.assign] if target.assign and one is None else places
            paths = [str(turn[number % len(turn)] / f"data.{number:08d}") for number in numbers]
        alone = not setting.is_shared
        return [(path, number, number // cut if alone else None) for number, path in zip(numbers, paths, strict=False)]

    def clear(self) -> None:
        """Removes all data files, whichever storage made them; not those that are to be overwritten in place.
        MeasurementError where they cannot be removed: what comes next would not begin on fresh ones."""
        self._laid_out.clear()
        self.dataset = None
        if self._target.existing == "overwrite":
            return
        try:
            for ensemble in self._open.values():
                ensemble.clear()
            for directory in self.frees_late:
                sync_file_system(directory)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = f"the run ends here; `tonnage run --resume {typed(self._series)}` goes on once that is mended"
            raise MeasurementError(f"{reason}; hint: {hint}") from error

    def finish(self) -> list[tuple[str, str]]:
        """The run ends: named files go, or stay as the target says. Notes (code, sentence) on them."""
        return list(dict.fromkeys(note for ensemble in self._open.values() for note in ensemble.finish()))

    def keep_named(self, keep: bool) -> None:
        """Decides anew whether named files stay at the end of the run."""
        for ensemble in self._open.values():
            ensemble.keep_named(keep)

    def wrote(self, setting: StreamSetting, operations: int | None = None) -> None:
        """A write phase ended well: its files can be read. Each task did at least so many operations: those of a full
        pass, unless the files are the user's."""
        self.written_operations = operations if self._target.names else None
        if setting.access == "random-blocks":
            # It left out what it did not draw.
            self._laid_out = {}
            return
        known = _LaidOut(_payload(setting), setting.files, setting.file_bytes)
        self._laid_out = {_key(setting, self._target): known}

    def fill_for(self, setting: StreamSetting) -> tuple[StreamSetting, int] | None:
        """The write that lays out what a read setting still misses, and its first task; None if all is there.

        Files of another size or payload are removed first, so that at most one generation takes space. Files that
        the user named are read as they are.
        """
        if self._target.names:
            return None
        setting = replace(setting, tasks=max(setting.tasks, self._lay_out_tasks))
        known = self._laid_out.get(_key(setting, self._target))
        same = known is not None and known.payload == _payload(setting) and known.file_bytes >= setting.file_bytes
        if known is not None and same and known.files >= setting.files:
            return None
        first = known.files if known is not None and same and known.file_bytes == setting.file_bytes else 0
        if first == 0:
            self.clear()
        return setting.fill(_fill_transfer(setting)), first


def _key(setting: Setting, target: Target) -> _Key:
    cut = str(setting.cut or "")
    if target.scheme != "path":
        return _Key(target.scheme, device=setting.device if len(target.models) > 1 else None, cut=cut)
    opening = json.dumps(setting.opening) if setting.opening else ""
    return _Key(setting.storage, setting.direct, setting.devices, setting.device, cut, opening)


def _payload(setting: StreamSetting) -> tuple[str, int]:
    """Files of equal payload read alike: cells count from a transfer's start, so odd transfers are apart."""
    odd = 0 if setting.transfer_size % CELL_BYTES == 0 else setting.transfer_size
    return f"{setting.layout} {setting.payload}", odd


def _fill_transfer(setting: StreamSetting) -> int:
    """Large transfers lay out files sooner, where their cells fall on the same offsets."""
    small = setting.transfer_size
    if small % CELL_BYTES or small >= FILL_TRANSFER or setting.is_strided:
        return small
    fitting = [
        small << shift
        for shift in range(32)
        if small << shift <= FILL_TRANSFER and setting.block_size % (small << shift) == 0
    ]
    return fitting[-1]


def accepts_direct(directory: Path) -> bool | None:
    """Returns whether the file system takes O_DIRECT; None where only creating a file would tell."""
    try:
        # O_TMPFILE has no name: nothing to remove, whatever happens.
        descriptor = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno != 22:
            return None
        return False if _accepts_unnamed(directory) else None
    os.close(descriptor)
    return True


def _accepts_unnamed(directory: Path) -> bool:
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    return True


def needs_scratch(target: Target, storages: tuple[str, ...], *, striped: bool = False) -> bool:
    """Returns whether a run makes files that the user did not name, or that begin in a ``striped`` directory."""
    files = target.scheme == "path" and bool(STORAGES_WITH_FILES & set(storages))
    return files and (not target.names or striped)
