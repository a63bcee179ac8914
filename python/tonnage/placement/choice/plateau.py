"""A load line as a rate: how many of its tasks a rate stands for."""

from __future__ import annotations

from dataclasses import dataclass

SLACK = 1.1
"""Two measurements of one rate differ by a tenth: so far a rate above one task's is still one task's, and so far may
copies ask more than is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """What a storage gives at its load line."""

    tasks: int
    """The load line."""
    bytes_per_s: int
    single_bytes_per_s: int = 0
    """Of one task alone; 0: not known."""

    def tasks_of(self, rate_bytes_per_s: float) -> float:
        """As many tasks as were needed for that rate when the line was measured; beyond the plateau more than the line.

        Up to one task's rate a share of one task; from there the straight line to the plateau. A measured curve bends
        above that line, so this is rather too much than too little. Where one task's rate is not known, and where the
        line from zero is lower, ``rate ÷ plateau × line``.
        """
        proportional = rate_bytes_per_s / self.bytes_per_s * self.tasks
        single = self.single_bytes_per_s
        if single <= 0:
            return proportional
        if rate_bytes_per_s <= SLACK * single:
            return min(proportional, rate_bytes_per_s / single, 1.0)
        if single >= self.bytes_per_s:
            return proportional
        bent = 1 + (self.tasks - 1) * (rate_bytes_per_s - single) / (self.bytes_per_s - single)
        return min(proportional, bent)
