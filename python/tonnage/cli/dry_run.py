"""What a campaign would do: the same of ``run``, ``probe`` and ``company``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import RequestError
from tonnage.printable_text import one_line

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign


def dry_run(campaign: Campaign, *, as_json: bool) -> int:
    """Prints the plan after the checks that a run would make; writes nothing. RequestError for ``as_json``."""
    from tonnage.campaign.company_place import check_company
    from tonnage.campaign.plan import check, describe, make_plan
    from tonnage.campaign.resource_needs import check_needs
    from tonnage.campaign.scratch import check_place
    from tonnage.campaign.search_bounds import fit_search
    from tonnage.cluster.launcher_by_name import launcher

    plan = make_plan(campaign)
    if campaign.job.on is None:
        from tonnage.campaign.jobs.run_by_jobs import refuse_here

        refuse_here(campaign)
        check(campaign, plan)
        check_needs(campaign, plan, launcher(campaign.launcher))
        check_company(campaign, plan, launcher(campaign.launcher))
        check_place(campaign.place, plan.target)
        fit_search(campaign, plan, Path())
        return _print(describe(campaign, plan), as_json=as_json)
    from tonnage.campaign.jobs.run_by_jobs import planned_jobs

    # The target is looked at where it is measured.
    return _print([*describe(campaign, plan), *planned_jobs(campaign)], as_json=as_json)


def _print(lines: list[str], *, as_json: bool) -> int:
    if as_json:
        raise RequestError("--dry-run prints its plan as text; hint: leave --json out")
    print("\n".join(map(one_line, lines)))
    return 0
