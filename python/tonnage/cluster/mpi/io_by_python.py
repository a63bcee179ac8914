"""MPI-IO where there is no compiler for the MPI: the functions of ``crates/storage/src/mpiio/shim.c`` by mpi4py's
``File``. Each call waits for the interpreter, which only one thread of a process has at a time."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

_WRITES, _UNIQUE, _MAKES = 1, 2, 4
"""Flags of ``open``, as in ``shim.c``."""
_NO_THREADS = -1

_INT, _LONG, _POINTER = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_OUT, _MOVED, _FOUND = ctypes.POINTER(_INT), ctypes.POINTER(_LONG), ctypes.POINTER(_POINTER)


@cache
def functions() -> dict[str, int]:
    """Returns the address of each function by its name; ImportError without mpi4py. They stay as long as this
    process."""
    from mpi4py import MPI

    return {name: ctypes.cast(made, _POINTER).value or 0 for name, made in _Functions(MPI).made.items()}


class _Functions:
    """The functions, and the communicators and files that their handles stand for."""

    _kept: list[_Functions] = []  # noqa: RUF012 - what the engine calls must not be collected

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._handles: dict[int, Any] = {}
        self._last = 0
        # As in the shim: mpi4py lets other threads run during a call, and ROMIO takes one open at a time.
        self._turn = threading.Lock()
        self._mine: set[int] = set()
        mpi.COMM_SELF.Set_errhandler(mpi.ERRORS_RETURN)
        mpi.COMM_WORLD.Set_errhandler(mpi.ERRORS_RETURN)
        mpi.FILE_NULL.Set_errhandler(mpi.ERRORS_RETURN)
        types: dict[str, tuple[Any, ...]] = {
            "start": (),
            "version": (_POINTER, _INT),
            "error": (_INT, _POINTER, _INT),
            "group": (_OUT, _INT, _FOUND),
            "least": (_POINTER, _INT, _OUT),
            "open": (_POINTER, ctypes.c_char_p, _INT, ctypes.c_char_p, _FOUND),
            "view": (_POINTER, _LONG, _LONG, _LONG),
            "read": (_POINTER, _LONG, _POINTER, _LONG, _INT, _MOVED),
            "write": (_POINTER, _LONG, _POINTER, _LONG, _INT, _MOVED),
            "preallocate": (_POINTER, _LONG),
            "sync": (_POINTER,),
            "close": (_POINTER,),
            "remove": (ctypes.c_char_p,),
            "hints": (_POINTER, _POINTER, _INT),
        }
        self.made = {
            name: ctypes.CFUNCTYPE(_INT, *given)(self._coded(getattr(self, name))) for name, given in types.items()
        }
        self._kept.append(self)

    def _coded(self, act: Callable[..., int | None]) -> Callable[..., int]:
        """Its result, or the code of the error of MPI that it raises; nothing is raised into the engine."""

        @wraps(act)
        def call(*arguments: Any) -> int:
            try:
                return act(*arguments) or 0
            except self._mpi.Exception as error:
                return int(error.Get_error_code()) or int(self._mpi.ERR_OTHER)
            except Exception:
                return int(self._mpi.ERR_OTHER)

        return call

    def _hold(self, one: Any) -> int:
        self._last += 1
        self._handles[self._last] = one
        return self._last

    def start(self) -> int:
        return _NO_THREADS if self._mpi.Query_thread() < self._mpi.THREAD_MULTIPLE else 0

    def version(self, text: int, room: int) -> None:
        _put(self._mpi.Get_library_version(), text, room)

    def error(self, code: int, text: int, room: int) -> int:
        if code == _NO_THREADS:
            _put("this MPI was not started for calls of several threads", text, room)
            return 0
        mpi = self._mpi
        _put(mpi.Get_error_string(code), text, room)
        numbers = {
            mpi.ERR_NO_SUCH_FILE: errno.ENOENT, mpi.ERR_FILE_EXISTS: errno.EEXIST, mpi.ERR_ACCESS: errno.EACCES,
            mpi.ERR_NO_SPACE: errno.ENOSPC, mpi.ERR_QUOTA: errno.EDQUOT, mpi.ERR_READ_ONLY: errno.EROFS,
            mpi.ERR_BAD_FILE: errno.EINVAL, mpi.ERR_UNSUPPORTED_OPERATION: errno.EOPNOTSUPP, mpi.ERR_IO: errno.EIO,
        }  # fmt: skip
        return numbers.get(mpi.Get_error_class(code), 0)

    def group(self, ranks: Any, count: int, found: Any) -> None:
        world = self._mpi.COMM_WORLD
        members = [ranks[number] for number in range(count)]
        if not members:
            made = self._mpi.COMM_SELF
        elif members == list(range(world.Get_size())):
            made = world
        else:
            made = world.Create_group(world.Get_group().Incl(members))
            made.Set_errhandler(self._mpi.ERRORS_RETURN)
        found[0] = self._hold(made)

    def least(self, group: int, value: int, least: Any) -> None:
        least[0] = self._handles[group].allreduce(value, self._mpi.MIN)

    def open(self, group: int, path: bytes, flags: int, hints: bytes, found: Any) -> None:
        mpi = self._mpi
        mode = mpi.MODE_RDWR if flags & _WRITES else mpi.MODE_RDONLY
        if flags & _UNIQUE:
            mode |= mpi.MODE_UNIQUE_OPEN
        if flags & _MAKES:
            mode |= mpi.MODE_CREATE | mpi.MODE_EXCL
        words, info = hints.decode().split("\n")[:-1], mpi.INFO_NULL
        if words:
            info = mpi.Info.Create(dict(zip(words[::2], words[1::2], strict=True)))
        is_mine = self._handles[group].Get_size() == 1
        with self._turn if is_mine else contextlib.nullcontext():
            file = mpi.File.Open(self._handles[group], path.decode(), mode, info)
            file.Set_errhandler(mpi.ERRORS_RETURN)
        found[0] = self._hold(file)
        if is_mine:
            self._mine.add(self._last)

    def _on(self, file: int) -> contextlib.AbstractContextManager[Any]:
        """Until the call is over, no other thread of this process makes one; none waits for one that other processes
        make too."""
        return self._turn if file in self._mine else contextlib.nullcontext()

    def view(self, file: int, displacement: int, piece: int, extent: int) -> None:
        contiguous = self._mpi.BYTE.Create_contiguous(piece)
        spread = contiguous.Create_resized(0, extent).Commit()
        with self._on(file):
            self._handles[file].Set_view(displacement, self._mpi.BYTE, spread, "native")
        spread.Free()
        contiguous.Free()

    def read(self, file: int, offset: int, buffer: int, length: int, collective: int, moved: Any) -> None:
        self._transfer(file, "Read_at", offset, buffer, length, collective, moved)

    def write(self, file: int, offset: int, buffer: int, length: int, collective: int, moved: Any) -> None:
        self._transfer(file, "Write_at", offset, buffer, length, collective, moved)

    def _transfer(
        self, file: int, call: str, offset: int, buffer: int, length: int, collective: int, moved: Any
    ) -> None:
        status = self._mpi.Status()
        memory = (ctypes.c_char * length).from_address(buffer) if length else bytearray()
        with self._on(file):
            act = getattr(self._handles[file], f"{call}_all" if collective else call)
            act(offset, [memory, length, self._mpi.BYTE], status)
        moved[0] = max(status.Get_count(self._mpi.BYTE), 0)

    def preallocate(self, file: int, size: int) -> None:
        with self._on(file):
            self._handles[file].Preallocate(size)

    def sync(self, file: int) -> None:
        with self._on(file):
            self._handles[file].Sync()

    def close(self, file: int) -> None:
        with self._on(file):
            self._handles.pop(file).Close()
        self._mine.discard(file)

    def remove(self, path: bytes) -> None:
        with self._turn:
            self._mpi.File.Delete(path.decode(), self._mpi.INFO_NULL)

    def hints(self, file: int, text: int, room: int) -> None:
        with self._on(file):
            info = self._handles[file].Get_info()
        if info != self._mpi.INFO_NULL:
            _put("".join(f"{name}\n{value}\n" for name, value in info.items()), text, room)
            info.Free()


def _put(text: str, at: int, room: int) -> None:
    """A text that ends in a null, cut to the room that there is."""
    data = text.encode(errors="replace").replace(b"\0", b" ")[: room - 1] + b"\0"
    ctypes.memmove(at, data, len(data))
