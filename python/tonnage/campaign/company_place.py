"""Where company works: directories of its own beside those of the run, and whether it can be there at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tonnage.campaign.execute.company_phase import Companions
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.trial_loop import clock_of
from tonnage.campaign.workspace import Workspace
from tonnage.errors import RequestError
from tonnage.records import RunWriter
from tonnage.records.line_types import TrialLine
from tonnage.units import size_text

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign
    from tonnage.campaign.plan import Plan
    from tonnage.campaign.target import Target
    from tonnage.cluster.launcher import Launcher

_SCHEMES = ("path", "sim", "memory", "null")


def check_company(campaign: Campaign, plan: Plan, start: Launcher) -> None:
    """RequestError where a company cannot run on the target, or in the processes of the run."""
    if not campaign.companies:
        return
    if plan.target.scheme not in _SCHEMES:
        raise RequestError(
            f"company runs on directories and models, not on {plan.target.scheme}:; hint: leave beside out"
        )
    if start.processes > 1:
        raise RequestError(
            f"company runs in one process, and there are {start.processes}; hint: start it without mpiexec or srun"
        )
    if len(plan.target.models) > 1:
        raise RequestError("company runs on one model, and the target is a list of them; hint: give one model")
    needed = plan.space_bytes + plan.company_bytes
    if plan.free_bytes is not None and needed > plan.free_bytes:
        raise RequestError(
            f"the files and those of the company need {size_text(needed)} and {plan.target.name} has "
            f"{size_text(plan.free_bytes)} free; hint: use another company, a smaller budget.space, or another target"
        )


@contextmanager
def company_scratch(target: Target, campaign: Campaign, run_id: str) -> Iterator[RunScratch | None]:
    """The marked directories of company; None where there is none."""
    if not campaign.companies:
        yield None
        return
    with RunScratch(target, campaign, f"{run_id}-company") as made:
        yield made


def companions(
    campaign: Campaign,
    plan: Plan,
    start: Launcher,
    writer: RunWriter,
    scratch: RunScratch,
    earlier: Sequence[TrialLine],
) -> Companions:
    """What may run beside the phases of a run."""
    known = list(earlier)
    workspace = Workspace(
        plan.target,
        start,
        campaign.seed or 0,
        scratch.directories,
        writer.path,
        run_id=scratch.run_id,
        clock=lambda device: clock_of(known, device),
    )
    return Companions(workspace, campaign.company_length_ns)
