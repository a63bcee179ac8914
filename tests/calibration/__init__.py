"""Estimators and findings held against the simulator, whose truth is known."""
