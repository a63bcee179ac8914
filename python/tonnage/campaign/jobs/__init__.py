"""Runs that a scheduler's jobs carry out: each job measures a stretch of the trials; runs can be resumed."""
