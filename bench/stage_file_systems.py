"""Where a stage bench runs: a directory on tmpfs, or a file system of its own on a loop device that nothing outlives.

The process sits in a mount namespace of its own, the image has no name any more once it is mounted, and the loop device
lets go of it with the last unmount: also after a kill, no mount, no device and no file is left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

MARK = "TONNAGE_BENCH_NAMESPACE"
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
}


def enter_namespace() -> None:
    """Starts this program again in a mount namespace of its own, as root; once."""
    if os.environ.get(MARK) == "1" or os.geteuid() != 0:
        return
    os.environ[MARK] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])


def run(*command: str) -> str:
    """What a program prints; RuntimeError with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout.strip()


@dataclass
class EmptyDirectory:
    """Context manager: an empty directory ``path`` on ``kind``, backed by ``parent``."""

    kind: str
    """``tmpfs``: plainly below ``parent``; ``ext4`` or ``xfs``: on a loop device whose image lies in ``parent``."""
    parent: Path
    size_bytes: int
    path: Path = field(init=False)
    mounted: bool = field(default=False, init=False)

    @property
    def label(self) -> str:
        return self.kind

    def __enter__(self) -> EmptyDirectory:
        self.temporary = tempfile.TemporaryDirectory(dir=self.parent, prefix="tonnage-bench-")
        self.path = Path(self.temporary.name)
        try:
            if self.kind != "tmpfs":
                self.mount()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def mount(self) -> None:
        if os.environ.get(MARK) != "1" or os.geteuid() != 0:
            raise RuntimeError("loop devices need root and a mount namespace of their own")
        with tempfile.NamedTemporaryFile(dir=self.parent, prefix="tonnage-bench-image-") as image:
            os.truncate(image.name, self.size_bytes)
            device = run("losetup", "--find", "--show", "--direct-io=on", image.name)
            try:
                run(*MAKE[self.kind], device)
                run("mount", device, str(self.path))
                self.mounted = True
                if self.kind == "ext4":
                    # Each run's directory in a group of its own: ext4 looks through all inodes that were freed lately.
                    run("chattr", "+T", str(self.path))
            finally:
                # Lazily: the device lets go when it is unmounted.
                run("losetup", "--detach", device)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.mounted:
            run("umount", str(self.path))
            self.mounted = False
        self.temporary.cleanup()

    def sync(self) -> None:
        """What was written or removed here is so on the device as well."""
        run("sync", "-f", str(self.path))


def evict(directory: Path) -> None:
    """The files below it leave the page cache, where the file system has one of its own."""
    for path in directory.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
