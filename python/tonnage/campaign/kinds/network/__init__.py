"""``network``: iperf3 between hosts, as a workload like any other."""

from tonnage.campaign.kinds.network.section import Network, NetworkSetting

__all__ = ["Network", "NetworkSetting"]
