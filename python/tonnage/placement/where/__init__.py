"""Which servers hold a path, and how that is known."""

from tonnage.placement.where.located import Device, Located

__all__ = ["Device", "Located"]
