"""Tonnage tells how much I/O a storage system can carry, and keeps jobs at that line."""

__version__ = "0.1.0"
