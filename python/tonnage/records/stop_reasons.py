"""Why a point was not measured again. The schedule of the run decides, the manifest keeps it, everyone else reads it.

| reason | meaning |
|---|---|
| ``known`` | the search knew its load line well enough |
| ``aside`` | far from the load line, where the search wants two repetitions and no more |
| ``limit`` | up to the largest number of tasks no plateau shows: repetitions would not change that |
| ``repetitions`` | all repetitions that were asked for |
| ``narrow`` | its interval is as narrow as was asked for |
| ``most`` | the most repetitions that were allowed, and its interval is not that narrow |
| ``budget`` | the time was used up |
| ``failed`` | a trial failed |
| ``interrupted`` | the run was interrupted |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

Reason = Literal["known", "aside", "limit", "repetitions", "narrow", "most", "budget", "failed", "interrupted"]
KEY = "stopped"
"""Key of the manifest that has them."""


def packed(reasons: Mapping[int, Reason]) -> dict[str, Any] | None:
    """``reasons``, by the number of each trial, as the manifest keeps them: ``{"usual": "known", "other": {"7":
    "aside"}}``, for most runs have one reason for nearly all. None where nothing was measured."""
    if not reasons:
        return None
    ((usual, _),) = Counter(reasons.values()).most_common(1)
    return {"usual": usual, "other": {str(trial): reason for trial, reason in reasons.items() if reason != usual}}


def reason_of(manifest: Mapping[str, Any], trial: int) -> Reason | None:
    """Why the point that ``trial`` belongs to stopped; None: the run goes on, was killed, or does not say."""
    kept = manifest.get(KEY)
    return kept["other"].get(str(trial), kept["usual"]) if kept else None
