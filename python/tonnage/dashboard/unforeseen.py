"""An exception that nobody foresaw, of a run whose records may be of any make or of Tonnage itself."""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)
_told: set[tuple[str, str, str]] = set()
_MOST_TOLD = 1000
"""A run is looked at every second: the same traceback is logged once, and a server logs so many at most."""


def unforeseen(error: Exception, what: object) -> str:
    """What the page says of ``what``. Whether the records or Tonnage are wrong cannot be known here: the traceback
    goes to the server's log, so that an error of Tonnage's is not taken for a damaged run."""
    one = (str(what), type(error).__name__, str(error))
    if one not in _told and len(_told) < _MOST_TOLD:
        _told.add(one)
        _log.error("cannot show %s", what, exc_info=error)
    return f"it cannot be shown ({type(error).__name__}); the server's log says where"
