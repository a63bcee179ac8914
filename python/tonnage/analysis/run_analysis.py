"""All results of the analysis of a run, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tonnage.analysis.compare.normalise import Basis
from tonnage.analysis.results import (
    Comparison,
    Devices,
    Divided,
    Finding,
    Hosts,
    Link,
    LoadLine,
    Model,
    Point,
    Promise,
    Surface,
)
from tonnage.records.line_types import CeilingEntry, CostEntry, EventLine

if TYPE_CHECKING:
    from tonnage.analysis.applications import Application
    from tonnage.analysis.balance import Balance
    from tonnage.analysis.company_costs import CompanyCost
    from tonnage.analysis.findings.undoing import Doubt
    from tonnage.analysis.load_line.accelerators import Trained
    from tonnage.analysis.load_line.users import Served
    from tonnage.analysis.snapshots import SnapshotCost
    from tonnage.analysis.tiers.crossover import Tiers


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that is said about a run."""

    run: str
    points: tuple[Point, ...]
    load_lines: tuple[LoadLine, ...]
    models: tuple[Model, ...]
    findings: tuple[Finding, ...]
    promises: tuple[Promise, ...]
    ceilings: tuple[CeilingEntry, ...]
    cost: CostEntry | None
    stalls: tuple[EventLine, ...] = field(default=())
    published: str | None = None
    """Name of the published figures that the campaign wants to be shown beside these."""
    scale: float = 1.0
    """What the campaign's amounts of work were multiplied by."""
    tiers: Tiers | None = None
    """Where the run compares two."""
    hosts: tuple[Hosts, ...] = ()
    """Phases over several hosts, in the order of their points."""
    devices: tuple[Devices, ...] = ()
    """Where several devices held the files, in the order of their points."""
    links: tuple[Link, ...] = ()
    """Where the run has a ``network``."""
    comparisons: tuple[Comparison, ...] = ()
    """Where a command was run in several settings."""
    snapshots: tuple[SnapshotCost, ...] = ()
    """Where checkpoints were measured with a snapshot and without."""
    bases: tuple[Basis, ...] = ()
    """What the campaign wants the best figures divided by."""
    divided: tuple[Divided, ...] = ()
    """Those figures."""
    balances: tuple[Balance, ...] = ()
    applications: tuple[Application, ...] = ()
    """Where logs of an application were imported."""
    surfaces: tuple[Surface, ...] = ()
    """Where a search looked at a range of transfer sizes; ``load_lines`` has the line of each that was measured."""
    without_surface: tuple[str, ...] = ()
    """Operations of such a search of which too little was measured for a surface."""
    trained: tuple[Trained, ...] = ()
    """Where accelerators were fed."""
    served: tuple[Served, ...] = ()
    """Where users of a key–value cache were served."""
    company: tuple[CompanyCost, ...] = ()
    """Where a workload was measured beside another one."""
    doubts: tuple[Doubt, ...] = ()
    """The findings that undo an answer, and which."""
    state: str = "complete"
    """Of the run (``Run.state``)."""
