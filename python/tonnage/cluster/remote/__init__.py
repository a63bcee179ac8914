"""Host groups by ssh or by the scheduler: a process on each host, asked in JSON lines on its pipes."""

from tonnage.cluster.remote.client import START_S
from tonnage.cluster.remote.host_group_by_name import CONNECTIONS, remote_hosts

__all__ = ["CONNECTIONS", "START_S", "remote_hosts"]
