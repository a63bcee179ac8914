"""Which servers hold a path, and how that is known."""

from tonnage.placement.where.locate import locate
from tonnage.placement.where.located import Located
from tonnage.placement.where.servers import servers_of

__all__ = ["Located", "locate", "servers_of"]
