"""How many seeds are tried, and how often chance alone may be against so many."""

from __future__ import annotations

import os

from scipy.stats import binom

ALL_SEEDS = bool(os.environ.get("TONNAGE_ALL_SEEDS"))
"""Else a share of them."""
RATE = 0.05
"""How often an interval of 95 % may miss."""


def seeds(many: int, share: int = 4) -> int:
    """So many of all seeds as are asked for: all, or every ``share``-th."""
    return many if ALL_SEEDS else many // share


def within_chance(wrong: int, tables: int, rate: float = RATE) -> bool:
    """Whether so many may be seen where the rate is the stated one: more are in one case of fifty. Seeds are fixed."""
    return bool(wrong <= binom.ppf(0.98, tables, rate))
