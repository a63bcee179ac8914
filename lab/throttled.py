"""A file system on a device of known speed: the truth that a plateau is compared with.

A loop device on a sparse file, with the kernel's blkio throttle (cgroup version 1) set for it in the root group: there,
and only there, write-back by kernel threads counts as well. Needs root. As a program::

    python lab/throttled.py --bytes-per-s 50000000 -- ./tonnage probe {}

runs a command with the directory in the place of ``{}``, and without a command waits until it is ended.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from impossible import Impossible, require

GIB = 1 << 30
MAKE = {
    "xfs": ["mkfs.xfs", "-q"],
    "ext4": ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "btrfs": ["mkfs.btrfs", "-q"],
}
"""No background initialisation: it would take its share of the limit, unasked."""


def run(*command: str | Path) -> str:
    """Runs a command to its end; Impossible with what it said if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Impossible(f"{command[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


@dataclass(frozen=True)
class Throttled:
    """A mounted file system whose device can be given limits, which hold for reads and for writes, each by itself."""

    path: Path
    device: str
    group: Path

    def limit(self, *, bytes_per_s: int = 0, operations_per_s: int = 0) -> None:
        """Sets the limits, from now on; 0 means none."""
        status = Path(self.device).stat()
        number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        for what, value in (("bps", bytes_per_s), ("iops", operations_per_s)):
            for direction in ("read", "write"):
                (self.group / f"blkio.throttle.{direction}_{what}_device").write_text(f"{number} {value}")


@contextlib.contextmanager
def throttled(
    *, bytes_per_s: int = 0, operations_per_s: int = 0, size: int = 4 * GIB, file_system: str = "xfs"
) -> Iterator[Throttled]:
    """A throttled file system for as long as the context lasts. ``size`` bytes, sparse.

    Raises Impossible where the machine cannot. SIGTERM unwinds it like any other end.
    """
    check_tools(file_system)
    with contextlib.ExitStack() as stack:
        stack.enter_context(terminated_as_exit())
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=image_directory(size), prefix="tonnage-lab-")))
        group = stack.enter_context(blkio_root_group(work))
        image, path = work / "image", work / "mount"
        path.mkdir()
        with image.open("xb") as stream:
            stream.truncate(size)
        device = run("losetup", "--find", "--show", image)
        stack.callback(detach, device)
        run(*MAKE[file_system], device)
        run("mount", "-o", "noatime", device, path)
        stack.callback(unmount, path)
        lab = Throttled(path, device, group)
        stack.callback(lab.limit)  # unmounting writes, and the limits would outlive the device
        lab.limit(bytes_per_s=bytes_per_s, operations_per_s=operations_per_s)
        yield lab


def check_tools(file_system: str) -> None:
    if os.geteuid():
        raise Impossible("a throttled device needs root")
    require(("losetup", "mount", "umount", MAKE[file_system][0]))


def image_directory(size: int) -> Path:
    """Memory where it has room: then nothing but the throttle is slow."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 2 * size:
        return memory
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def blkio_root_group(work: Path) -> Iterator[Path]:
    """The root group of the blkio controller, version 1: where it is mounted, or mounted for us alone."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, path, kind, options, *_ = line.split()
        if kind == "cgroup" and "blkio" in options.split(","):
            yield checked(Path(path))
            return
    private = work / "blkio"
    private.mkdir()
    try:
        run("mount", "-t", "cgroup", "-o", "blkio", "none", private)
    except Impossible as error:
        raise Impossible(f"no blkio controller of cgroup version 1 here, and none can be mounted ({error})") from None
    try:
        yield checked(private)
    finally:
        run("umount", private)


def checked(group: Path) -> Path:
    if not (group / "blkio.throttle.write_bps_device").exists():
        raise Impossible(f"{group} has no blkio.throttle files: this kernel was built without the throttle")
    return group


def unmount(path: Path) -> None:
    """At once, or from sight now and for good when the last open file in it is closed."""
    try:
        run("umount", path)
    except Impossible:
        run("umount", "--lazy", path)


def detach(device: str) -> None:
    """Detaches at once, or when the last mount namespace that copied the mount is gone (then the kernel does it)."""
    run("losetup", "--detach", device)


@contextlib.contextmanager
def terminated_as_exit() -> Iterator[None]:
    """Makes SIGTERM raise SystemExit where nobody handles it; left alone off the main thread."""

    def leave(number: int, _: object) -> None:
        # Once: another one must not interrupt what takes mounts and devices down.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(128 + number)

    try:
        ours = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        previous = signal.signal(signal.SIGTERM, leave) if ours else None
    except ValueError:
        ours, previous = False, None
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, previous)


def main() -> int:
    parser = argparse.ArgumentParser(description="A file system on a device of known speed.")
    parser.add_argument("--bytes-per-s", type=int, default=0, help="limit of reads and of writes (default: none)")
    parser.add_argument("--operations-per-s", type=int, default=0, help="limit of reads and of writes (default: none)")
    parser.add_argument("--size", type=int, default=4 * GIB, help="bytes of the file system (sparse)")
    parser.add_argument("--file-system", choices=sorted(MAKE), default="xfs")
    parser.add_argument("command", nargs="*", help="what to run, with {} for the directory")
    given = parser.parse_args()
    try:
        with throttled(
            bytes_per_s=given.bytes_per_s,
            operations_per_s=given.operations_per_s,
            size=given.size,
            file_system=given.file_system,
        ) as lab:
            print(f"{lab.path} on {lab.device}", file=sys.stderr, flush=True)
            if given.command:
                return subprocess.run(
                    [word.replace("{}", str(lab.path)) for word in given.command], check=False
                ).returncode
            signal.pause()
    except Impossible as error:
        print(f"throttled: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
