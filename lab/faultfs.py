"""A file system that fails as it is told: a directory seen through FUSE, with rules that may change at any time.

As a program: ``python lab/faultfs.py BACKING MOUNT RULES``. ``RULES`` is a file of one JSON object, read again before
each call; without it nothing fails. Its keys, each optional:

- ``fail``: operation (``write``, ``fsync``, ``fsyncdir``, ``flush``, ``link``, ``rename``, ``create``,
  ``read``) to the name of an error;
- ``name``: only files whose path contains this fail, hang, and are flipped;
- ``each``: only each so-manieth of these operations fails (1: all);
- ``full_after_bytes``: so many bytes may be written since the mount, then ``ENOSPC``;
- ``short``: a write takes at most so many bytes;
- ``flip``: one bit of what is written is stored the other way round;
- ``hang``: these operations wait until the rule is gone; once one does, there is a file ``RULES`` ending in ``.hangs``;
- ``read_only``: nothing may be changed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOOK_S = 0.01
"""Between two looks of an operation that hangs at whether it still should."""


def hanging(rules: Path) -> Path:
    """A file that is there once an operation has begun to hang."""
    return rules.with_suffix(".hangs")


class Faults:
    """The rules as they are now, and what has been counted for them."""

    def __init__(self, file: Path) -> None:
        self.file, self.counts, self.written = file, 0, 0
        self._lock = threading.Lock()

    def now(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
            return found
        return {}

    def meet(self, operation: str, path: str, *, changes: bool = False) -> dict[str, Any]:
        """Raises what the rules say of this operation; the rules otherwise."""
        rules = self.now()
        while operation in rules.get("hang", ()) and rules.get("name", "") in path:
            hanging(self.file).touch()
            time.sleep(_LOOK_S)
            rules = self.now()
        if changes and rules.get("read_only"):
            raise OSError(errno.EROFS, "read-only")
        if operation in rules.get("fail", {}) and rules.get("name", "") in path:
            with self._lock:
                self.counts += 1
                due = self.counts % rules.get("each", 1) == 0
            if due:
                raise OSError(getattr(errno, rules["fail"][operation]), operation)
        return rules

    def store(self, file: int, path: str, data: bytes, offset: int) -> int:
        """Writes as the rules say."""
        rules = self.meet("write", path, changes=True)
        data = data[: rules.get("short", len(data))]
        with self._lock:
            if "full_after_bytes" in rules and self.written + len(data) > rules["full_after_bytes"]:
                raise OSError(errno.ENOSPC, "full")
            self.written += len(data)
        if rules.get("flip") and rules.get("name", "") in path:
            data = bytes([data[0] ^ 1]) + data[1:]
        return os.pwrite(file, data, offset)


class Through:
    """Each call on the same path of the backing directory."""

    use_ns = True

    def __init__(self, backing: Path, faults: Faults) -> None:
        self._backing, self._faults = os.fspath(backing), faults

    def _at(self, path: str) -> str:
        return self._backing + path

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        about = os.lstat(self._at(path)) if fh is None else os.fstat(fh)
        keys = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks")
        times = {f"st_{kind}time": getattr(about, f"st_{kind}time_ns") for kind in "amc"}
        return {**{key: getattr(about, key) for key in keys}, **times}

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *os.listdir(self._at(path))]

    def open(self, path: str, flags: int) -> int:
        # The kernel may read a page that is written in part.
        way = os.O_RDONLY if flags & os.O_ACCMODE == os.O_RDONLY else os.O_RDWR
        return os.open(self._at(path), way | flags & os.O_TRUNC)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        self._faults.meet("create", path, changes=True)
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        self._faults.meet("read", path)
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return self._faults.store(fh, path, data, offset)

    def flush(self, path: str, fh: int) -> int:
        self._faults.meet("flush", path)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        self._faults.meet("fsync", path)
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        self._faults.meet("fsyncdir", path)
        return 0

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def rename(self, old: str, new: str) -> None:
        self._faults.meet("rename", new, changes=True)
        os.rename(self._at(old), self._at(new))

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        self._faults.meet("truncate", path, changes=True)
        os.truncate(self._at(path) if fh is None else fh, length)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        os.utime(self._at(path), ns=times, follow_symlinks=False)

    def mkdir(self, path: str, mode: int) -> None:
        self._faults.meet("mkdir", path, changes=True)
        os.mkdir(self._at(path), mode)

    def unlink(self, path: str) -> None:
        self._faults.meet("unlink", path, changes=True)
        os.unlink(self._at(path))

    def rmdir(self, path: str) -> None:
        os.rmdir(self._at(path))

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self._at(path), mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        os.lchown(self._at(path), uid, gid)

    def symlink(self, target: str, source: str) -> None:
        os.symlink(source, self._at(target))

    def mknod(self, path: str, mode: int, dev: int) -> None:
        self._faults.meet("create", path, changes=True)
        os.mknod(self._at(path), mode, dev)

    def readlink(self, path: str) -> str:
        return os.readlink(self._at(path))

    def link(self, target: str, source: str) -> None:
        self._faults.meet("link", target, changes=True)
        os.link(self._at(source), self._at(target))

    def statfs(self, path: str) -> dict[str, int]:
        about = os.statvfs(self._at(path))
        return {key: getattr(about, key) for key in dir(about) if key.startswith("f_") and key != "f_fsid"}


def serve(backing: Path, mount: Path, rules: Path, cached: str = "") -> None:
    """Until it is unmounted. ``cached``: the kernel keeps pages, as it does for most file systems."""
    import mfusepy

    class Served(Through, mfusepy.Operations):  # type: ignore[misc, name-defined]
        """With the library's answers to what is not here."""

    class Honest(mfusepy.FUSE):  # type: ignore[misc, name-defined]
        """The library leaves out the flags of a rename, which would replace where it must not: refused as NFS does."""

        def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
            return -errno.EINVAL if flags else self.rename_fuse_2(old, new)

    # Past the kernel's cache: it makes an error of a short write, and tells of others later or to somebody else.
    cacheless = {"direct_io": True, "attr_timeout": 0, "entry_timeout": 0}
    Honest(
        Served(backing, Faults(rules)),
        os.fspath(mount),
        foreground=True,
        nothreads=False,
        fsname="faultfs",
        **({} if cached else cacheless),
    )


