"""Every system call of a process on some trees, seen before and after it is done, by ptrace on x86-64.

A filter (seccomp) stops the process at calls that may touch a file, and at no others. At each call that names a file
below one of the roots somebody is asked, who may let it go on, answer in the kernel's place, do something to the trees
while the call has not begun, or kill the process before or after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import signal
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = platform.machine() == "x86_64"
"""Whether registers and numbers are the ones below."""

_FD, _PATH, _AT = "fd", "path", "at"
_CALLS: dict[str, tuple[int, tuple[tuple[str, int], ...]]] = {
    name: (number, where)
    for number, name, *where in [
        (0, "read", (_FD, 0)), (1, "write", (_FD, 0)), (2, "open", (_PATH, 0)), (3, "close", (_FD, 0)),
        (4, "stat", (_PATH, 0)), (5, "fstat", (_FD, 0)), (6, "lstat", (_PATH, 0)), (8, "lseek", (_FD, 0)),
        (16, "ioctl", (_FD, 0)), (17, "pread64", (_FD, 0)), (18, "pwrite64", (_FD, 0)), (19, "readv", (_FD, 0)),
        (20, "writev", (_FD, 0)), (21, "access", (_PATH, 0)), (72, "fcntl", (_FD, 0)), (74, "fsync", (_FD, 0)),
        (75, "fdatasync", (_FD, 0)), (76, "truncate", (_PATH, 0)), (77, "ftruncate", (_FD, 0)),
        (82, "rename", (_PATH, 0), (_PATH, 1)), (83, "mkdir", (_PATH, 0)), (84, "rmdir", (_PATH, 0)),
        (86, "link", (_PATH, 0), (_PATH, 1)), (87, "unlink", (_PATH, 0)), (88, "symlink", (_PATH, 1)),
        (89, "readlink", (_PATH, 0)), (90, "chmod", (_PATH, 0)), (91, "fchmod", (_FD, 0)), (92, "chown", (_PATH, 0)),
        (93, "fchown", (_FD, 0)), (94, "lchown", (_PATH, 0)), (133, "mknod", (_PATH, 0)), (137, "statfs", (_PATH, 0)),
        (138, "fstatfs", (_FD, 0)), (188, "setxattr", (_PATH, 0)), (189, "lsetxattr", (_PATH, 0)),
        (190, "fsetxattr", (_FD, 0)), (191, "getxattr", (_PATH, 0)), (192, "lgetxattr", (_PATH, 0)),
        (193, "fgetxattr", (_FD, 0)), (194, "listxattr", (_PATH, 0)), (195, "llistxattr", (_PATH, 0)),
        (196, "flistxattr", (_FD, 0)), (197, "removexattr", (_PATH, 0)), (198, "lremovexattr", (_PATH, 0)),
        (199, "fremovexattr", (_FD, 0)), (217, "getdents64", (_FD, 0)), (221, "fadvise64", (_FD, 0)),
        (254, "inotify_add_watch", (_PATH, 1)), (257, "openat", (_AT, 0)), (258, "mkdirat", (_AT, 0)),
        (259, "mknodat", (_AT, 0)), (260, "fchownat", (_AT, 0)), (262, "newfstatat", (_AT, 0)),
        (263, "unlinkat", (_AT, 0)), (264, "renameat", (_AT, 0), (_AT, 2)), (265, "linkat", (_AT, 0), (_AT, 2)),
        (266, "symlinkat", (_AT, 1)), (267, "readlinkat", (_AT, 0)), (268, "fchmodat", (_AT, 0)),
        (269, "faccessat", (_AT, 0)), (277, "sync_file_range", (_FD, 0)), (280, "utimensat", (_AT, 0)),
        (285, "fallocate", (_FD, 0)), (295, "preadv", (_FD, 0)), (296, "pwritev", (_FD, 0)), (306, "syncfs", (_FD, 0)),
        (316, "renameat2", (_AT, 0), (_AT, 2)), (326, "copy_file_range", (_FD, 0), (_FD, 2)), (332, "statx", (_AT, 0)),
        (437, "openat2", (_AT, 0)), (439, "faccessat2", (_AT, 0)), (452, "fchmodat2", (_AT, 0)),
    ]
}  # fmt: skip
_NAMES = {number: (name, where) for name, (number, where) in _CALLS.items()}
_ALTERNATIVE = {"fcntl": 1, "lseek": 2, "ioctl": 1, "renameat2": 4, "fallocate": 1, "fadvise64": 3}
"""Calls that do something else by the value of this argument."""

_CONT, _POKEUSER, _SYSCALL, _SEIZE, _GET_SYSCALL_INFO = 7, 6, 24, 0x4206, 0x420E
_RAX, _RDX, _ORIG_RAX = 10 * 8, 12 * 8, 15 * 8
_SYSGOOD, _TRACECLONE, _TRACESECCOMP, _EXITKILL = 1, 1 << 3, 1 << 7, 1 << 20
_EVENT_SECCOMP, _WALL = 7, 0x40000000
_PATH_BYTES = 4096
_STACK_BYTES = 4096
_CALLERS = 3

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(what: int, tid: int, address: int = 0, data: int = 0) -> int:
    ctypes.set_errno(0)
    answer: int = _libc.ptrace(what, tid, ctypes.c_void_p(address), ctypes.c_void_p(data))
    if answer == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _stop_at_calls() -> None:
    """From here on the tracer sees the calls of this process in the list."""
    numbers = sorted(_NAMES)
    load, equal, back = 0x20, 0x15, 0x06
    steps = [struct.pack("HBBI", load, 0, 0, 0)]
    steps += [struct.pack("HBBI", equal, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    steps += [struct.pack("HBBI", back, 0, 0, 0x7FFF0000), struct.pack("HBBI", back, 0, 0, 0x7FF00000)]
    code = b"".join(steps)
    program = _Program(len(steps), code)
    if _libc.prctl(38, 1, 0, 0, 0) or _libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


@dataclass
class Call:
    """One call on the trees, about to be done."""

    name: str
    """With what tells its alternatives apart, such as ``renameat2:2``."""
    paths: tuple[str, ...]
    """Below the roots; of a handle, what it was opened as."""
    arguments: tuple[int, ...]
    stack: Callable[[], tuple[int, ...]]
    """The nearest callers, as places in the module that was named; to be asked while the call has not begun."""


@dataclass
class Action:
    """What becomes of it. Without anything, it is done."""

    error: int = 0
    """Error that it returns."""
    done: bool = False
    """It is done all the same: the answer is what got lost."""
    kill: str = ""
    """``before`` or ``after``: the process is killed there."""
    short: bool = False
    """Of bytes to read or write, it takes half."""


Ask = Callable[[Call], "Action | None"]


class Hangs(Exception):
    """The process did not end in time."""


@functools.cache
def _code(module: str) -> tuple[int, int, bytes]:
    """Where the code of a loaded file is in this process, and so in those it forks, and the code."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        where, rights, offset, _, _, *name = line.split()
        if name == [module] and "x" in rights:
            begin, end = (int(address, 16) for address in where.split("-"))
            with Path(module).open("rb") as stream:
                stream.seek(int(offset, 16))
                return begin, end, stream.read(end - begin).ljust(end - begin, b"\0")
    raise ValueError(f"{module} is not loaded")


