"""The hard bound of what a search puts on a storage: the files of all tasks, their metadata, and the run's records; of
all file systems together, and of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.campaign.free_space import SEARCH_SPACE, allocation_unit, file_system_of, file_systems, search_space
from tonnage.errors import RequestError
from tonnage.machine.mounts import mount_of
from tonnage.units import format_size, plural, size_text

if TYPE_CHECKING:
    from tonnage.campaign.kinds.stream import StreamSetting
    from tonnage.campaign.model import Campaign, Search
    from tonnage.campaign.plan import Plan
    from tonnage.campaign.target import Target

_SCRATCH_BYTES, _SCRATCH_UNITS, _SCRATCH_NAMES = 128 << 10, 3, 4
"""Of a scratch directory with its marker, and of what a file system takes for its own journal of it."""
_FILE_UNITS = 2
"""Allocation units of a file beside its data: a last one that is not full, and one of metadata."""
_METADATA_SHARE = 6
"""Of the bound, as a divisor, for extents, checksums and the like, which some file systems keep twice."""
_XFS_GROWTH = 4
"""XFS reserves as much again behind the end of a file that grows through the page cache, and frees what was removed a
little later; 3 was seen."""
_FREES_LATE = frozenset({"bcachefs", "btrfs", "nilfs2", "zfs"})
"""Of a 600 MB Btrfs 14 % were taken instead of a tenth where tasks went round in their files."""
_REPORT_BYTES, _REPORT_FILES = 4 << 20, 24
"""Of the report, the summary, the manifest and the directories that they are in."""
_TRIALS = 132
"""Trials of a search, its layouts included, at most: 63 of each operation, where none is long (``probe.py``)."""
_RECORD_BYTES, _RECORD_FILES, _RECORD_TASK_BYTES = 32 << 10, 4, 2 << 10
"""Of one trial's lines, series, heat, histograms and operations, and of each of its tasks in them."""


@dataclass(frozen=True, slots=True)
class Share:
    """Bounds what a search takes of one file system; ``bytes``: the most at any moment."""

    bytes: int
    directories: tuple[int, ...]
    """Numbers of the target's directories that are on it."""
    names: int | None = None
    """Files and directories; None: no bound."""
    unit: int = 4096
    """What the file system allocates at least."""
    growth: int = 1
    """Bytes that a file may take while it is written, for each byte in it."""
    with_records: bool = False
    """The run directory is on it as well."""
    frees_late: bool = False
    """Overwritten and removed data takes space until the file system's next commit."""

    def fixed_bytes(self, files: int, tasks: int) -> int:
        """Bytes that are not data, where so many of the tasks' files are on it; without the file system's own."""
        scratch = len(self.directories) * (_SCRATCH_BYTES + _SCRATCH_UNITS * self.unit)
        return scratch + files * _FILE_UNITS * self.unit + self._record_bytes(tasks)

    def names_of(self, files: int) -> int:
        """Counts files and directories, with so many of the tasks' files."""
        return len(self.directories) * _SCRATCH_NAMES + files + (self._record_files if self.with_records else 0)

    def _record_bytes(self, tasks: int) -> int:
        if not self.with_records:
            return 0
        units = self.unit * self._record_files if self.unit > 4096 else 0
        return _REPORT_BYTES + _TRIALS * (_RECORD_BYTES + tasks * _RECORD_TASK_BYTES) + units

    @property
    def _record_files(self) -> int:
        return _REPORT_FILES + _TRIALS * _RECORD_FILES


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """At most ``bytes`` on the storage at any moment, and no more on each file system than its share."""

    bytes: int
    shares: tuple[Share, ...] = (Share(1 << 60, (0,)),)
    base: StreamSetting | None = None
    target: Target | None = None
    """Which of its directories the files of ``base`` are in; None: all are in the first."""
    company_bytes: int = 0
    """Of files that are there besides: ``bytes`` is what they leave of the bound that the user gave."""

    @property
    def frees_late(self) -> bool:
        """Whether a file system of the target does: nothing may be overwritten there, for the space that this takes is
        unknown."""
        return any(share.frees_late for share in self.shares)

    def of_task(self, tasks: int) -> int:
        """Bytes of data that each of so many tasks may have at once; 0 or less where there is no room for them."""
        return self._tightest(tasks)[0]

    def most_tasks(self, transfer_size: int, tasks: int, *, names: bool = True) -> int:
        """The largest number up to ``tasks`` of which each has room for one transfer, and for its name."""
        low, high = 0, tasks
        while low < high:
            middle = (low + high + 1) // 2
            if self.of_task(middle) >= transfer_size and not (names and self.short_of_names(middle)):
                low = middle
            else:
                high = middle - 1
        return low

    def short_of_names(self, tasks: int) -> Share | None:
        """A share that has not names enough for so many tasks."""
        found = ((share, share.names_of(files)) for share, files in self.loads(tasks))
        return next((share for share, needed in found if share.names is not None and needed > share.names), None)

    def needed(self, tasks: int, transfer_size: int) -> tuple[int, int, Share | None]:
        """Bytes that so many tasks with one transfer each need and have where they have least, and the share, None
        where that is the whole."""
        share = self._tightest(tasks)[1]
        loads = [(one, files) for one, files in self.loads(tasks) if share in (None, one)]
        needed = sum(one.fixed_bytes(files, tasks) + files * one.growth * transfer_size for one, files in loads)
        bound = self.bytes if share is None else share.bytes
        return needed + bound // _METADATA_SHARE, bound, share

    def _tightest(self, tasks: int) -> tuple[int, Share | None]:
        """``of_task``, and the share that decides; None: the bound of all."""
        loads = list(self.loads(tasks))
        fixed = sum(share.fixed_bytes(files, tasks) for share, files in loads)
        grown = sum(files * share.growth for share, files in loads)
        found: list[tuple[int, Share | None]] = [(_each(self.bytes, fixed, grown), None)]
        found += [(_each(one.bytes, one.fixed_bytes(n, tasks), n * one.growth), one) for one, n in loads]
        return min(found, key=lambda one: one[0])

    def loads(self, tasks: int) -> Iterator[tuple[Share, int]]:
        """Of how many tasks the data are in each share."""
        if self.base is None or self.target is None:
            yield from ((share, tasks) for share in self.shares[:1])
            return
        # With one byte a task, bytes are tasks.
        each = replace(self.base, tasks=tasks, block_size=1, segments=1).space_in(self.target)
        yield from ((share, sum(each[number] for number in share.directories)) for share in self.shares)


