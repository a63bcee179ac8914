"""Results as plain values, as ``--json`` and notebooks give them: an interval that nothing shows has no ends.

Inside the package the ends of such an interval are the median itself, so that a figure can draw them. A program that
reads them would take them for certainty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ENDS = ("low", "high", "low_ns", "high_ns", "tasks_low", "tasks_high", "plateau_low", "plateau_high")


def plain(result: DataclassInstance) -> dict[str, Any]:
    """``asdict``, with None for both ends of each interval whose ``confidence`` is 0."""
    found: dict[str, Any] = without_ends(asdict(result))
    return found


def without_ends(value: Any) -> Any:
    """The same with None for both ends of an interval whose ``confidence`` is 0, at any depth."""
    if isinstance(value, Mapping):
        unknown = value.get("confidence") == 0
        return {key: None if unknown and key in _ENDS else without_ends(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_ends(inner) for inner in value]
    return value
