"""Figures divided by what carried them: so many disks, servers or nodes, or the rate of a link. Units are checked: a
gigabit is not a gigabyte, and figures that were divided by unlike things are not compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tonnage.errors import RequestError
from tonnage.units import bits_text, rate_text

LINK = "link"
_METRICS = {"B/s": "B/s", "bandwidth_bytes_per_s": "B/s", "1/s": "1/s", "operations_per_s": "1/s"}
"""As a headline has them, and as a point has them."""
_PER = re.compile(r"(?P<thing>[a-zA-Z][a-zA-Z -]{0,31})\s*=\s*(?P<count>[0-9]{1,9})", re.ASCII)
_LINK = re.compile(
    r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?P<prefix>[kMGT]?i?)(?P<unit>bit|bits|bps|b|B|Byte|Bytes)?(?P<per>/s)?"
)
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True, slots=True)
class Basis:
    """What a figure is divided by: either so many of a thing, or a rate."""

    thing: str
    """Singular, lower case: ``disk``, ``server``, ``node``; ``link`` for a rate."""
    count: float | None
    bytes_per_s: float | None

    def __str__(self) -> str:
        """``10 disks``, ``a link of 1 Gbit/s (125 MB/s)``."""
        if self.bytes_per_s is not None:
            return f"a {self.thing} of {bits_text(self.bytes_per_s)} ({rate_text(self.bytes_per_s)})"
        return f"{self.count:g} {self.thing}{'' if self.count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Normalised:
    """A figure divided by a basis, and its interval divided in the same way (equal to it where there is none)."""

    value: float
    low: float
    high: float
    unit: str
    """``B/s per disk``, ``1/s per disk``, or ``of the link``: a share of one."""
    basis: Basis


def parse_per(text: str) -> Basis:
    """``disk=10``: so many of a thing. RequestError where it is no whole number above 0 of something with a name."""
    match = _PER.fullmatch(text.strip())
    if match is None or not int(match["count"]):
        raise RequestError(f"{text!r} does not say how many of what; hint: write it like disk=10")
    thing = match["thing"].strip().lower()
    if thing == LINK:
        raise RequestError("a link is known by its rate, not by its number; hint: write link = 1Gbit/s")
    return Basis(thing, int(match["count"]), None)


def parse_link(text: str) -> Basis:
    """``1Gbit/s``, ``100 Mbit/s`` or ``125MB/s``: the rate of a link. RequestError where bits and bytes cannot be told
    apart, as in ``1G`` or ``1Gb/s``: they are a factor of 8 from each other."""
    match = _LINK.fullmatch(text.strip())
    prefix = match["prefix"] if match else ""
    hint = "hint: write it like 1Gbit/s or 125MB/s"
    if match is None or prefix not in _PREFIXES or not Fraction(match["number"]):
        raise RequestError(f"{text!r} is not the rate of a link; {_either(text) or hint}")
    number, unit = Fraction(match["number"]) * _PREFIXES[prefix], match["unit"]
    if unit in (None, "b"):
        raise RequestError(f"{text!r} may be bits or bytes, which are a factor of 8 apart; {_either(text) or hint}")
    if match["per"] is None and unit != "bps":
        raise RequestError(f"{text!r} is an amount, not a rate; hint: write {text.strip()}/s")
    bits = unit in ("bit", "bits", "bps")
    return Basis(LINK, None, float(number / 8 if bits else number))


def _either(text: str) -> str:
    """``hint: write 1Gbit/s (125 MB/s) or 1GB/s``, where the text begins with a number and a prefix."""
    match = re.match(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([kMGT])", text)
    if match is None or not Fraction(match[1]):
        return ""
    bits = rate_text(float(Fraction(match[1]) * _PREFIXES[match[2]] / 8))
    return f"hint: write {match[1]}{match[2]}bit/s (that is {bits}) or {match[1]}{match[2]}B/s"


def normalise(
    value: float, metric: str, basis: Basis, low: float | None = None, high: float | None = None
) -> Normalised:
    """``value`` in ``metric`` (``B/s`` or ``1/s``) divided by ``basis``. RequestError for operations per second of a
    link, which carries bytes. A share above 1 is no error: what it means (a cache, another link, a wrong unit), who
    asks says."""
    unit = unit_of(metric, basis)
    divisor = basis.count or 1.0 if basis.bytes_per_s is None else basis.bytes_per_s
    below, above = (value if bound is None else bound for bound in (low, high))
    return Normalised(value / divisor, below / divisor, above / divisor, unit, basis)


def unit_of(metric: str, basis: Basis | None) -> str:
    """Returns the unit of a divided rate, such as ``B/s per disk`` or ``of the link``; without a basis ``B/s`` or
    ``1/s``. RequestError as for :func:`normalise`."""
    unit = _METRICS.get(metric)
    if unit is None:
        raise RequestError(f"{metric!r} is no rate that can be divided; hint: give B/s or 1/s")
    if basis is None:
        return unit
    if basis.bytes_per_s is None:
        return f"{unit} per {basis.thing}"
    if unit != "B/s":
        raise RequestError(
            f"operations per second are no part of {basis}, which carries bytes; hint: divide them by a number of "
            "things, like server=4"
        )
    return f"of the {basis.thing}"


def require_like_units(first: Basis, second: Basis) -> None:
    """RequestError where two figures were divided by unlike things: per disk against per server, or a share of a link.
    Links of different rates are alike: a share of each is what is compared."""
    if first.thing != second.thing or (first.count is None) != (second.count is None):
        raise RequestError(
            f"one figure is for {first}, the other for {second}: these are unlike things; hint: divide both by the same"
        )
