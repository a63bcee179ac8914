"""Facts about this host: what the manifest keeps. Standard library only."""

from tonnage.machine.affinity import interrupt_cpus
from tonnage.machine.host import host_facts
from tonnage.machine.identity import identity
from tonnage.machine.load import load
from tonnage.machine.mounts import Mount, mount_of
from tonnage.machine.striping import Striped, Striping, stripe

__all__ = ["Mount", "Striped", "Striping", "host_facts", "identity", "interrupt_cpus", "load", "mount_of", "stripe"]
