"""Facts of file systems, the devices that hold files, and striping: one module a file system."""

from tonnage.filesystems.file_holders import FileLayout, FileShare, Holding, Item
from tonnage.filesystems.known_filesystems import facts_of, file_layout, served_by, snapshots_of, stripe, type_of
from tonnage.filesystems.servers import Answer, Device, ObservedPath
from tonnage.filesystems.striping import Striped, Striping

__all__ = [
    "Answer",
    "Device",
    "FileLayout",
    "FileShare",
    "Holding",
    "Item",
    "ObservedPath",
    "Striped",
    "Striping",
    "facts_of",
    "file_layout",
    "served_by",
    "snapshots_of",
    "stripe",
    "type_of",
]
