"""Many processes, started by an MPI launcher: the first one controls the run, the others are its workers.

``started`` reads rank and size of this process from the environment alone; ``join`` connects it with the others.
Workers import this package, ``tonnage.cluster.host_group`` and the engine, and nothing that takes long.
"""

from tonnage.cluster.mpi.launch_environment import Started, started

__all__ = ["Started", "started"]
