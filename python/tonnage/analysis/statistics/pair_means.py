"""The median of the means of all pairs of very many values, without making the pairs: their number is the square."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

PAIRED_MOST = 256
"""Values of which sorting the means of all pairs is quicker."""
_LISTED_MOST = 4
"""Candidates a value that are listed and looked through."""


def median_of_pair_means(values: Floats) -> float:
    """What sorting the means of all pairs, each value with itself too, finds: the same bits."""
    import numpy as np

    ordered = np.sort(values)
    pairs = len(ordered) * (len(ordered) + 1) // 2
    upper = _pair_mean(ordered, pairs // 2)
    return upper if pairs % 2 else (_pair_mean(ordered, pairs // 2 - 1) + upper) / 2


def _pair_mean(ordered: Floats, rank: int) -> float:
    """The mean that ``rank`` others stand before when all are sorted (Johnson and Mizoguchi 1978).

    The means of one value with those from its own place on are sorted already. Of each such row, a range can still hold
    the one that is looked for; a mean in the middle of all ranges halves about half of them.
    """
    import numpy as np

    rows = np.arange(len(ordered))
    low, high = rows.copy(), np.full(len(ordered), len(ordered))
    distinct, starts = np.unique(ordered, return_index=True)
    starts = np.append(starts, len(ordered))
    while (left := int((high - low).sum())) > _LISTED_MOST * len(ordered):
        pivot = _middle(ordered, low, high, left)
        below = np.maximum(_first_above(ordered, distinct, starts, pivot, np.greater_equal), rows)
        until = np.maximum(_first_above(ordered, distinct, starts, pivot, np.greater), rows)
        if rank < (below - rows).sum():
            high = np.minimum(high, below)
        elif rank >= (until - rows).sum():
            low = np.maximum(low, until)
        else:
            return pivot
        high = np.maximum(low, high)
    sizes = high - low
    columns = np.arange(left) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(low, sizes)
    means = (np.repeat(ordered, sizes) + ordered[columns]) / 2
    at = rank - int((low - rows).sum())
    return float(np.partition(means, at)[at])


def _middle(ordered: Floats, low: Places, high: Places, left: int) -> float:
    """Of the middles of all ranges the one with half of what is ``left`` in ranges of smaller ones."""
    import numpy as np

    open_ = np.flatnonzero(low < high)
    middles = (ordered[open_] + ordered[(low[open_] + high[open_]) // 2]) / 2
    order = np.argsort(middles)
    counted = np.cumsum((high - low)[open_][order])
    return float(middles[order[np.searchsorted(counted, left / 2)]])


def _first_above(ordered: Floats, distinct: Floats, starts: Places, pivot: float, is_above: np.ufunc) -> Places:
    """Of each value the first place whose value has a mean with it that is above ``pivot``; their number where none is.
    A difference is rounded as no mean is, so what it finds is set right by the means themselves."""
    import numpy as np

    at = np.searchsorted(distinct, 2 * pivot - ordered)
    last = len(distinct) - 1
    while (back := (at > 0) & is_above((ordered + distinct[np.maximum(at - 1, 0)]) / 2, pivot)).any():
        at -= back
    while (on := (at <= last) & ~is_above((ordered + distinct[np.minimum(at, last)]) / 2, pivot)).any():
        at += on
    return starts[at]
