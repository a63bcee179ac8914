"""The search for the most accelerators that are fed."""

from __future__ import annotations

from tonnage.analysis.load_line.accelerators import LIMIT_TRIALS, stretches
from tonnage.analysis.load_line.largest_number import NumberSearch
from tonnage.campaign.kinds.accelerator_search import objective_of, training_of
from tonnage.campaign.kinds.training import PHASE, with_accelerators
from tonnage.campaign.model import Campaign
from tonnage.campaign.number_probe import Numbered, NumberProbe


class AcceleratorProbe(NumberProbe):
    """Trials with another number of accelerators each."""

    def __init__(self, campaign: Campaign, seed: int) -> None:
        if campaign.accelerators is None:
            raise ValueError("a campaign without [accelerators] has no such search")
        (training,) = campaign.workloads
        base = training_of(campaign.settings()[0])
        stretch = 1 / objective_of(campaign.accelerators, training)
        super().__init__(
            Numbered(
                phase=PHASE,
                number=lambda line: int(line["setting"]["accelerators"]),
                values=stretches,
                setting=lambda number: with_accelerators(base, number),
            ),
            NumberSearch(campaign.accelerators.most, stretch, f"accelerators-{seed}", LIMIT_TRIALS),
            campaign.accelerators.budget_ns,
        )
