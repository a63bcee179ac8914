"""The file systems that histories happen on, mounted below one directory."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faultfs import Mounted, mounted

MIB = 1 << 20
SIZES = {"tmpfs": 256, "ext4": 192, "xfs": 320, "btrfs": 192}
"""MiB of each; an image is as sparse as what is in it."""


@dataclass
class Ground:
    """One file system."""

    kind: str
    work: Path
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    fuse: Mounted | None = None

    @property
    def path(self) -> Path:
        """Where it is mounted."""
        return self.work / "mount"

    @property
    def below(self) -> Path:
        """Where a judge reads it: of FUSE the directory behind it, where inodes are numbered as they are."""
        return self.work / "backing" if self.kind == "fuse" else self.path

    @property
    def keeps(self) -> bool:
        """Whether it is the same after it was unmounted and mounted again."""
        return self.kind != "tmpfs"

    def make(self) -> None:
        self.work.mkdir()
        if self.kind == "fuse":
            return
        self.path.mkdir()
        if self.kind != "tmpfs":
            with (self.work / "image").open("xb") as image:
                image.truncate(SIZES[self.kind] * MIB)
            # A small ext4 has small blocks where its defaults say so, and takes few attributes.
            words = ["-b", "4096"] if self.kind == "ext4" else []
            subprocess.run([f"mkfs.{self.kind}", "-q", *words, self.work / "image"], check=True, capture_output=True)

    def mount(self) -> None:
        if self.kind == "fuse":
            self.fuse = self.stack.enter_context(mounted(self.work))
            return
        given = ["-t", "tmpfs", "-o", f"size={SIZES['tmpfs']}m", "tmpfs"]
        words = given if self.kind == "tmpfs" else ["-o", "loop", self.work / "image"]
        subprocess.run(["mount", *words, self.path], check=True, capture_output=True)

    def unmount(self) -> None:
        if self.kind == "fuse":
            self.stack.close()
            self.fuse = None
        else:
            subprocess.run(["umount", self.path], check=True, capture_output=True)

    def obey(self, **rules: object) -> None:
        if self.fuse:
            self.fuse.obey(**rules)


def discard(tree: Path) -> None:
    """Removes a tree that a history made, if it is there."""
    if tree.is_dir():
        with tempfile.TemporaryDirectory(dir=tree.parent) as last:
            tree.rename(Path(last) / "gone")


def hand_down_a_list(directory: Path) -> None:
    """A third user may use all that is made in it, where the file system knows access lists."""
    none = 2**32 - 1
    entries = ((1, 7, none), (2, 7, 4711), (4, 5, none), (0x10, 7, none), (0x20, 5, none))
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    with contextlib.suppress(OSError):
        os.setxattr(directory, "system.posix_acl_default", value)


def possible() -> list[str]:
    """Kinds that this machine can make."""
    if os.geteuid():
        return []
    loop = Path("/dev/loop-control").exists()
    kinds = [kind for kind in SIZES if kind == "tmpfs" or (loop and shutil.which(f"mkfs.{kind}"))]
    with contextlib.suppress(ImportError):
        import mfusepy  # noqa: F401

        if Path("/dev/fuse").exists():
            kinds.append("fuse")
    return kinds


@contextlib.contextmanager
def grounds(work: Path, kinds: list[str]) -> Iterator[dict[str, Ground]]:
    """Mounts one file system of each kind for a source and one for a destination, and removes them afterwards."""
    made: dict[str, Ground] = {}
    try:
        for kind in kinds:
            for end in ("from", "to"):
                if (kind, end) != ("fuse", "from"):
                    ground = made[f"{end}-{kind}"] = Ground(kind, work / f"{end}-{kind}")
                    ground.make()
                    ground.mount()
        yield made
    finally:
        for ground in made.values():
            ground.stack.close()
            if os.path.ismount(ground.path):
                subprocess.run(["umount", "--lazy", ground.path], check=False)
