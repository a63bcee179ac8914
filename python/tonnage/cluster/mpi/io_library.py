"""MPI-IO of the site's own MPI: a shim in C (``crates/storage/src/mpiio/shim.c``), compiled once for each MPI."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tonnage import _native
from tonnage.errors import RequestError
from tonnage.machine.site_tools import ToolError, ask
from tonnage.machine.user_state import checked_inside, user_state

if TYPE_CHECKING:
    from tonnage.records.line_types import Json

COMPILER = "TONNAGE_MPICC"
"""The variable that names the compiler of an MPI."""
NOBODY = "none"
"""In it: as if there were no compiler."""
_NAMES = ("mpicc", "mpicc.openmpi", "mpicc.mpich")
"""As sites and distributions call it."""
_LIBRARIES = ("libmpi.so", "libmpich.so")
_COMPILE_S = 120.0
_ANSWER_S = 20.0
_OPTIONS = ("-O2", "-shared", "-fPIC", "-pthread")


class IoFacts(TypedDict):
    """``mpiio`` of the manifest."""

    library: str | None
    """The MPI that the process had loaded; None: the shim loaded the one that it was compiled for."""
    compiler: str | None
    """None: Python's ``mpi4py`` served, for want of one."""
    shim: str | None
    """Its name among those that are kept: a digest of all that it was made of."""


@dataclass(frozen=True, slots=True)
class IoLibrary:
    """A shim that can be loaded here, or Python in its place."""

    path: Path | None
    """None: there is no compiler, and ``io_by_python`` serves."""
    compiler: str | None
    mpi: str | None
    """The library that this process has loaded; None: the shim loads one."""

    def facts(self) -> IoFacts:
        """What the records keep of it."""
        return {"library": self.mpi, "compiler": self.compiler, "shim": self.path.stem if self.path else None}

    def engine_keys(self) -> Json:
        """Returns the keys of the engine's specification for it."""
        if self.path is not None:
            return {"library": str(self.path)}
        from tonnage.cluster.mpi.io_by_python import functions

        return {"functions": functions()}


def with_io_library(target: Json) -> Json:
    """A target as it is opened here: where it is one of MPI-IO, with the library of this host. RequestError as
    ``io_library``."""
    if target["kind"] != "mpiio":
        return target
    # Another process's own is none here.
    asked = {key: value for key, value in target["mpiio"].items() if key not in ("library", "functions")}
    return {**target, "mpiio": {**asked, **io_library().engine_keys()}}


def io_library() -> IoLibrary:
    """The shim for the MPI of this process, compiled where it is not there yet.

    It is kept in a directory of this user's that nobody else can write to (``user_state``). A process that has an MPI
    loaded, as those of mpiexec have, gets the shim of that MPI and of no other. Where there is no compiler for it,
    mpi4py serves in its place; RequestError without that.
    """
    # Once a shim is loaded, so is its MPI: this process stays with both.
    return _io_library(os.environ.get(COMPILER), os.environ.get("XDG_STATE_HOME"))


@cache
def _io_library(named: str | None, _state: str | None) -> IoLibrary:
    loaded = _loaded()
    tried: list[str] = []
    for compiler in _compilers(named, loaded):
        try:
            kept = _compiled(compiler, loaded)
        except ToolError as error:
            tried.append(str(error))
            continue
        if loaded is None or _is_for(kept, loaded):
            return IoLibrary(kept, compiler, loaded)
        tried.append(f"{compiler} compiles for another MPI than {loaded}")
    if named in (None, NOBODY) and _python_serves():
        return IoLibrary(None, None, loaded)
    raise RequestError(_refusal(loaded, tried))


def _python_serves() -> bool:
    """Whether mpi4py is here, with an MPI."""
    try:
        from tonnage.cluster.mpi.io_by_python import functions

        functions()
    except (ImportError, RuntimeError):
        return False
    return True


def _refusal(loaded: str | None, tried: list[str]) -> str:
    told = "; ".join(tried) or f"none of {', '.join(_NAMES)} is installed here"
    if any("MPI_File" in reason or "mpi.h" in reason for reason in tried):
        told = f"this MPI has no MPI-IO, or lacks its header ({told})"
    of = f" of {loaded}" if loaded else ""
    return f"MPI-IO needs the compiler{of}: {told}; hint: load the site's MPI, or name its compiler with {COMPILER}"


def _compilers(named: str | None, loaded: str | None) -> Iterator[str]:
    """Absolute, each once: what the user named and nothing else, or what may be this MPI's."""
    if named == NOBODY:
        return
    if named:
        if (found := shutil.which(named)) is None:
            raise RequestError(f"{COMPILER}={named} is no program; hint: give the path of the compiler of an MPI")
        yield os.path.abspath(found)  # noqa: PTH100 - a wrapper is known by the name that it is called by
        return
    beside = [str(parent / "bin" / "mpicc") for parent in Path(loaded).parents[1:3]] if loaded else []
    every = (shutil.which(name) for name in [*beside, f"{sys.prefix}/bin/mpicc", *_NAMES])
    yield from dict.fromkeys(os.path.abspath(path) for path in every if path)  # noqa: PTH100 - as above


def _loaded() -> str | None:
    """The MPI that this process has loaded."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:  # noqa: PTH123
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if path.rpartition("/")[2].startswith(_LIBRARIES):
                return f"/{path}"
    return None


def _compiled(compiler: str, loaded: str | None) -> Path:
    """The shim of this compiler. ToolError with what it says where it cannot compile it."""
    source, keep = _native.mpiio_shim(), user_state("mpiio")
    kept = keep / f"{_digest(compiler, loaded, source)}.so"
    if not kept.exists():
        # Processes of one host, or of several that share the directory, may be here at once: each has files of its own,
        # and the last one's name wins.
        fresh = keep / f".{os.getpid()}-{os.urandom(8).hex()}"
        code = fresh.with_suffix(".c")
        made = fresh.with_suffix(".so")
        try:
            code.write_text(source, encoding="utf-8")
            ask([compiler, *_OPTIONS, "-o", str(made), str(code)], timeout_s=_COMPILE_S)
            if not made.is_file():
                raise ToolError(f"{compiler} ends as if it had compiled, and made nothing: it is no compiler")
            made.chmod(0o700)
            made.replace(kept)
        except OSError as error:
            raise RequestError(
                f"cannot keep the shim in {keep}: {error.strerror}; hint: make room there, or set XDG_STATE_HOME to "
                "another directory of yours"
            ) from None
        finally:
            code.unlink(missing_ok=True)
            made.unlink(missing_ok=True)
    checked_inside(kept, told=kept)
    return kept


def _digest(compiler: str, loaded: str | None, source: str) -> str:
    """Of all that the shim depends on: its source, the compiler and what it says that it calls, the MPI's library."""
    parts = [source, *_OPTIONS]
    for path in (compiler, loaded):
        if path is not None:
            real = os.path.realpath(path)
            facts = os.stat(real)  # noqa: PTH116
            parts += [path, real, str(facts.st_size), str(facts.st_mtime_ns)]
    parts.append(ask([compiler, "-show"], timeout_s=_ANSWER_S).out)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:32]


def _is_for(shim: Path, loaded: str) -> bool:
    """Whether the shim asks for the library that is loaded: by its name without the last numbers (``libmpi.so.40``)."""
    data, name = shim.read_bytes(), os.path.basename(loaded)  # noqa: PTH119
    while name.rpartition(".")[0] and not name.endswith(".so"):
        if name.encode() + b"\0" in data:
            return True
        name = name.rpartition(".")[0]
    return False
