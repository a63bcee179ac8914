"""Which servers hold a path, and how that is known."""

from tonnage.placement.where.locate import locate
from tonnage.placement.where.located import Device, Located
from tonnage.placement.where.servers import servers_of

__all__ = ["Device", "Located", "locate", "servers_of"]
