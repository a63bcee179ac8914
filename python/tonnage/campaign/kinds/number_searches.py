"""Searches for the largest number, of accelerators or of users: one of them at most, and what its trials come to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tonnage.campaign.accelerators import AcceleratorSearch
from tonnage.campaign.kinds import accelerator_search, user_search
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.users import UserSearch
from tonnage.toml_documents import refuse

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign


def largest_settings(search: AcceleratorSearch | UserSearch, settings: Iterable[Setting]) -> list[Setting]:
    """Returns what trials of ``settings`` come to at most, each once."""
    if isinstance(search, UserSearch):
        return list(dict.fromkeys(user_search.largest(search, setting) for setting in settings))
    return list(dict.fromkeys(accelerator_search.largest(search, setting) for setting in settings))


def check_numbers(campaign: Campaign, *, written: bool) -> None:
    """Refuses a second search, and workloads of which there is no one number."""
    accelerators, users = campaign.accelerators, campaign.users
    mine = "accelerators" if users is None else "users"
    if campaign.search is not None or (accelerators is not None and users is not None):
        other = "accelerators" if campaign.search is None else "search"
        refuse(mine, f"[{other}] and [{mine}] are two searches", "keep one of them")
    if accelerators is not None:
        accelerator_search.check_feeding(accelerators, campaign.workloads, written=written)
    if users is not None:
        user_search.check_serving(users, campaign.workloads, written=written)