def _each(allowed: int, fixed: int, parts: int) -> int:
    left = allowed - allowed // _METADATA_SHARE - fixed
    # Where no data lie there must be room for the rest alone.
    return left // parts if parts else (1 << 60 if left >= 0 else -1)


UNBOUNDED = SearchSpace(1 << 60)
"""Of a storage that keeps nothing."""


def space_of(campaign: Campaign, plan: Plan, out: Path) -> SearchSpace:
    """The bound of the search of ``campaign``, whose run directory will be ``out``."""
    target = plan.target
    if not target.keeps:
        return UNBOUNDED
    if target.scheme != "path":
        return SearchSpace(plan.space_bytes)
    shares = tuple(_shares(campaign, plan, out))
    return SearchSpace(plan.space_bytes, shares, campaign.workload.first(), target, plan.company_bytes)


def _shares(campaign: Campaign, plan: Plan, out: Path) -> Iterator[Share]:
    target = plan.target
    there = out.absolute()
    while not there.exists():
        there = there.parent
    buffered = campaign.workload.direct[0] == "no" or campaign.workload.storage[0] == "mmap"
    known = campaign.search.shares if campaign.search else None
    every = file_systems(target)
    if known is not None and len(known) != len(every):
        raise RequestError(
            f"search.shares has {len(known)} sizes, and the directories of the target are on {len(every)} file "
            "systems; hint: give one for each, or leave it out"
        )
    for number, (directories, free) in enumerate(every):
        path = target.paths[directories[0]]
        mount, facts = mount_of(path), os.statvfs(path)
        grows = buffered and mount is not None and mount.file_system == "xfs"
        own = search_space(free)
        if campaign.budget.space_bytes is not None:
            own = plan.space_bytes if free is None else min(plan.space_bytes, free)
        yield Share(
            own if known is None else known[number],
            tuple(directories),
            names=search_names(facts),
            unit=allocation_unit(path),
            growth=_XFS_GROWTH if grows else 1,
            with_records=file_system_of(there) == file_system_of(path),
            frees_late=frees_late(path),
        )


def frees_late(path: Path) -> bool:
    """Returns whether a directory's file system writes overwritten data to new blocks and frees the old ones later."""
    mount = mount_of(path)
    return mount is not None and mount.file_system in _FREES_LATE


def search_names(facts: os.statvfs_result) -> int | None:
    """Files and directories that a search may make: a tenth of what is free. None: the file system has no number."""
    return facts.f_favail // 10 if facts.f_files and facts.f_favail >= 0 else None


