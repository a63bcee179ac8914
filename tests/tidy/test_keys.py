"""Every key of a campaign file and every option of the command line is described where it is defined, and on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import BaseModel, Field
from tonnage.campaign.kinds import WORKLOADS
from tonnage.campaign.model import Campaign
from tonnage.campaign.target import MODEL_KEYS
from tonnage.cli.command import all_commands, spelled_out
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.placement.site import Policy, Site
from tonnage.toml_documents import table_in, valid_keys

from .tree import ROOT, read

MODEL = ROOT / "crates" / "simulator" / "src" / "model.rs"
CAMPAIGN_PAGE = ROOT / "docs" / "campaign.md"
SITE_PAGE = ROOT / "docs" / "site-file.md"
OPTIONS_PAGE = ROOT / "docs" / "options.md"


def tables(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model, and the models of the tables in it."""
    yield model
    for field in model.model_fields.values():
        if table := table_in(field.annotation):
            yield from tables(table)


def all_tables() -> Iterator[type[BaseModel]]:
    """Every table that a campaign file may hold."""
    yield from tables(Campaign)
    yield from WORKLOADS.values()


def undescribed(model: type[BaseModel]) -> list[str]:
    """Fields without a description; a table needs none, its keys have theirs."""
    return [name for name, field in model.model_fields.items() if not (field.description or table_in(field.annotation))]


def missing_keys(model: type[BaseModel], page: str) -> list[str]:
    """Keys, as a file spells them, that a page does not show as code."""
    shown = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`[^`]+`|^```.*?^```", page, re.MULTILINE | re.DOTALL))))
    return [key for key in valid_keys(model) if key not in shown]


def option_complaints(commands: tuple[Command, ...], page: str) -> list[str]:
    """Commands and options without words of their own, or of which a page says nothing."""
    found = []
    for command in commands:
        if not (command.summary and command.description and command.examples):
            found.append(f"{command.name}: lacks a summary, a description or an example")
        if f"tonnage {command.name}" not in page:
            found.append(f"docs/options.md says nothing of tonnage {command.name}")
        for option in command.shown:
            if not option.help:
                found.append(f"{command.name} {option.names[0]}: no help")
            if not option.positional and f"`{option.names[0]}" not in page:
                found.append(f"docs/options.md says nothing of {command.name} {option.names[0]}")
    return found


def test_every_option_has_words_and_a_place_on_the_page() -> None:
    complaints = option_complaints(tuple(spelled_out(all_commands())), read(OPTIONS_PAGE))
    assert all_commands() and not complaints, "\n".join(complaints)


def test_every_key_of_a_campaign_file_is_on_its_page() -> None:
    page = read(CAMPAIGN_PAGE)
    missing = {table.__name__: keys for table in all_tables() if (keys := missing_keys(table, page))}
    assert not missing, f"docs/campaign.md says nothing of {missing}"


def test_every_key_of_a_simulated_target_is_on_its_page_and_in_the_table_of_the_model() -> None:
    page, table = read(CAMPAIGN_PAGE), read(MODEL)
    silent = [key for key in MODEL_KEYS if f"`{key}`" not in page]
    unlike = [key for key, (name, _) in MODEL_KEYS.items() if f"| `{key}` | `{name}` |" not in table]
    assert MODEL_KEYS and not silent and not unlike, (silent, unlike)


def test_every_key_of_a_campaign_file_has_a_description() -> None:
    silent = {table.__name__: names for table in all_tables() if (names := undescribed(table))}
    assert len(list(all_tables())) > 3 and not silent, silent


def test_every_key_of_a_site_file_has_a_description_and_a_row_with_its_default() -> None:
    page = read(SITE_PAGE)
    rows = set(re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", page, re.MULTILINE))
    told = {key for row in rows for key in re.findall(r"[a-z_]+", row)}
    every = {table.__name__: table for table in tables(Site)}
    silent = {name: keys for name, table in every.items() if (keys := undescribed(table))}
    missing = {name: set(valid_keys(table)) - told for name, table in every.items() if name != "Line"}
    assert {"Site", "Server", "Access", "Policy"} <= set(every) and not silent
    assert not any(missing.values()), missing
    assert not missing_keys(every["Line"], page)


def test_the_defaults_that_the_page_of_the_site_file_states_are_those_of_the_model() -> None:
    stated = dict(re.findall(r"^\| `([a-z_]+)` \| .* \| (`\S+`) \|$", read(SITE_PAGE), re.MULTILINE))
    policy = {key: value.strip('`"') for key, value in stated.items() if key in Policy.model_fields}
    assert set(policy) == set(Policy.model_fields)
    numbers = {key: json.loads(value) if value[-1].isdigit() else value for key, value in policy.items()}
    assert Policy.model_validate(numbers, context={"written": True}) == Policy()


class _Inner(BaseModel):
    told: int = Field(1, description="so that it is told")
    silent: int = 2


class _Outer(BaseModel):
    inner: _Inner | None = None


def test_the_checks_see_a_silent_key_in_a_table_that_may_be_left_out() -> None:
    assert [undescribed(table) for table in tables(_Outer)] == [[], ["silent"]]
    assert missing_keys(_Inner, "A page on `told = 1`, and silent only in words.") == ["silent"]


def test_the_check_of_options_sees_a_silent_command_and_a_hidden_option() -> None:
    hidden = Command("attic", "look", "Looks.", (Option(("--lamp",), ""),), (("tonnage attic", "looks"),))
    complaints = option_complaints((hidden,), "`tonnage attic` has no options.")
    assert complaints == ["attic --lamp: no help", "docs/options.md says nothing of attic --lamp"]
    assert len(option_complaints((Command("cellar", "", "", (), ()),), "")) == 2
