"""How long a placement counts before anybody has seen it run."""

from __future__ import annotations

from math import exp


def weight(age_s: float, decay_s: float) -> float:
    """What a task placed ``age_s`` ago still counts for, 1…0: ``exp(-age ÷ decay)``.

    A job needs a moment from its submission to its first byte, and an index a moment to show it; without this every job
    of a burst would find the same server idle. It decays because a job that never shows must not count for ever.
    """
    return exp(-max(0.0, age_s) / decay_s) if decay_s > 0 else 0.0