def fit_search(campaign: Campaign, plan: Plan, out: Path) -> tuple[Campaign, str | None]:
    """The campaign with no more tasks than its bound has room for, and the bound itself, so that a resumed run keeps
    it; and notes on that for the user. RequestError where not even one task has room."""
    search = campaign.search
    if search is None or not plan.target.keeps:
        return campaign, None
    space = space_of(campaign, plan, out)
    transfer_size = campaign.workload.transfer_size[0]
    if search.surface is not None:
        search, transfer_size = _fit_surface(search, search.surface, space)
    most = space.most_tasks(transfer_size, search.max_tasks)
    given = campaign.budget.space_bytes is not None
    if most == 0:
        raise RequestError(_too_little_space(space, plan.target, transfer_size, given=given))
    shares = tuple(share.bytes for share in space.shares) if plan.target.scheme == "path" else None
    fitted = campaign.model_copy(
        update={
            "search": search.model_copy(update={"max_tasks": most, "shares": shares}),
            "budget": campaign.budget.model_copy(update={"space_bytes": space.bytes + plan.company_bytes}),
        }
    )
    if most == search.max_tasks:
        smaller = campaign.search is not None and search.surface != campaign.search.surface
        return fitted, _smaller_text(transfer_size, space, plan.target, given=given) if smaller else None
    bound_text = f"at most {plural(most, 'task')} instead of {search.max_tasks}: a search may use"
    if most < space.most_tasks(transfer_size, search.max_tasks, names=False):
        share = space.short_of_names(most + 1)
        return fitted, f"{bound_text} {_names_text(share, plan.target)}; hint: another target has room for more tasks"
    _, bound, share = space.needed(most + 1, transfer_size)
    allowed = _bytes_text(space, bound, share, plan.target, given=given)
    return fitted, f"{bound_text} {allowed}; hint: smaller transfers, or more space for the files, have room for more"


def _fit_surface(search: Search, surface: tuple[int, int], space: SearchSpace) -> tuple[Search, int]:
    """With transfers no larger than all tasks have room for, and the largest of them."""
    smallest, largest = surface
    while largest >= 8 * smallest and space.most_tasks(largest, search.max_tasks) < search.max_tasks:
        largest //= 2
    return search.model_copy(update={"surface": (smallest, largest)}), largest


def _smaller_text(transfer_size: int, space: SearchSpace, target: Target, *, given: bool) -> str:
    allowed = _bytes_text(space, *space.needed(1, transfer_size)[1:], target, given=given)
    return (
        f"transfers up to {format_size(transfer_size)}: a search may use {allowed}; hint: more space for the files, or "
        "fewer tasks, have room for larger ones"
    )


def _too_little_space(space: SearchSpace, target: Target, transfer_size: int, *, given: bool) -> str:
    """Why not even one task has room, and what to do."""
    elsewhere = "--out on another file system"
    if (short := space.short_of_names(1)) is not None:
        files = next(files for share, files in space.loads(1) if share is short)
        included = ", records included" if short.with_records else ""
        hint = f"use {elsewhere}, or another target" if short.with_records else "use another target"
        return (
            f"a search may use {_names_text(short, target)}, and one task needs {short.names_of(files)}{included}; "
            f"hint: {hint}"
        )
    needed, bound, share = space.needed(1, transfer_size)
    records = share.with_records if share else any(one.with_records for one in space.shares)
    # Where the rest alone is too much, no transfer is small enough.
    ways = ["a smaller workload.transfer_size"] if space.of_task(1) > 0 else []
    ways += [elsewhere] if records else []
    hint = f"use {', '.join(ways)}, or allow more with budget.space" if ways else "allow more with budget.space"
    return (
        f"a search may use {_bytes_text(space, bound, share, target, given=given)}, and one task with transfers of "
        f"{format_size(transfer_size)} needs {size_text(needed)}{', records included' if records else ''}; hint: {hint}"
    )


def _bytes_text(space: SearchSpace, bound: int, share: Share | None, target: Target, *, given: bool) -> str:
    tenth = "" if given or bound == SEARCH_SPACE else ", a tenth of what is free"
    beside = f" beside the {size_text(space.company_bytes)} of its company" if given and space.company_bytes else ""
    return f"{size_text(bound)} on {_directories_of(share, target)}{beside}{tenth}"


def _names_text(share: Share | None, target: Target) -> str:
    count = (share.names if share else None) or 0
    return f"{plural(count, 'inode')} on {_directories_of(share, target)}, a tenth of what is free"


def _directories_of(share: Share | None, target: Target) -> str:
    if share is None or not target.paths:
        return target.name
    return ", ".join(dict.fromkeys(str(target.paths[number]) for number in share.directories))
