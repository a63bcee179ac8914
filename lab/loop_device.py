"""A file system of a test's own on a loop device, which may be unmounted and mounted again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class Device:
    """A file system on a loop device, which can be mounted again."""

    def __init__(self, image: Path, path: Path, kind: str, *making: str) -> None:
        self.image, self.path = image, path
        subprocess.run([f"mkfs.{kind}", "-q", *making, image], check=True, capture_output=True)
        path.mkdir()

    def mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True, capture_output=True)

    def unmount(self) -> None:
        # The loop device goes with its last user.
        subprocess.run(["umount", self.path], check=True, capture_output=True)


@contextlib.contextmanager
def device(work: Path, kind: str, size: int, *making: str) -> Iterator[Device]:
    """Mounted, and gone afterwards; skips where it cannot be. ``making``: words for its mkfs."""
    if os.geteuid() or not shutil.which(f"mkfs.{kind}") or not Path("/dev/loop-control").exists():
        pytest.skip(f"a {kind} of its own needs root, loop devices and mkfs.{kind}")
    image = work / f"image.{kind}"
    with image.open("xb") as stream:
        stream.truncate(size)
    made = Device(image, work / kind, kind, *making)
    made.mount()
    try:
        yield made
    finally:
        if os.path.ismount(made.path):
            with contextlib.suppress(subprocess.CalledProcessError):
                made.unmount()
            if os.path.ismount(made.path):
                subprocess.run(["umount", "--lazy", made.path], check=False)
