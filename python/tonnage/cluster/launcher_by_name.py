"""Launchers by name. Each lives in a module of its own, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from tonnage.cluster.launcher import Launcher
from tonnage.errors import RequestError

_LAUNCHERS = {"local": "tonnage.cluster.local_launcher:Local", "mpi": "tonnage.cluster.mpi.launcher:Mpi"}


def launcher(name: str) -> Launcher:
    """The launcher of that name; ``auto``: of the processes that there are. RequestError if there is none."""
    if name == "auto":
        from tonnage.cluster.mpi import run_together

        name = "local" if run_together.coordinator() is None else "mpi"
    if name not in _LAUNCHERS:
        raise RequestError(f"there is no launcher {name!r}; hint: choose one of {', '.join(_LAUNCHERS)}")
    module, _, attribute = _LAUNCHERS[name].partition(":")
    found: Launcher = getattr(import_module(module), attribute)()
    return found
