"""The campaign of ``tonnage company``: each workload alone and beside each, in blocks with one trial of everything."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.kinds.named_company import ALONE, DEFAULT_SHARE, NAMED, Company, check_name, table_of
from tonnage.campaign.model import Campaign
from tonnage.errors import RequestError
from tonnage.units import format_time

BUDGET_NS = 300 * 10**9
_LONGEST_NS, _SHORTEST_NS = 4 * 10**9, 1_200_000_000
"""Of a trial: the analysis leaves out the half second in which the queue of company fills."""
_AROUND_NS = 400_000_000
"""Of a trial: company's lead, and laying out."""
_ALONE = 3
"""Trials of each workload that its rate as company is first taken from."""
_BLOCKS, _FEWEST_BLOCKS, _MOST_BLOCKS = 8, 4, 40
"""Blocks that trials are made long for; with fewer there is no interval worth having."""


def company_campaign(
    target: str,
    names: Sequence[str] = (),
    *,
    share: float | None = None,
    budget_ns: int | None = None,
    seed: int | None = None,
) -> Campaign:
    """RequestError where a name is unknown or given twice, a share is none, or the budget is too short."""
    names = tuple(names) or tuple(NAMED)
    for number, name in enumerate(names):
        check_name(name)
        if name in names[:number]:
            raise RequestError(f"{name} is given twice; hint: name each workload once")
    part = DEFAULT_SHARE if share is None else share
    if not 0.01 <= part <= 1:
        raise RequestError(f"--share: {part:g} is no share of a rate; hint: give 1% to 100%, such as 50%")
    length_ns, blocks = _length_and_blocks(len(names), BUDGET_NS if budget_ns is None else budget_ns)
    beside = [ALONE, *(str(Company(name, part)) for name in names)]
    return build_campaign(
        {
            "name": "company",
            "target": target,
            **({} if seed is None else {"seed": seed}),
            "workloads": [{**table_of(name, length_ns), "beside": beside} for name in names],
            "repeat": {"count": blocks},
            "budget": {"time_ns": BUDGET_NS if budget_ns is None else budget_ns},
        },
        stored=True,
    )


def _length_and_blocks(workloads: int, budget_ns: int) -> tuple[int, int]:
    """How long a trial is, and how many blocks there are in the budget; RequestError where it has too few."""
    settings = workloads * (workloads + 1)
    trials = settings * _BLOCKS + workloads * _ALONE
    length_ns = min(max(budget_ns // trials - _AROUND_NS, _SHORTEST_NS), _LONGEST_NS)
    once_ns = length_ns + _AROUND_NS
    blocks = (budget_ns - workloads * _ALONE * once_ns) // (settings * once_ns)
    if blocks < _FEWEST_BLOCKS:
        least_ns = (settings * _FEWEST_BLOCKS + workloads * _ALONE) * (_SHORTEST_NS + _AROUND_NS)
        seconds = -(-least_ns // 10**9)
        raise RequestError(
            f"--budget: {format_time(budget_ns)} is too short for {settings} settings of {workloads} "
            f"workload{'s' if workloads > 1 else ''}; hint: give at least {seconds}s, or fewer workloads"
        )
    return length_ns, min(blocks, _MOST_BLOCKS)
