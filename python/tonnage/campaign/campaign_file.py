"""From a file's text, a manifest's object or a probe's options to a Campaign.

A mistake is one line that says where and what to do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TypedDict

from pydantic import ValidationError

from tonnage.campaign.kinds import WORKLOADS
from tonnage.campaign.kinds.named_company import ALONE
from tonnage.campaign.model import Campaign
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError
from tonnage.option_names import reworded
from tonnage.records.line_types import Json
from tonnage.toml_documents import Document, Position, near_match
from tonnage.units import size_text


class _CampaignFile(Document):
    """Its ``[workload]`` is of several kinds, each with keys of its own."""

    def position_of(self, loc: tuple[int | str, ...]) -> Position:
        if loc[:1] not in (("workload",), ("workloads",)):
            return super().position_of(loc)
        path = [part for part in loc[1:] if isinstance(part, str)]
        number = next((part for part in loc if isinstance(part, int)), 0)
        kind = path.pop(0) if path and path[0] in WORKLOADS else "stream"
        return Position(("workload", *path), WORKLOADS[kind] if path else Campaign, number)


_FILE = _CampaignFile(Campaign, "campaign file", "`tonnage explain campaign`", "`tonnage example first-light`")


def load_campaign(
    path: str | os.PathLike[str], *, scale: float | None = None, target: str | None = None
) -> tuple[Campaign, str]:
    """The campaign in a TOML file, and its text. RequestError names the file and, where known, the line.

    ``scale`` and ``target`` replace the file's own, and what the file leaves to the target is that target's.
    """
    text = _FILE.read(path)
    return on_target(parse_campaign(text, str(path)), scale=scale, target=target), text


def on_target(campaign: Campaign, *, scale: float | None = None, target: str | None = None) -> Campaign:
    """The same with the scale and target that are given, and with what it leaves to the target as that has it."""
    given = {key: value for key, value in (("scale", scale), ("target", target)) if value is not None}
    changed = campaign.model_copy(update=given)
    here = parse_target(changed.target)
    return changed.model_copy(update={"workloads": tuple(one.on(here) for one in changed.workloads)})


def of_workloads(campaign: Campaign, *, only: Sequence[str] = (), without: Sequence[str] = ()) -> Campaign:
    """The same with some of its workloads, in the order of the file. RequestError for a name that none has, and where
    none is left."""
    names = [one.name for one in campaign.workloads]
    for option, given in (("--only", only), ("--without", without)):
        for name in given:
            if name not in names:
                known = ", ".join(filter(None, names)) or "none: its only workload has no name"
                hint = near_match(name, filter(None, names)) or f"it has {known}"
                raise RequestError(f"{option}: the campaign has no workload {name!r}; hint: {hint}")
    left = tuple(one for one in campaign.workloads if (not only or one.name in only) and one.name not in without)
    if not left:
        raise RequestError("--without leaves no workload; hint: leave out fewer")
    return campaign.model_copy(update={"workloads": left})


def parse_campaign(text: str, name: str) -> Campaign:
    """The campaign that ``text`` describes; ``name`` is what messages call it."""
    return build_campaign(_FILE.parse(text, name), name, text)


def build_campaign(data: Json, name: str = "", text: str = "", *, stored: bool = False) -> Campaign:
    """The campaign of plain values; ``stored``: they come from a manifest, where times are integers of nanoseconds."""
    try:
        return Campaign.model_validate(data, context={"written": not stored})
    except ValidationError as error:
        raise RequestError(_FILE.explain(error, name, text)) from None


_SURFACE = (4 << 10, 16 << 20)
"""Transfer sizes of ``--surface``."""
_SURFACE_BUDGET_NS = 300 * 10**9


class ProbeOptions(TypedDict, total=False):
    """Options of ``tonnage probe``. Sizes are bytes or a text (``"1MiB"``); None is an option that was not given."""

    op: str | Sequence[str] | None
    """``"write"``, ``"read"`` or both."""
    budget_ns: int | None
    max_tasks: int | None
    p99_ns: int | None
    p999_ns: int | None
    open_loop: bool | None
    surface: bool | None
    """Find the load line of every transfer size from 4 KiB to 16 MiB, instead of one."""
    training: str | None
    """A published configuration of MLPerf Storage: find the most accelerators that are fed with its samples."""
    utilisation: float | str | None
    """With ``training``: the share of the time that counts as fed."""
    accelerators: int | None
    """With ``training``: the largest number tried."""
    kv_cache: str | None
    """A model of MLPerf Storage: find the most users of an inference server that keeps its cache on the target."""
    p95_ns: int | None
    """With ``kv_cache``: 95 of 100 turns end so long after their intended start at the latest."""
    users: int | None
    """With ``kv_cache``: the largest number tried."""
    scale: float | None
    """With ``training`` or ``kv_cache``: samples, or tokens, of so many times their size."""
    checkpoint_every: int | None
    """With ``training``: a checkpoint after so many steps."""
    checkpoint_size: int | str | None
    """Its bytes, or a published one (``"llama3-8b"``)."""
    transfer_size: int | str | None
    direct: str | None
    storage: str | None
    access: str | None
    queue_depth: int | None
    verify: bool | None
    beside: str | None
    """A workload that runs meanwhile, at a share of the rate it reaches alone: ``"metadata-storm@50%"``."""
    space: int | str | None
    """Bytes of files at once, at most."""
    seed: int | None


_SEARCH = ("op", "budget_ns", "max_tasks", "p99_ns", "p999_ns", "open_loop", "surface")
_WORKLOAD = ("transfer_size", "direct", "storage", "access", "queue_depth", "verify", "beside")


_OF_TRAINING = ("utilisation", "accelerators", "checkpoint_every", "checkpoint_size")
_OF_KV_CACHE = ("p95_ns", "users")
_NOT_OF_TRAINING = (
    "op", "max_tasks", "p99_ns", "p999_ns", "open_loop", "surface", "storage", "access", "queue_depth", "verify",
    "beside",
)  # fmt: skip


_OPTIONS = {
    "accelerators.utilisation": "--utilisation",
    "accelerators.most": "--accelerators",
    "accelerators.budget_ns": "--budget",
    "accelerators.budget": "--budget",
    "users.p95": "--p95",
    "users.p95_ns": "--p95",
    "users.budget_ns": "--budget",
    "users.most": "--users",
    "users.budget": "--budget",
    "workload.checkpoint_every": "--checkpoint-every",
    "workload.checkpoint_size": "--checkpoint-size",
    "workload.dataset": "--space",
    "workload.capacity": "--space",
    **{f"workload.{key}": f"--{key}" for key in _WORKLOAD},
    **{f"search.{key}": f"--{key.removesuffix('_ns')}" for key in _SEARCH},
    **{f"search.{key.removesuffix('_ns')}": f"--{key.removesuffix('_ns')}" for key in _SEARCH},
    "workload.transfer_size": "--transfer",
    "workload.block_size": "--transfer",
    "budget.space_bytes": "--space",
    "budget.space": "--space",
}
"""Keys of a campaign → the options of ``tonnage probe`` that say the same."""
_KEY = re.compile(r"(?<![\w.])(?:" + "|".join(map(re.escape, sorted(_OPTIONS, key=len, reverse=True))) + r")(?![\w.])")
_SET = re.compile(r"\b(" + "|".join(_WORKLOAD) + r') = "?([\w.]+)"?')


def in_options() -> AbstractContextManager[None]:
    """A probe builds its campaign from options: errors raised inside name these options instead of keys."""

    def word(text: str) -> str:
        text = _SET.sub(lambda found: f"{_spelled('workload.' + found[1])}={found[2]}", text)
        text = _KEY.sub(lambda found: _spelled(found[0]), re.sub(r"^seed(?=: )", "--seed", text))
        text = re.sub(r"(?<![\w.-])checkpoint_(size|every)\b", r"--checkpoint-\1", text)
        return text.replace("; hint: see `tonnage explain campaign`", "; hint: see `tonnage probe --help`")

    return reworded(word)


def _spelled(key: str) -> str:
    return _OPTIONS[key].replace("_", "-")


def probe_campaign(target: str, asked: ProbeOptions) -> Campaign:
    """The campaign of a probe of ``target``. RequestError where an option is wrong."""
    given: Json = {key: value for key, value in asked.items() if value is not None and key != "surface"}
    for about, example, keys in (
        ("training", "unet3d-h100", _OF_TRAINING),
        ("kv_cache", "llama3.1-8b", _OF_KV_CACHE),
    ):
        for key in keys:
            if key in given and about not in given:
                option, of = f"--{key.removesuffix('_ns').replace('_', '-')}", f"--{about.replace('_', '-')}"
                raise RequestError(f"{option} is about {of}; hint: give {of} {example}, or leave it out")
    if "training" in given or "kv_cache" in given:
        return _counted_campaign(target, {**given, "surface": asked.get("surface") or None})
    if "scale" in given:
        raise RequestError("--scale is about --training and --kv-cache; hint: give one of them, or leave it out")
    if given.get("beside") == ALONE:
        raise RequestError(f"--beside: {ALONE} names no workload; hint: leave --beside out, as a probe is alone then")
    if asked.get("surface"):
        if "transfer_size" in given:
            raise RequestError("--transfer: --surface looks at a range of transfer sizes; hint: leave one of them out")
        given = {"budget_ns": _SURFACE_BUDGET_NS, **given, "surface": _SURFACE}
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


def _beside_checkpoints(campaign: Campaign, space: int) -> int:
    """Bytes of ``space`` that a checkpoint leaves for the data set. RequestError where it leaves none."""
    from tonnage.campaign.kinds.number_searches import training_of

    saved = max(one.writers * one.part_bytes for one in map(training_of, campaign.settings()))
    if saved >= space:
        raise RequestError(
            f"a checkpoint alone takes {size_text(saved)}, and --space is {size_text(space)}; "
            "hint: give more, or a smaller --checkpoint-size or --scale"
        )
    return space - saved


def _counted_campaign(target: str, given: Json) -> Campaign:
    """The campaign of ``--training`` or ``--kv-cache``. RequestError where another option has no meaning for it."""
    kind = "training" if "training" in given else "kv_cache"
    others = (*_NOT_OF_TRAINING, *(("kv_cache",) if kind == "training" else ()))
    for key in others:
        if given.get(key) is not None:
            option = _OPTIONS.get(f"search.{key}", f"--{key}").replace("_", "-")
            raise RequestError(f"{option} has no meaning with --{kind.replace('_', '-')}; hint: leave one of them out")
    table, space, names = {
        "training": (
            "accelerators",
            "dataset",
            {"utilisation": "utilisation", "most": "accelerators", "budget_ns": "budget_ns"},
        ),
        "kv_cache": ("users", "capacity", {"p95_ns": "p95_ns", "most": "users", "budget_ns": "budget_ns"}),
    }[kind]
    workload: Json = {
        "kind": kind.replace("_", "-"),
        "model": given[kind],
        **{
            key: given[key]
            for key in ("transfer_size", "direct", "checkpoint_every", "checkpoint_size")
            if key in given
        },
        **({space: given["space"]} if "space" in given else {}),
    }
    document: Json = {
        "name": "probe",
        "target": target,
        **{key: given[key] for key in ("seed", "scale") if key in given},
        "workload": workload,
        table: {key: given[option] for key, option in names.items() if option in given},
        "budget": {"space": given["space"]} if "space" in given else {},
    }
    with reworded(lambda text: text.replace("workload.model", f"--{kind.replace('_', '-')}")):
        campaign = build_campaign(document, stored=True)
        if kind == "training" and "space" in given:
            left = {space: _beside_checkpoints(campaign, given["space"])}
            campaign = build_campaign({**document, "workload": {**workload, **left}}, stored=True)
    return on_target(campaign)