def apart(body: Callable[[], int], patience_s: float) -> int | None:
    """Runs ``body`` as ``traced`` does, without looking."""
    pid = os.fork()
    if not pid:
        _only(body)
    return _attended(pid, lambda: _ended(os.waitpid(pid, 0)[1]), patience_s)


def traced(body: Callable[[], int], roots: Sequence[Path], ask: Ask, module: str, patience_s: float) -> int | None:
    """Runs ``body`` in a process of its own, to its exit code, None where it was killed; to be called from a process
    without other threads and children. ``module`` is the file whose callers are told."""
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go)
        # Nobody looks if whoever should could not: then there is nothing to do.
        _only(body if os.read(ready, 1) else lambda: 70, _stop_at_calls)
    os.close(ready)
    try:
        _ptrace(_SEIZE, pid, 0, _SYSGOOD | _TRACECLONE | _TRACESECCOMP | _EXITKILL)
        os.write(go, b"x")
    finally:
        os.close(go)
    tracer = _Tracer(pid, [os.fsencode(root) for root in roots], ask, module)
    try:
        return _attended(pid, tracer.loop, patience_s)
    finally:
        os.close(tracer.memory)


def _only(body: Callable[[], int], first: Callable[[], None] = lambda: None) -> None:
    """All that a forked process does."""
    code = 70
    try:
        first()
        code = body()
    finally:
        os._exit(code)


def _ended(status: int) -> int | None:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def _attended(pid: int, wait: Callable[[], int | None], patience_s: float) -> int | None:
    """Waits for the process in time; nothing of it is left, however this ends."""

    def give_up(*_: object) -> None:
        raise Hangs

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, patience_s)
    try:
        return wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            while True:
                os.waitpid(-1, _WALL)


