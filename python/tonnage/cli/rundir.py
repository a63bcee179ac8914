"""Run directories named on the command line."""

from __future__ import annotations

from tonnage.errors import RecordError, RequestError
from tonnage.records import Run


def open_run(path: str) -> Run:
    """The run in ``path``; RequestError if it is none: the request was wrong, not a measurement."""
    try:
        return Run.open(path)
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None
