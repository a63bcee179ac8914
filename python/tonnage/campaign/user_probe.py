"""The search for the most users that are served."""

from __future__ import annotations

from tonnage.analysis.load_line.largest_number import NumberSearch
from tonnage.analysis.load_line.users import times_of
from tonnage.campaign.kinds.kv_cache import PHASE, with_users
from tonnage.campaign.kinds.user_search import kv_cache_of
from tonnage.campaign.model import Campaign
from tonnage.campaign.number_probe import Numbered, NumberProbe


class UserProbe(NumberProbe):
    """Trials with another number of users each."""

    def __init__(self, campaign: Campaign, seed: int) -> None:
        users = campaign.users
        if users is None:
            raise ValueError("a campaign without [users] has no such search")
        base = kv_cache_of(campaign.settings()[0])
        super().__init__(
            Numbered(
                phase=PHASE,
                number=lambda line: int(line["setting"]["users"]),
                values=lambda lines: times_of(lines, users.p95_ns),
                setting=lambda number: with_users(base, number),
            ),
            NumberSearch(users.most, users.p95_ns, f"users-{seed}"),
            users.budget_ns,
        )
