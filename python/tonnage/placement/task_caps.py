"""How many copies of a job run at once: from the demand of one copy, the load line, and the load that is there
already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Literal

from tonnage.units import rate_text

SLACK = 1.1
"""Two measurements of one rate differ by a tenth: so far a rate above one task's is still one task's, and so far may
copies ask more than is left."""
_NEVER_MIND = 1e-9
"""Tolerance for rounding."""

USUAL_TRANSFER = 1 << 20
"""Bytes of an operation of a job of which nothing is known: what ``tonnage probe`` measures with by default."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How much a job uses the storage, as far as known."""

    bytes: int
    operations: int
    io_share: float = 1.0
    """Share of its time alone in which it waits for storage, 0…1; 1 where nothing is known. Of a program of many
    processes that a log counted, the sum over them, which may be more than 1."""
    bytes_per_s: int | None = None
    """To and from storage over the whole time of a copy alone; None where it was not measured."""
    by_rate: float = 0.0
    """Tasks of the load line that this rate stands for; 0 where that is not known."""
    plateau_share: float | None = None
    """The rate as a share of the line's plateau; None where either is not known."""
    measured: bool = False
    """A run measured it."""
    source: str = "taken from the site file"
    """How that is known."""

    @property
    def tasks(self) -> float:
        """Tasks of the load line that one copy asks.

        It is at least one task for the share of its time in which it waits. Its rate may show more: several threads
        that do I/O at once, or few large requests.
        """
        return max(self.io_share, self.by_rate)

    def against(self, plateau: Plateau | None) -> Demand:
        """The same, with its rate compared with what a load line gives; no copy asks more than the line."""
        if plateau is None or self.bytes_per_s is None:
            return self
        share = self.bytes_per_s / plateau.bytes_per_s
        by_rate = min(plateau.tasks_of(self.bytes_per_s), float(plateau.tasks))
        return replace(self, by_rate=by_rate, plateau_share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the storage carries, and what of that is promised or in use already."""

    tasks: int
    """The load line."""
    low: int
    high: int
    """Its interval; both the line itself where it was stated by hand."""
    source: str
    """The line in words, and how it is known."""
    servers: tuple[str, ...] = ()
    """Whose it is; several carry the data together."""
    plateau: Plateau | None = None
    """The line in use as a rate; None where unknown."""
    kept: int | None = None
    """The line that the last cap for this target and access pattern went by."""
    promised: float = 0.0
    """Tasks that other capped jobs may run there at once; 0 where a licence counts them."""
    company: float = 0.0
    """Tasks that are lost because jobs of other kinds run there."""
    company_why: str = ""
    """How that is known."""
    others: int | None = None
    """Tasks that the indices show beyond the jobs that are promised; None where all indices are stale."""
    others_by_rate: bool = False
    """They are those of the devices' rate, as the line has a plateau; else of the time in which something waited."""
    silent: bool = False
    """It has indices, but they are stale: too old, or not read twice yet."""


def line_in_use(carried: Capacity) -> int:
    """The line that caps go by. The last one stays while the newest measurement does not contradict it.

    Two measurements of the same storage differ by chance; a cap that followed each would jump with nothing gained.
    """
    kept = carried.kept
    return kept if kept is not None and carried.low <= kept <= carried.high else carried.tasks


def cpu_bound(demand: Demand, below: float) -> bool:
    """Whether it asks so little of storage that no number of it fills a load line before it fills the slots."""
    return demand.tasks < below or demand.tasks <= 0


def at_once(demand: Demand, left: float) -> int:
    """Copies that what is left of a line carries; at least one.

    Rates are known to a tenth, so copies that were measured may ask so much more than is left: two halves of a plateau
    are two, also where each was measured a little above its half.
    """
    slack = SLACK if demand.measured and demand.by_rate > demand.io_share else 1.0
    return max(1, floor(left * slack / demand.tasks + _NEVER_MIND))


def choose_cap(
    demand: Demand,
    carried: Capacity | None,
    *,
    asked: int | Literal["auto"],
    copies: int,
    slots: int | None,
    cpu_bound_below: float,
) -> tuple[int | None, str]:
    """Copies at once (None: no limit of ours) and the sentence that says why.

    A copy asks ``demand.tasks`` of the line, so ``line ÷ tasks`` of them keep the storage at it. What the indices show
    of others is taken off. ``slots``: jobs that the hosts take at once, None where that is no bound.
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
    fits = at_once(demand, line - carried.promised - carried.company - (_counted_others(demand, carried) or 0))
    why = line_text(carried) + demand_text(demand) + _in_use(demand, carried)
    cap = min(fits, copies, fits if slots is None else max(1, slots))
    if cap < fits:
        why += f"; there are {'no more copies' if cap == copies else f'slots for {cap}'}"
    return cap, f"{cap} at once: {why}"


def line_text(carried: Capacity) -> str:
    """The line that the cap goes by, in words."""
    whose = f"{carried.servers[0]}'s load line" if len(carried.servers) == 1 else "load line"
    line = line_in_use(carried)
    stays = f"; caps stay at the {line} of before, which this does not contradict" if line != carried.tasks else ""
    return f"{whose}: {carried.source}{stays}"


def demand_text(demand: Demand) -> str:
    """What a copy asks of the line and how that is known, to stand behind the line itself; empty for a whole task of
    which nothing is known."""
    if demand.by_rate > demand.io_share and demand.bytes_per_s is not None and demand.plateau_share is not None:
        return (
            f"; each copy asks {_count(demand.tasks)}: its {rate_text(demand.bytes_per_s)} is "
            f"{demand.plateau_share:.0%} of the plateau ({demand.source})"
        )
    if demand.io_share >= 1 and not demand.measured:
        return ""
    told = f"; each copy is {demand.io_share:.2f} of a task ({demand.source})"
    if demand.measured and demand.bytes_per_s and demand.plateau_share is None:
        told += ", as the plateau is not known with which its rate could be compared"
    return told


def _counted_others(demand: Demand, carried: Capacity) -> int | None:
    """Tasks that count. Time in which something waited is a guess at them, which a job of which nothing is known does
    not go by: it counts as a whole task itself, which most do not ask."""
    return carried.others if demand.measured or carried.others_by_rate else None


def _in_use(demand: Demand, carried: Capacity) -> str:
    told = f"; other jobs may use {carried.promised:g} of it" if carried.promised else ""
    if carried.company:
        told += f" and cost {carried.company:.1f} more as company: {carried.company_why}"
    others = _counted_others(demand, carried)
    if others:
        return f"{told}; by its indices others use {others if others < line_in_use(carried) else 'all'} of it"
    if not demand.measured:
        return told
    if others is None:
        return told + ("; its indices tell nothing of now and do not count" if carried.silent else "")
    return f"{told}; by its indices nothing else uses it"


def _count(tasks: float) -> str:
    return f"{tasks:.2f}".rstrip("0").rstrip(".")
