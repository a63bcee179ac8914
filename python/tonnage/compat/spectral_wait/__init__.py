"""Spectral's ``spectral_wait.py``, for scripts that call it."""
