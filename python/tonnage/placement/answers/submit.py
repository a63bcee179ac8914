"""Of ``tonnage submit``: made, made before, or only looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from tonnage.cluster.scheduler import JobRequest
from tonnage.placement.answers.where import LocatedTold, told
from tonnage.placement.choice import Decision, Scored
from tonnage.placement.plan import Plan
from tonnage.placement.submit import Outcome


@dataclass(frozen=True, kw_only=True)
class ScoredTold(Scored):
    """A candidate, with its sum as a field like others: pydantic passes over one that ``__init__`` does not take."""

    score_s: float


@dataclass(frozen=True, kw_only=True)
class DecisionTold(Decision):
    """Where the job goes, with all that was considered."""

    considered: tuple[ScoredTold, ...]
    of: int
    """Hosts considered."""


@dataclass(frozen=True, kw_only=True)
class DemandTold:
    """What one copy asks of storage."""

    tasks: float
    """Of the load line."""
    bytes: int
    operations: int
    io_share: float
    """Of its time alone, in which it waits for storage."""
    bytes_per_s: int | None
    plateau_share: float | None
    """That rate as a share of the load line's plateau."""
    measured: bool
    source: str


@dataclass(frozen=True, kw_only=True)
class PlanTold:
    """A submission as it was decided."""

    located: LocatedTold
    servers: tuple[str, ...]
    demand: DemandTold
    decision: DecisionTold
    request: JobRequest
    load_line_tasks: int | None
    load_line_servers: tuple[str, ...]
    """Whose line that is; several carry the data together."""
    notes: tuple[str, ...]

    @property
    def host(self) -> str | None:
        """The first choice; None: the scheduler decides."""
        return next(iter(self.decision.hosts), None)

    @property
    def cap(self) -> int | None:
        """Copies at once; None: no limit."""
        return self.decision.cap

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons, in sentences."""
        return self.decision.why


@dataclass(frozen=True, kw_only=True)
class Previewed(PlanTold):
    """``--dry-run``."""

    command: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """The key was submitted before, nothing new was."""

    key: str
    job: str | None
    line: str | None
    new: bool
    followed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Submission(PlanTold, Repeated):
    """A new job."""


Answer: TypeAlias = Previewed | Submission | Repeated


def previewed(plan: Plan, command: tuple[str, ...]) -> Previewed:
    """``command``: what would be run."""
    return Previewed(**_values(plan), command=command)


def submitted(key: str, outcome: Outcome) -> Submission | Repeated:
    """What became of it."""
    receipt = outcome.receipt
    found = Repeated(
        key=key,
        job=None if receipt is None else receipt.job,
        line=None if receipt is None else receipt.line,
        new=outcome.plan is not None,
        followed=tuple(outcome.followed),
    )
    return found if outcome.plan is None else Submission(**vars(found), **_values(outcome.plan))


def _values(plan: Plan) -> dict[str, Any]:
    decision = {field.name: getattr(plan.decision, field.name) for field in fields(plan.decision)}
    decision["considered"] = tuple(ScoredTold(**asdict(one)) for one in plan.decision.considered)
    return {
        "located": told(plan.located),
        "servers": tuple(server.name for server in plan.servers),
        "demand": DemandTold(**{field.name: getattr(plan.demand, field.name) for field in fields(DemandTold)}),
        "decision": DecisionTold(**decision, of=len(plan.decision.considered)),
        "request": plan.request,
        "load_line_tasks": plan.line,
        "load_line_servers": plan.line_servers,
        "notes": plan.notes,
    }
