"""A binomial tree over positions 0…count−1: commands go down, answers and results come up, in log2 steps."""

from __future__ import annotations


def parent(position: int) -> int | None:
    """Returns the parent of a position; None for the root."""
    return position & (position - 1) if position else None


def children(position: int, count: int) -> list[int]:
    """The children of a position, the one with the largest subtree first: it passes the most messages on."""
    found = []
    step = 1
    while (position == 0 or step < position & -position) and position + step < count:
        found.append(position + step)
        step <<= 1
    return found[::-1]
