"""Tonnage tells how much I/O a storage system can carry, and keeps jobs at that line.

In a notebook or a script: ``tonnage.probe(DIR)``, ``tonnage.run(CAMPAIGN)``, ``tonnage.resume(RUN)``
(``tonnage.measuring``); ``tonnage.read(RUN)``, ``tonnage.compare(BASE, OTHER)`` (``tonnage.notebook``);
``tonnage.submit(PROGRAM, …)``, ``tonnage.where(PATH)``, ``tonnage.load()`` (``tonnage.placement.api``). What goes wrong
is a ``tonnage.TonnageError``: ``RequestError`` (the request was wrong), ``MeasurementError``, ``RecordError`` (a run
that cannot be read), and of placement ``NoFileServer``, ``NothingNear``, ``SchedulerError``, ``SubmissionUnknown``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not the one of typing, which takes as long to import as all else of `tonnage --version`
if TYPE_CHECKING:
    from typing import Any

    from tonnage.errors import MeasurementError, RecordError, RequestError, TonnageError
    from tonnage.measuring import probe, resume, run
    from tonnage.notebook import compare, read
    from tonnage.placement.api import SchedulerError, SubmissionUnknown, load, submit, where
    from tonnage.placement.choice import NoFileServer, NothingNear

    __version__: str

__all__ = [
    "MeasurementError",
    "NoFileServer",
    "NothingNear",
    "RecordError",
    "RequestError",
    "SchedulerError",
    "SubmissionUnknown",
    "TonnageError",
    "__version__",
    "compare",
    "load",
    "probe",
    "read",
    "resume",
    "run",
    "submit",
    "where",
]

_HOMES = {
    "MeasurementError": "tonnage.errors",
    "NoFileServer": "tonnage.placement.choice",
    "NothingNear": "tonnage.placement.choice",
    "RecordError": "tonnage.errors",
    "RequestError": "tonnage.errors",
    "SchedulerError": "tonnage.placement.api",
    "SubmissionUnknown": "tonnage.placement.api",
    "TonnageError": "tonnage.errors",
    "compare": "tonnage.notebook",
    "load": "tonnage.placement.api",
    "probe": "tonnage.measuring",
    "read": "tonnage.notebook",
    "resume": "tonnage.measuring",
    "run": "tonnage.measuring",
    "submit": "tonnage.placement.api",
    "where": "tonnage.placement.api",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        globals()[name] = _version()
        return globals()[name]
    # The command line imports this package in a few milliseconds: these are imported when they are first used.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    """Of the checkout that this is in, else what the installer wrote beside it. ``Cargo.toml`` has the version, and the
    build takes it from there. importlib.metadata would take longer than all else of ``tonnage --version``."""
    import os

    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    checkout = os.path.join(os.path.dirname(above), "Cargo.toml")
    if os.path.basename(above) == "python" and os.path.exists(checkout):
        with open(checkout, encoding="utf-8") as lines:
            for line in lines:
                if line.startswith('version = "'):
                    return line.split('"')[1]
    found = [name for name in os.listdir(above) if name.startswith("tonnage-") and name.endswith(".dist-info")]
    if len(found) == 1:
        return found[0].removesuffix(".dist-info").removeprefix("tonnage-")
    from importlib.metadata import version

    return version("tonnage")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
