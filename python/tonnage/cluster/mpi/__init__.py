"""Many processes, started by an MPI launcher: the first has the run, the others follow it.

``started`` tells from the environment alone who this process is; ``join`` meets the others. Followers import this
package, ``tonnage.cluster.host_group`` and the engine, and nothing that takes long.
"""

from tonnage.cluster.mpi.launch_environment import Started, started

__all__ = ["Started", "started"]
