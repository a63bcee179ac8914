"""From what was asked of a probe to a campaign with a search. What was not asked is left to the campaign's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from tonnage.campaign.load import build_campaign
from tonnage.campaign.model import Campaign


class ProbeOptions(TypedDict, total=False):
    """Options of ``tonnage probe``. Sizes are bytes or a text (``"1MiB"``); None is an option that was not given."""

    op: str | Sequence[str] | None
    """``"write"``, ``"read"`` or both."""
    budget_ns: int | None
    max_tasks: int | None
    p99_ns: int | None
    p999_ns: int | None
    open_loop: bool | None
    transfer_size: int | str | None
    direct: str | None
    storage: str | None
    access: str | None
    queue_depth: int | None
    verify: bool | None
    space: int | str | None
    """Bytes of files at once, at most."""
    seed: int | None


_SEARCH = ("op", "budget_ns", "max_tasks", "p99_ns", "p999_ns", "open_loop")
_WORKLOAD = ("transfer_size", "direct", "storage", "access", "queue_depth", "verify")


def probe_campaign(target: str, asked: ProbeOptions) -> Campaign:
    """The campaign of a probe of ``target``. RequestError where an option is wrong."""
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    workload = {key: given[key] for key in _WORKLOAD if key in given}
    if "transfer_size" in given:
        # The search sizes its blocks itself; one transfer is a whole number of any transfer.
        workload["block_size"] = given["transfer_size"]
    return build_campaign(
        {
            "name": "probe",
            "target": target,
            **({"seed": given["seed"]} if "seed" in given else {}),
            "workload": workload,
            "search": {key: given[key] for key in _SEARCH if key in given},
            "budget": {"space": given["space"]} if "space" in given else {},
        },
        stored=True,
    )
