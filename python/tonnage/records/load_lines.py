"""Load lines that were measured, kept where placement finds them again: one JSON file a target, newest line last.

A line belongs to a target (``tonnage.machine.identity``) and an access pattern. Whoever may write the directory may add
lines; nothing is ever rewritten but by a whole new file under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLine:
    """One load line as ``probe`` found it."""

    target: str
    operation: str
    """``write`` or ``read``."""
    access: str
    transfer_bytes: int
    tasks: int
    """The load line."""
    low: int
    high: int
    """Its interval."""
    plateau_bytes_per_s: int
    single_bytes_per_s: int
    """Of one task."""
    measured_at_s: float
    """Seconds since 1970."""
    host: str
    """Where the tasks ran."""
    run: str
    """The run directory."""
