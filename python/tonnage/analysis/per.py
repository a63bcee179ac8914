"""``--per``: what the rates of each run are divided by before the runs are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage.analysis.divided import THINGS, bases_of
from tonnage.analysis.normalise import LINK, Basis, alike, normalise, parse_link, parse_per
from tonnage.analysis.results import Point
from tonnage.errors import RequestError
from tonnage.records import Run


def bases(asked: str, runs: Sequence[Run]) -> list[Basis]:
    """One for each run: ``disk`` as the ``[normalise]`` of their campaigns says it, ``disk=60,84`` or
    ``link=1Gbit/s,10Gbit/s`` as given. RequestError where a run has none, or where they are of unlike things."""
    thing, given, text = (part.strip() for part in asked.partition("="))
    thing = THINGS.get(thing.lower(), thing.lower())
    if not given:
        found = [_own(thing, run) for run in runs]
    else:
        amounts = [part.strip() for part in text.split(",")]
        if len(amounts) != len(runs):
            raise RequestError(
                f"--per {asked} has {len(amounts)} for {len(runs)} runs; hint: give one to each, in their order"
            )
        found = [parse_link(each) if thing == LINK else parse_per(f"{thing}={each}") for each in amounts]
    for other in found[1:]:
        alike(found[0], other)
    return found


def _own(thing: str, run: Run) -> Basis:
    own = bases_of(run.manifest.get("campaign") or {})
    for basis in own:
        if basis.thing == thing:
            return basis
    key = next((key for key, one in THINGS.items() if one == thing), thing)
    says = (
        f"it says {' and '.join(map(str, own))}, and these are unlike things" if own else "it says nothing of the kind"
    )
    amounts = "1Gbit/s,10Gbit/s" if thing == LINK else "60,84"
    raise RequestError(
        f"[normalise] of {run.path} has no {key}: {says}; hint: give one to each run, like --per {thing}={amounts}"
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
