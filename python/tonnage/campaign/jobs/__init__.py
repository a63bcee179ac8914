"""Runs that a scheduler's jobs carry out: submitted stretch by stretch, followed, taken up again."""
