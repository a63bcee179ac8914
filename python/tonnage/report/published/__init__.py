"""Published figures beside those of a run."""