class _Tracer:
    def __init__(self, pid: int, roots: list[bytes], ask: Ask, module: str) -> None:
        self.pid, self.roots, self.ask = pid, roots, ask
        self.after: dict[int, tuple[Action, Call]] = {}
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.module = _code(module)

    def loop(self) -> int | None:
        while True:
            tid, status = os.waitpid(-1, _WALL)
            if os.WIFSTOPPED(status):
                with contextlib.suppress(ProcessLookupError):  # killed meanwhile
                    self._stopped(tid, status)
            elif tid == self.pid:
                return _ended(status)

    def _stopped(self, tid: int, status: int) -> None:
        event, number = status >> 16, os.WSTOPSIG(status)
        if event == _EVENT_SECCOMP:
            self._entered(tid)
        elif event:
            _ptrace(_CONT, tid)
        elif number == signal.SIGTRAP | 0x80:
            self._left(tid, *self.after.pop(tid))
        else:
            _ptrace(_CONT, tid, 0, number)

    def _entered(self, tid: int) -> None:
        call = self._call(tid)
        action = self.ask(call) if call else None
        if call is None or action is None:
            _ptrace(_CONT, tid)
        elif action.kill == "before":
            os.kill(self.pid, signal.SIGKILL)
        elif action.kill or action.done or action.short:
            if action.short:
                _ptrace(_POKEUSER, tid, _RDX, max(1, call.arguments[2] // 2))
            self.after[tid] = action, call
            _ptrace(_SYSCALL, tid)
        elif action.error:
            _ptrace(_POKEUSER, tid, _ORIG_RAX, -1)
            _ptrace(_POKEUSER, tid, _RAX, -action.error)
            _ptrace(_CONT, tid)
        else:
            _ptrace(_CONT, tid)

    def _left(self, tid: int, action: Action, call: Call) -> None:
        if action.kill:
            os.kill(self.pid, signal.SIGKILL)
            return
        if action.short:
            # The process knows that the kernel leaves this register alone.
            _ptrace(_POKEUSER, tid, _RDX, call.arguments[2])
        else:
            _ptrace(_POKEUSER, tid, _RAX, -action.error)
        _ptrace(_CONT, tid)

    def _call(self, tid: int) -> Call | None:
        about = ctypes.create_string_buffer(96)
        _ptrace(_GET_SYSCALL_INFO, tid, 96, ctypes.addressof(about))
        number, *arguments = struct.unpack_from("<7Q", about, 24)
        name, where = _NAMES[number]
        found = [self._path(tid, kind, at, arguments) for kind, at in where]
        if not any(path.startswith(root) for path in found for root in self.roots):
            return None
        if name in _ALTERNATIVE:
            name = f"{name}:{arguments[_ALTERNATIVE[name]] & 0xFFFFFFFF:x}"
        top = struct.unpack_from("<Q", about, 16)[0]
        paths = tuple(os.fsdecode(path) for path in found)
        return Call(name, paths, tuple(arguments), lambda: self._callers(top))

    def _callers(self, top: int) -> tuple[int, ...]:
        """By what the stack holds: each word that points behind a call instruction. What an earlier call left there
        looks the same, so one place may seem to be several, and never several one."""
        begin, end, text = self.module
        words = memoryview(os.pread(self.memory, _STACK_BYTES, top)).cast("Q")
        found = [word - begin for word in words if begin + 7 <= word < end]
        calls = [at for at in found if text[at - 5] == 0xE8 or 0xFF in text[at - 7 : at - 1]]
        return tuple(calls[:_CALLERS])

    def _path(self, tid: int, kind: str, at: int, arguments: list[int]) -> bytes:
        if kind == _FD:
            return self._handle(tid, arguments[at])
        if kind == _PATH:
            return self._plain(tid, self._text(arguments[at]))
        path = self._text(arguments[at + 1])
        if path.startswith(b"/"):
            return self._plain(tid, path)
        directory = arguments[at] & 0xFFFFFFFF
        base = b"" if directory == 0xFFFFFF9C else self._handle(tid, directory)
        return os.path.join(base, path) if path not in (b"", b".") else base

    def _plain(self, tid: int, path: bytes) -> bytes:
        """What a name of a handle, ``/proc/self/fd/3``, stands for."""
        number = path.removeprefix(b"/proc/self/fd/")
        return self._handle(tid, int(number)) if number != path and number.isdigit() else path

    def _handle(self, tid: int, number: int) -> bytes:
        try:
            return os.readlink(b"/proc/%d/fd/%d" % (tid, number & 0xFFFFFFFF)).removesuffix(b" (deleted)")
        except OSError:
            return b""

    def _text(self, address: int) -> bytes:
        if not address:
            return b""
        try:
            return os.pread(self.memory, _PATH_BYTES, address).split(b"\0", 1)[0]
        except OSError:
            return b""
