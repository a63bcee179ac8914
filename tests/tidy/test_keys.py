"""Every key of a campaign file is described where it is defined, and explained on its page."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

from pydantic import BaseModel, Field
from tonnage.campaign.load import valid_keys
from tonnage.campaign.model import Campaign

from .tree import ROOT, read

CAMPAIGN_PAGE = ROOT / "docs" / "campaign.md"


def tables(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model, and the models of the tables in it."""
    yield model
    for field in model.model_fields.values():
        if table := _table(field.annotation):
            yield from tables(table)


def _table(annotation: object) -> type[BaseModel] | None:
    """The model that a field holds, also where it may be left out."""
    for choice in (annotation, *typing.get_args(annotation)):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return None


def undescribed(model: type[BaseModel]) -> list[str]:
    """Fields without a description; a table needs none, its keys have theirs."""
    return [name for name, field in model.model_fields.items() if not (field.description or _table(field.annotation))]


def missing_keys(model: type[BaseModel], page: str) -> list[str]:
    """Keys, as a file spells them, that a page does not show as code."""
    shown = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`[^`]+`|^```.*?^```", page, re.MULTILINE | re.DOTALL))))
    return [key for key in valid_keys(model) if key not in shown]


def test_every_key_of_a_campaign_file_is_on_its_page() -> None:
    page = read(CAMPAIGN_PAGE)
    missing = {table.__name__: keys for table in tables(Campaign) if (keys := missing_keys(table, page))}
    assert not missing, f"docs/campaign.md says nothing of {missing}"


def test_every_key_of_a_campaign_file_has_a_description() -> None:
    silent = {table.__name__: names for table in tables(Campaign) if (names := undescribed(table))}
    assert len(list(tables(Campaign))) > 3 and not silent, silent


class _Inner(BaseModel):
    told: int = Field(1, description="so that it is told")
    silent: int = 2


class _Outer(BaseModel):
    inner: _Inner | None = None


def test_the_checks_see_a_silent_key_in_a_table_that_may_be_left_out() -> None:
    assert [undescribed(table) for table in tables(_Outer)] == [[], ["silent"]]
    assert missing_keys(_Inner, "A page on `told = 1`, and silent only in words.") == ["silent"]
