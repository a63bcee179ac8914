"""How busy each file server is: read from node_exporter, ``/proc`` or over ssh, each with its age."""

from tonnage.placement.indices.index_reader import fresh_indices, read_indices
from tonnage.placement.indices.reading import Reading

__all__ = ["Reading", "fresh_indices", "read_indices"]
