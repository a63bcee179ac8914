"""Host groups by ssh or by the scheduler: a process on each host, asked in JSON lines on its pipes."""

from tonnage.cluster.remote.client import CONNECTIONS, START_S, remote_hosts

__all__ = ["CONNECTIONS", "START_S", "remote_hosts"]
