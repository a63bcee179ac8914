"""``files``: tasks that make, look at and remove the names of many small files and directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tonnage.campaign.kinds.command import Argv
from tonnage.campaign.kinds.kind import Factors, Setting, scaled
from tonnage.campaign.kinds.named_company import CompanySection
from tonnage.campaign.target import Target
from tonnage.field_types import Count, Device, Flag, Length, Sweep, Tasks, Time
from tonnage.records.phase_specs import TargetSpec
from tonnage.toml_documents import refuse, time_field
from tonnage.units import format_size

Phase = Literal[
    "make-tree", "create", "write", "stat", "read", "rename", "read-directory", "remove", "remove-tree",
    "open-write-close",
    "churn",
]  # fmt: skip
Directories = Literal["unique", "shared"]
What = Literal["files", "directories", "both"]
Order = Literal["creation", "random"]
Sync = Literal["none", "fsync-each"]
Cache = Literal["keep", "drop"]
Payload = Literal["unique", "constant"]
Direct = Literal["yes", "no"]
Way = Literal["posix", "mpiio"]

_ITEMS = 1000
"""Items in a directory where nothing is said."""
OF_DIRECTORIES = {
    "create": "make-directory",
    "stat": "stat-directory",
    "rename": "rename-directory",
    "remove": "remove-directory",
}
MAKING = {"create", "make-directory"}
WRITING = {"create", "write", "open-write-close", "churn"}
REPEATED = ("open-write-close", "churn")
"""Phases that work on the first file of a task, again and again."""
TREE = ("make-tree", "remove-tree")
_TAKING = {"rename", "remove"}
_OF_ITEMS = {"write", "stat", "read", "rename", "remove"}
_LOOKING = {"stat", "stat-directory", "read", "read-directory"}
_NAME_BYTES = 1024
"""What a name without content takes, about: an inode and an entry of a directory."""
_BLOCK_BYTES = 4096
_FASTEST_PER_S = 10**6
"""No task creates more names in a second."""
_DEEPEST = 100
Depth = Annotated[int, Field(ge=0, le=_DEEPEST, strict=True)]


def _directories(depth: int, branch: int) -> int:
    return sum(branch**level for level in range(depth + 1))


_ITEM_NAMES = {"files": "files", "directories": "directories", "both": "files and directories"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSetting(Setting):
    """Every factor of a trial on names. Sizes in bytes."""

    kind: str = "files"
    direct: str = "no"
    sequence: str
    """Phases in order, as the file gives them, joined by commas."""
    depth: int
    branch: int
    items_per_directory: int
    leaves_only: bool
    directories: str
    what: str
    file_size: int
    read_size: int
    sync: str
    order: str
    shift: int
    operations: int
    cache: str
    payload: str
    verify: bool
    wear_out: bool = False
    keep: bool = False
    made: int | None = None
    syncfs: bool = False
    mknod: bool = False
    shared_files: bool = False
    collective: bool = False
    check_written: bool = False
    before_phase: tuple[str, ...] | None = None
    after_phase: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        # A stored setting comes from JSON, which has lists only.
        for name in ("before_phase", "after_phase"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def phases(self) -> tuple[str, ...]:
        """The engine's phases: those on items first for directories, then for files, where the items are both."""
        given = self.sequence.split(",")
        items = [phase for phase in given if phase not in TREE]
        directories = [OF_DIRECTORIES[phase] for phase in items if phase in OF_DIRECTORIES]
        files = items if self.what != "directories" else [phase for phase in items if phase == "read-directory"]
        tree = {phase: [phase] if phase in given else [] for phase in TREE}
        return (*tree["make-tree"], *(directories if self.what != "files" else ()), *files, *tree["remove-tree"])

    @property
    def only_looks(self) -> bool:
        return self.keep and _LOOKING.issuperset(self.phases)

    @property
    def tree_directories(self) -> int:
        """Directories of one tree, its root included."""
        return _directories(self.depth, self.branch)

    @property
    def items(self) -> int:
        """Items of each task."""
        holders = self.branch**self.depth if self.leaves_only else self.tree_directories
        return holders * self.items_per_directory

    @property
    def items_there(self) -> int:
        """Items of each task that the phases work on."""
        return self.items if self.made is None else min(self.items, self.made)

    def operations_of(self, phase: str) -> int:
        """Operations of a phase over all tasks, where no limit ends it."""
        if phase in TREE:
            return self.tree_directories * (1 if self.directories == "shared" else self.tasks)
        if phase == "read-directory":
            return self.tree_directories * self.tasks
        if self.shared_files and phase in _TAKING:
            return self.items_there
        return self.tasks * (self.operations if phase in REPEATED else self.items_there)

    def bytes_of(self, phase: str) -> int:
        """Bytes that one operation of a phase moves."""
        if phase == "read":
            return self.read_size
        return 0 if phase == "create" and self.collective else self.file_size

    @property
    def name_operations(self) -> int:
        return sum(self._most_operations(phase) for phase in self.phases)

    def _most_operations(self, phase: str) -> int:
        """Over all tasks, at most, also where the time ends long before all that was asked for is done."""
        asked = self.operations_of(phase)
        if self.time_limit_ns is None or phase not in REPEATED:
            return asked
        return min(asked, self.tasks * self.time_limit_ns * _FASTEST_PER_S // 10**9)

    @property
    def space_bytes(self) -> int:
        """The most bytes that exist at once: one phase makes files, a later one removes them."""
        file = -(-self.file_size // _BLOCK_BYTES) * _BLOCK_BYTES + _NAME_BYTES
        tree = self.operations_of("make-tree") * _BLOCK_BYTES
        files = self.operations_of("write") * file if self._writes_over else 0
        directories, most = 0, files
        for phase in self.phases:
            if phase == "create":
                files = self._most(phase) * file
            elif phase == "make-directory":
                directories = self._most(phase) * _BLOCK_BYTES
            elif phase in REPEATED:
                # Always the first file of a task, which it makes where none is there.
                files = max(files, self.tasks * file)
            most = max(most, files + directories)
            if phase == "remove":
                files = 0
            elif phase == "remove-directory":
                directories = 0
        return tree + most

    @property
    def names(self) -> int:
        made = sum(self._most(phase) for phase in ("create", "make-directory") if phase in self.phases)
        return made + self.operations_of("make-tree")

    def _most(self, phase: str) -> int:
        """Items that a phase makes at most, also where the tree could hold more than the time allows."""
        if self.time_limit_ns is None:
            return self.operations_of(phase)
        return min(self.operations_of(phase), self.tasks * self.time_limit_ns * _FASTEST_PER_S // 10**9)

    @property
    def made_by_time(self) -> bool:
        return self.wear_out and "create" in self.phases

    @property
    def _writes_over(self) -> bool:
        """Whether it writes what an earlier run left: files with allocated space or empty ones, which is unknown."""
        return "write" in self.phases and "create" not in self.phases

    def is_checked(self, target: Target) -> bool:
        return Setting.is_checked(self, target) and not (target.scheme == "path" and self._writes_over)

    @property
    def opening(self) -> TargetSpec:
        return {"mpiio": {"collective": False}} if self.storage == "mpiio" else {}

    @property
    def smaller(self) -> str:
        return "use fewer items, smaller files or fewer tasks"

    @property
    def write_bytes(self) -> int:
        return sum(self.operations_of(phase) * self.bytes_of(phase) for phase in self.phases if phase in WRITING)

    @property
    def read_bytes(self) -> int:
        return self.operations_of("read") * self.read_size if "read" in self.phases else 0

    @property
    def time_ns_most(self) -> int | None:
        # Phases that rename and remove end when they are done.
        return None

    @property
    def unbroken_bytes(self) -> int:
        return max((self.bytes_of(phase) for phase in self.phases if self.operations_of(phase)), default=0)

    def describe(self) -> str:
        tree = f"depth {self.depth} × branch {self.branch}  " if self.depth else ""
        return (
            f"{tree}{self.items_per_directory} {_ITEM_NAMES[self.what]} a directory and task"
            + ("  in leaves" if self.leaves_only and self.depth else "")
            + f"  {self.directories}"
            + (f"  {format_size(self.file_size)}" if self.file_size else "")
            + (f"  {self.sync}" if self.sync != "none" else "")
            + (f"  {self.storage}" if self.storage != "posix" else "")
            + ("  direct" if self.direct == "yes" else "")
            + "".join(f"  {key}" for key in ("syncfs", "mknod", "shared_files", "collective") if getattr(self, key))
            + ("  random" if self.order == "random" else "")
        )


class Files(CompanySection):
    """Tasks that work on the names of trees of directories."""

    SETTING = FilesSetting

    kind: Literal["files"] = Field("files", description="tasks that make, look at and remove many small files")
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="tasks at once")
    device: Device | None = Field(None, description="the only directory of the target that is used, from 0; all")
    phases: tuple[Phase, ...] = Field(
        ("create", "stat", "read", "remove"), min_length=1, description="what a trial does to all names, in this order"
    )
    depth: Sweep[Depth] = Field((0,), description="levels of directories below the root of a tree")
    branch: Sweep[Count] = Field((1,), description="directories in each directory that is not a leaf")
    items_per_directory: Sweep[Count] | None = Field(None, description="items of each task in a directory; 1000")
    items: Sweep[Count] | None = Field(None, description="instead: items of each task in the whole tree")
    leaves_only: Flag = Field(False, description="only the leaves of the tree hold items")
    file_size: Sweep[Length] = Field((0,), description="bytes of each file")
    directories: Sweep[Directories] = Field(("unique",), description="a tree for each task, or one for all")
    what: Sweep[What] = Field(("files",), description="what the items are; both: first directories, then files")
    read_size: Length | None = Field(None, description="bytes read of each file; all")
    sync: Sweep[Sync] = Field(("none",), description="fsync each written file before it is closed, inside the clock")
    syncfs: Flag = Field(
        False, description="each task ends a phase with a sync of the whole file system, inside the clock"
    )
    mknod: Flag = Field(False, description="create makes files with mknod, without opening them")
    shared_files: Flag = Field(
        False, description="all tasks work on the same files, which the first alone renames and removes"
    )
    collective: Flag = Field(False, description="the first task makes (empty) and removes what all tasks have")
    order: Sweep[Order] = Field(("creation",), description="in which items are visited once they are there")
    shift: Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)] = Field(
        0, description="a task stats the items of the task so many further on, reads two and removes three times that"
    )
    operations: Count = Field(1000, description="operations of each task in open-write-close and churn")
    storage: Sweep[Way] = Field(
        ("posix",),
        description="how files are made, opened, read, written, closed and removed: by the file system's own "
        "calls, or by MPI-IO's",
    )
    direct: Sweep[Direct] = Field(
        ("no",), description="files are written and read past the page cache (O_DIRECT) or through it"
    )
    cache: Sweep[Cache] = Field(("keep",), description="the files' pages in the page cache before a read phase")
    payload: Payload = Field("unique", description="what is written; constant flatters compression")
    verify: Flag = Field(False, description="check every byte that is read")
    check_written: Flag = Field(
        False, description="read each file back before it is closed, inside the clock, and check every byte"
    )
    before_phase: Argv | None = Field(
        None,
        description="run before each phase but those on the tree, outside the clock; if it fails, so does the phase",
    )
    after_phase: Argv | None = Field(
        None, description="run after each phase but the tree's, outside the clock; its time is an event"
    )
    time_limit_ns: Time | None = time_field(
        "time_limit", None, "no operation starts later than this in a phase that creates or only looks"
    )
    wear_out: Flag = Field(
        False, description="when the time is up, go on until each task has created as many as the fastest had then"
    )
    keep: Flag = Field(False, description="do these phases only, on what is there, and leave what they leave")
    made: Count | None = Field(
        None, description="so many of each task's items are there, where the run that created them ended by time"
    )

    @model_validator(mode="after")
    def _combinations(self) -> Files:
        if self.items is not None and self.items_per_directory is not None:
            refuse("items", "items and items_per_directory are two sizes of the same tree", "keep one of them")
        for number, phase in enumerate(self.phases):
            if phase in self.phases[:number]:
                refuse("phases", f"phases has {phase!r} twice", "name each phase once")
        is_there = self.keep
        for phase in self.phases:
            if phase in _OF_ITEMS and not is_there:
                refuse("phases", f"{phase} finds no items: none are there before it", "put create before it")
            is_there = phase == "create" or (is_there and phase != "remove")
        if "make-tree" in self.phases[1:]:
            refuse("phases", "make-tree stands behind other phases", "put it first, or leave it out")
        if "remove-tree" in self.phases[:-1]:
            refuse("phases", "remove-tree stands before other phases", "put it last, or leave it out")
        if self.wear_out and self.time_limit_ns is None:
            refuse("wear_out", "wear_out needs time_limit", 'add time_limit = "10s"')
        if self.made is not None and (not self.keep or "create" in self.phases):
            refuse("made", "made tells what an earlier run created", "set keep = true, and leave create out")
        if "mpiio" in self.storage and "yes" in self.direct:
            refuse("direct", "storage mpiio works through the page cache", 'set direct = "no" or storage = "posix"')
        for key in ("verify", "check_written"):
            if getattr(self, key) and self.payload == "constant":
                refuse(
                    key,
                    f"{key} needs payload unique: constant data cannot tell one place from another",
                    'set payload = "unique"',
                )
        self._who_makes()
        for size in self.file_size:
            if self.read_size is not None and self.read_size > size and "read" in self.phases:
                refuse(
                    "read_size",
                    f"read_size {format_size(self.read_size)} is above file_size {format_size(size)}",
                    "read no more than a file has",
                )
        # Each combination is checked where it is made.
        self.settings()
        return self

    def _who_makes(self) -> None:
        """The rules of what is made, and by whom."""
        if self.mknod and "mpiio" in self.storage:
            refuse("mknod", "mknod makes files without opening them, and MPI-IO has no such call", "leave it out")
        if self.mknod and any(self.file_size) and "create" in self.phases and not self.collective:
            refuse("mknod", "mknod makes empty files, and file_size is above 0", "leave one of them out")
        if self.shared_files and (self.what != ("files",) or self.directories != ("shared",)):
            refuse(
                "shared_files",
                "shared_files are files in one tree for all tasks",
                'set what = "files" and directories = "shared"',
            )
        if self.collective and (self.shared_files or self.time_limit_ns is not None):
            other = "shared_files" if self.shared_files else "time_limit"
            refuse("collective", f"collective does not go with {other}", "leave one of them out")

    def knobs(self, factors: Factors, scale: float) -> Factors:
        items, depth, branch = factors.pop("items"), factors["depth"], factors["branch"]
        directories = _directories(depth, branch)
        if directories > 1 << 32:
            refuse("depth", f"the tree would have {directories} directories", "use a smaller depth or branch")
        if items is not None:
            holders = branch**depth if self.leaves_only else directories
            if items % holders:
                near = max(items // holders, 1) * holders
                refuse("items", f"items {items} do not fill the {holders} directories evenly", f"use {near}")
            factors["items_per_directory"] = items // holders
        return super().knobs(factors, scale) | {
            "items_per_directory": scaled(factors["items_per_directory"] or _ITEMS, scale),
            "sequence": ",".join(self.phases),
            "read_size": factors["file_size"] if self.read_size is None else self.read_size,
            "operations": scaled(self.operations, scale) if set(REPEATED) & set(self.phases) else 0,
        }
