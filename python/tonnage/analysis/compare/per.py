"""``--per``: what the rates of each run, or tier, are divided by before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tonnage.analysis.compare.divided import THINGS, bases_of
from tonnage.analysis.compare.normalise import LINK, Basis, alike, normalise, parse_link, parse_per
from tonnage.analysis.results import Point
from tonnage.errors import RequestError
from tonnage.records import Run


@dataclass(frozen=True, slots=True)
class Owner:
    """One whose rates are divided, and what it says itself of what carried them."""

    name: str
    own: tuple[Basis, ...]
    says: str
    """Where it says so, for who looks in vain: ``[normalise] of RUN``."""


def owner_of(run: Run) -> Owner:
    """A run: the ``[normalise]`` of its campaign says what carried it, and the cluster which OSDs did."""
    return Owner(str(run.path), bases_of(run.manifest), f"[normalise] of {run.path}")


def given_to(asked: str, groups: Sequence[Sequence[Owner]], noun: str) -> list[Basis]:
    """A basis for each owner of each group: ``disk`` as it says itself, ``disk=60,84`` or ``link=1Gbit/s,10Gbit/s`` as
    given, one amount to each group, which is a ``noun`` to who asks. RequestError where there is none for one, or where
    they are of unlike things."""
    thing, given, text = (part.strip() for part in asked.partition("="))
    thing = THINGS.get(thing.lower(), thing.lower())
    if not given:
        found = [_own(thing, owner, noun) for group in groups for owner in group]
    else:
        amounts = [part.strip() for part in text.split(",")]
        if len(amounts) != len(groups):
            raise RequestError(
                f"--per {asked} has {len(amounts)} for {len(groups)} {noun}s; hint: give one to each, in their order"
            )
        told = [parse_link(each) if thing == LINK else parse_per(f"{thing}={each}") for each in amounts]
        found = [basis for basis, group in zip(told, groups, strict=True) for _ in group]
    for other in found[1:]:
        alike(found[0], other)
    return found


def _own(thing: str, owner: Owner, noun: str) -> Basis:
    for basis in owner.own:
        if basis.thing.lower() in (thing, thing.removesuffix("s")):
            return basis
    key = next((key for key, one in THINGS.items() if one == thing), thing)
    says = (
        f"it says {' and '.join(map(str, owner.own))}, and these are unlike things"
        if owner.own
        else "it says nothing of the kind"
    )
    amounts = "1Gbit/s,10Gbit/s" if thing == LINK else "60,84"
    raise RequestError(
        f"{owner.says} has no {key}: {says}; hint: give one to each {noun}, like --per {thing}={amounts}"
    )


def divided(point: Point, basis: Basis) -> Point:
    """The same with its rates for one of the basis. RequestError for operations per second of a link."""
    whole = normalise(point.median, point.metric, basis, point.low, point.high)
    return replace(
        point,
        values=tuple(normalise(value, point.metric, basis).value for value in point.values),
        median=whole.value,
        low=whole.low,
        high=whole.high,
    )