class Mounted:
    """One that is mounted."""

    def __init__(self, path: Path, rules: Path, pid: int) -> None:
        self.path, self._rules = path, rules
        self.pid = pid
        """The process that serves it."""

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stops the process that serves it: it is a server that does not answer."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def hangs(self) -> bool:
        """Whether an operation has begun to hang since the rules were given."""
        return hanging(self._rules).exists()

    def obey(self, **rules: Any) -> None:
        """These rules hold from now on, and no others."""
        hanging(self._rules).unlink(missing_ok=True)
        fresh = self._rules.with_suffix(".new")
        fresh.write_text(json.dumps(rules), encoding="utf-8")
        fresh.replace(self._rules)


def needs_fuse() -> None:
    """Skips the test where this file system cannot be mounted."""
    import pytest

    pytest.importorskip("mfusepy", reason="mfusepy is not installed", exc_type=ImportError)
    if not Path("/dev/fuse").exists() or os.geteuid() or not shutil.which("fusermount3"):
        pytest.skip("FUSE needs /dev/fuse, fusermount3 and root")


@contextlib.contextmanager
def mounted(work: Path, *, cached: bool = False) -> Iterator[Mounted]:
    """Mounted below ``work`` for as long as the context lasts, and again with the next one."""
    backing, mount, rules = work / "backing", work / "mount", work / "rules.json"
    backing.mkdir(exist_ok=True)
    mount.mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, __file__, backing, mount, rules, *["cached"] * cached], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            until = time.monotonic() + 30
            while not os.path.ismount(mount):
                if process.poll() is not None or time.monotonic() > until:
                    process.kill()
                    raise OSError(f"no FUSE here: {process.communicate()[1]}")
                time.sleep(_LOOK_S)
            yield Mounted(mount, rules, process.pid)
        finally:
            rules.unlink(missing_ok=True)
            if os.path.ismount(mount):
                subprocess.run(["umount", "--lazy", mount], check=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


if __name__ == "__main__":
    serve(*map(Path, sys.argv[1:4]), *sys.argv[4:])
