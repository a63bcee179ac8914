"""A binomial tree over positions 0…count−1: orders go down it, answers and shares come up, in log2 steps."""

from __future__ import annotations


def parent(position: int) -> int | None:
    """Who is told; None for the root."""
    return position & (position - 1) if position else None


def children(position: int, count: int) -> list[int]:
    """Who tells this one, largest subtree first: it has most to pass on."""
    found = []
    step = 1
    while (position == 0 or step < position & -position) and position + step < count:
        found.append(position + step)
        step <<= 1
    return found[::-1]
