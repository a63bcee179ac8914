"""``[accelerators]``: the table of a campaign that looks for the most accelerators that a storage feeds."""

from __future__ import annotations

from pydantic import Field

from tonnage.field_types import Count, Share, Time
from tonnage.toml_documents import DocumentTable, time_field


class AcceleratorSearch(DocumentTable):
    """A search for the most accelerators that are fed, instead of the numbers of a workload."""

    utilisation: Share | None = Field(
        None, description="share of the time that an accelerator that is fed computes; of the model, or 90 %"
    )
    most: Count = Field(64, description="largest number of accelerators tried")
    budget_ns: Time = time_field("budget", 300 * 10**9, "time for the whole search")
