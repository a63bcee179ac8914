"""Tonnage tells how much I/O a storage system can carry, and keeps jobs at that line.

In a notebook or a script: ``tonnage.read(RUN)``, ``tonnage.compare(BASE, OTHER)`` (``tonnage.notebook``).
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "read"]


def __getattr__(name: str) -> Any:
    # The command line imports this package in a few milliseconds; only who asks for these pays for them.
    if name in ("compare", "read"):
        from tonnage import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
