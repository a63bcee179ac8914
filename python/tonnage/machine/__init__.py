"""Facts about this host: what the manifest keeps. Standard library only."""

from tonnage.machine.host import host_facts
from tonnage.machine.load import load
from tonnage.machine.mounts import Mount, mount_of

__all__ = ["Mount", "host_facts", "load", "mount_of"]
