"""The site file ``tonnage.toml``: servers, hosts beside them, slots, indices, and how jobs are placed."""

from tonnage.placement.site.load import Loaded, load_site, read_site, site_path
from tonnage.placement.site.model import Access, Line, Policy, Server, Site

__all__ = ["Access", "Line", "Loaded", "Policy", "Server", "Site", "load_site", "read_site", "site_path"]
