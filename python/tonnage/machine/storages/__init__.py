"""What a file system tells of itself and of where it keeps files: one module a type."""

from tonnage.machine.storages.held import Held, Holding, Item, Part
from tonnage.machine.storages.registry import facts_of, held_files, type_of
from tonnage.machine.storages.spot import Spot

__all__ = ["Held", "Holding", "Item", "Part", "Spot", "facts_of", "held_files", "type_of"]
