"""An automounter of one process: an indirect map (``DIR/home/NAME``) and a direct one (``DIR/data``), over memory.

As a program: ``python lab/automounter.py DIR WORD...`` runs WORD... with both in place, in a mount namespace of its own
that ends with it, and exits as that does. A name that begins with ``no`` has no entry in the map; for one that begins
with ``late`` the automounter never answers. Needs root. Protocol: Documentation/filesystems/autofs.rst of Linux.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
from pathlib import Path

_PACKET = struct.Struct("=iiIIQIIIII256s4x")
"""Version, type, token, device, inode, user, group, process, thread group, length, name."""
_MISSING_INDIRECT, _MISSING_DIRECT = 3, 5
_READY, _FAIL = 0x9360, 0x9361
_NEW_MOUNTS, _PRIVATE = 0x00020000, 0x4000 | 0x40000
_LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source: str, at: Path, kind: str, options: str = "", flags: int = 0) -> None:
    """Calls mount(2)."""
    words = [os.fsencode(word) for word in (source, str(at), kind)]
    if _LIBC.mount(*words, flags, os.fsencode(options)):
        raise OSError(ctypes.get_errno(), f"mount {kind} at {at}: {os.strerror(ctypes.get_errno())}")


class Map:
    """One autofs mount, and what it waits for."""

    def __init__(self, at: Path, kind: str) -> None:
        at.mkdir()
        self.at = at
        self.requests, writable = os.pipe()
        mount(f"/etc/auto.{at.name}", at, "autofs", f"fd={writable},pgrp={os.getpgrp()},minproto=5,maxproto=5,{kind}")
        self.control = os.open(at, os.O_RDONLY | os.O_DIRECTORY)
        os.close(writable)

    def serve(self) -> None:
        """Answers one request."""
        packet = _PACKET.unpack(os.read(self.requests, _PACKET.size))
        kind, token, length, name = packet[1], packet[2], packet[9], packet[10]
        word = os.fsdecode(name[:length]) if kind == _MISSING_INDIRECT else ""
        if word.startswith("late"):
            return
        if word.startswith("no") or kind not in (_MISSING_INDIRECT, _MISSING_DIRECT):
            fcntl.ioctl(self.control, _FAIL, token)
            return
        at = self.at / word
        at.mkdir(exist_ok=True)
        mount(f"auto-{at.name}", at, "tmpfs")
        fcntl.ioctl(self.control, _READY, token)


def main(directory: str, *words: str) -> int:
    """Runs ``words`` beside the automounter and returns their exit status."""
    if _LIBC.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "a mount namespace needs root")
    mount("none", Path("/"), "", flags=_PRIVATE)
    # What asks must be in another process group than what answers.
    os.setpgid(0, 0)
    maps = {
        one.requests: one for one in (Map(Path(directory, "home"), "indirect"), Map(Path(directory, "data"), "direct"))
    }
    with subprocess.Popen(words, start_new_session=True) as program:
        while program.poll() is None:
            for ready in select.select(list(maps), [], [], 0.01)[0]:
                maps[ready].serve()
    return program.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
