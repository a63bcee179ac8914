"""``[accelerators]`` and ``[users]``: the tables of a campaign that looks for the largest number of them."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from tonnage.field_types import Count, Share, Time
from tonnage.toml_documents import DocumentTable, refuse_zero, time_field


class AcceleratorSearch(DocumentTable):
    """A search for the most accelerators that are fed, instead of the numbers of a workload."""

    utilisation: Share | None = Field(
        None, description="share of the time that an accelerator that is fed computes; of the model, or 90 %"
    )
    most: Count = Field(64, description="largest number of accelerators tried")
    budget_ns: Time = time_field("budget", 300 * 10**9, "time for the whole search")


class UserSearch(DocumentTable):
    """A search for the most users that are served in time, instead of the numbers of a workload."""

    p95_ns: Time = time_field(
        "p95", 200_000_000, "of 100 turns, 95 end so long after their intended start at the latest"
    )
    most: Count = Field(64, description="largest number of users tried")
    budget_ns: Time = time_field("budget", 300 * 10**9, "time for the whole search")

    @field_validator("p95_ns", mode="before")
    @classmethod
    def _can_be_met(cls, objective_ns: Any) -> Any:
        return refuse_zero("p95", objective_ns, "turn", "200ms")
