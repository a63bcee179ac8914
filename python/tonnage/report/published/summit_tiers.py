"""The tiers of the published Summit experiment, and why its authors named another crossover than they measured."""

from __future__ import annotations

from tonnage import published, units
from tonnage.analysis.tiers.crossover import Crossover, exact
from tonnage.analysis.tiers.two_tiers import NODE, SHARED, At, Tier, crossings
from tonnage.errors import RequestError

PREFIX = "published:"
"""Before the name of a published tier, where a run could stand."""
_KINDS = {"gpfs": SHARED, "nvme": NODE}
TIERS = tuple(f"{PREFIX}summit-{tier}" for tier in _KINDS)
_MIB = 1 << 20
_DID = {"write": "wrote", "read": "read"}


def tier(name: str) -> Tier:
    """``published:summit-gpfs`` or ``published:summit-nvme``; RequestError if it is neither."""
    if name not in TIERS:
        raise RequestError(f"there is no published tier {name!r}; hint: give {' or '.join(TIERS)}")
    own = name.removeprefix(f"{PREFIX}summit-")
    curves: dict[str, dict[int, At]] = {}
    for row in published.figures("summit-nvme")["summit-ior"]:
        if row["tier"] == own:
            rate, nodes = float(row["MiB_per_s"]) * _MIB, int(row["nodes"])
            curves.setdefault(row["op"], {})[nodes] = At(nodes, (rate,), rate, rate, rate, 0.0)
    # What 1,100 nodes had is far below that many times what 2 had: it is the ceiling of what they share.
    ceilings = {op: exact(curve[max(curve)].median) for op, curve in curves.items()}
    return Tier(name, _KINDS[own], curves, ceilings if _KINDS[own] == SHARED else {}, "published")


def crossovers() -> dict[str, Crossover]:
    """Returns, by operation, where the tiers cross by the measured ceilings of 1,100 nodes."""
    gpfs, nvme = map(tier, TIERS)
    return {found.crossover.op: found.crossover for found in crossings(nvme, gpfs)}


def claimed() -> tuple[str, str]:
    """Returns the numbers of nodes from which its authors expect the fast tier to win, at least and at most."""
    limits = _limits()
    return limits["crossover nodes, low"], limits["crossover nodes, high"]


def elapsed_s() -> dict[str, int]:
    """Returns the printed times of IOR on two nodes, ``straight`` to the shared tier and with a ``copy`` to it at the
    end."""
    limits = _limits()
    names = {"straight": "IOR on GPFS with 2 nodes", "copy": "IOR on NVMe with 2 nodes and copy-out"}
    return {way: int(limits[f"elapsed, {name}"]) for way, name in names.items()}


def nominal(found: Crossover) -> str:
    """Why the claim is another figure than ``found``, which the measured ceilings give."""
    limits = _limits()
    peak, each = float(limits["GPFS peak, whole system"]), float(limits[f"NVMe {found.op} peak per node"])
    part = found.slow.median / (peak * 1e9)
    return (
        f"The claim stands on nominal figures: {units.rate(peak * 1e9)} for all ÷ {units.rate(each * 1e9)} a node "
        f"would be {peak / each:.0f} nodes. Measured, the shared tier {_DID[found.op]} "
        f"{units.rate(found.slow.median)}, {units.share(part)} of that, and the fast tier wins at so many fewer nodes."
    )


def _limits() -> dict[str, str]:
    return {row["what"]: row["value"] for row in published.figures("summit-nvme")["summit-limits"]}
