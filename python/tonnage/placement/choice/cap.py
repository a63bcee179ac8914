"""How many copies of a job run at once: the load line, shared with who is there already."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Literal

from tonnage.placement.choice.candidate import Demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What the storage carries, and what of that is promised already."""

    tasks: int
    """The load line."""
    low: int
    high: int
    """Its interval; both the line itself where it was stated by hand."""
    source: str
    """The line in words, and how it is known."""
    kept: int | None = None
    """The line that the last cap for this target and access pattern went by."""
    promised: float = 0.0
    """Tasks that other capped jobs may run there at once; 0 where a licence counts them."""


def line_in_use(carried: Carried) -> int:
    """The line that caps go by. The last one stays while the newest measurement does not contradict it.

    Two measurements of the same storage differ by chance; a cap that followed each would jump with nothing gained.
    """
    kept = carried.kept
    return kept if kept is not None and carried.low <= kept <= carried.high else carried.tasks


def cpu_bound(demand: Demand, below: float) -> bool:
    """Whether it waits for storage so little that no number of it fills a load line before it fills the slots."""
    return demand.io_share < below or demand.io_share <= 0


def choose_cap(
    demand: Demand,
    carried: Carried | None,
    *,
    asked: int | Literal["auto"],
    copies: int,
    slots: int | None,
    cpu_bound_below: float,
) -> tuple[int | None, str]:
    """Copies at once (None: no limit of ours) and the sentence that says why.

    A copy that waits for storage a share of its time is that share of a task, so ``line ÷ io_share`` of them keep the
    storage at its line. ``slots``: jobs that the hosts take at once, None where that is no bound.
    """
    if asked != "auto":
        return min(asked, copies), f"{asked} at once, as asked"
    if cpu_bound(demand, cpu_bound_below):
        return None, (
            f"not capped: it waits for storage {demand.io_share:.0%} of its time ({demand.source}), "
            f"less than {cpu_bound_below:.0%}"
        )
    if carried is None:
        return None, "not capped: no load line is known; hint: `tonnage probe` measures it"
    line = line_in_use(carried)
    fits = max(1, floor((line - carried.promised) / demand.io_share + 1e-9))
    why = f"load line: {carried.source}"
    if line != carried.tasks:
        why += f"; caps stay at the {line} of before, which this does not contradict"
    if demand.io_share < 1:
        why += f"; each copy is {demand.io_share:.2f} of a task ({demand.source})"
    if carried.promised:
        why += f"; other jobs may use {carried.promised:g} of it"
    cap = min(fits, copies, fits if slots is None else max(1, slots))
    if cap < fits:
        why += f"; there are {'no more copies' if cap == copies else f'slots for {cap}'}"
    return cap, f"{cap} at once: {why}"
