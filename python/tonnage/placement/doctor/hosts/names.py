"""Hosts' names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.hostlist import fold

_MOST = 4
"""More are written as schedulers do: ``node[01-16]``."""


def named(names: Sequence[str]) -> str:
    """All of them, in their order; many of them short."""
    return ", ".join(names) if len(names) <= _MOST else fold(names).replace(",", ", ")
