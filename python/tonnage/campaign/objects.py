"""What objects, of S3 or of a pool, do not do: said before anything is measured, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tonnage.campaign.kinds.files import FilesSetting
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.errors import RequestError
from tonnage.units import format_size

PARTS_MOST = 10_000
"""S3 takes no more parts of an object."""
LEAST_PART_BYTES = 5 << 20
"""… and none smaller than this, but for the last one."""
_NOT_OF_OBJECTS = ("rename", "make-tree", "remove-tree")


def check_pool(settings: Iterable[Setting], object_bytes: int) -> None:
    """RequestError where a setting asks for small files that a pool of Ceph cannot have."""
    for setting in settings:
        if isinstance(setting, FilesSetting):
            for what, hint in (*_of_files(setting), *_of_files_in_pool(setting, object_bytes)):
                raise RequestError(f"rados: {what}; hint: {hint}")


def check_objects(settings: Iterable[Setting], part_bytes: int) -> None:
    """RequestError where a setting asks for what objects cannot do."""
    for setting in settings:
        if isinstance(setting, StreamSetting):
            complaints = _of_stream(setting, part_bytes)
        elif isinstance(setting, FilesSetting):
            complaints = _of_files(setting)
        elif setting.kind == "tail":
            complaints = iter([("nobody can follow an object: it is not there before it is whole", "use a directory")])
        else:
            continue
        for what, hint in complaints:
            raise RequestError(f"s3: {what}; hint: {hint}")


def _of_stream(setting: StreamSetting, part_bytes: int) -> Iterator[tuple[str, str]]:
    if setting.op == "mixed":
        yield "an object is not written in the middle, so op mixed has no writes to mix", 'use op = ["write", "read"]'
    if setting.op == "write" and setting.access != "sequential":
        yield (
            f"an object is written from its first byte to its last, not in {setting.access} order",
            'use access = "sequential" for writes; reads may be in any order',
        )
    if setting.layout == "shared":
        yield "an object has one writer, so tasks cannot share a file", 'use layout = "file-per-task"'
    if setting.op == "write" and setting.sync == "fsync-each":
        yield "an object becomes durable as a whole, not after each write", 'use sync = "fsync"'
    for key in ("preallocate", "range_locks", "advice", "spread"):
        if getattr(setting, key):
            yield f"objects have no {key}", f"leave {key} out"
    part = max(part_bytes, setting.transfer_size) if setting.transfer_size >= LEAST_PART_BYTES else part_bytes
    if setting.file_bytes > part * PARTS_MOST:
        yield f"an object of S3 has at most {PARTS_MOST} parts", "give part or transfer_size more bytes"


def _of_files(setting: FilesSetting) -> Iterator[tuple[str, str]]:
    for phase in setting.phases:
        if phase in _NOT_OF_OBJECTS:
            yield f"objects have no directories and no other names, so there is nothing to {phase}", "leave it out"
    if setting.what != "files":
        yield "objects have no directories", 'use what = "files"'
    if setting.syncfs:
        yield "there is no file system to sync", "leave syncfs out"


def _of_files_in_pool(setting: FilesSetting, object_bytes: int) -> Iterator[tuple[str, str]]:
    if "read-directory" in setting.phases:
        yield "a pool lists all of its objects or none, so there is no directory to read", "leave read-directory out"
    if setting.file_size > object_bytes:
        yield (
            f"a file of {format_size(setting.file_size)} is one object, and those have {format_size(object_bytes)}",
            "give object more bytes, or measure large ones with the stream workload",
        )
