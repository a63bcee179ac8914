"""In which queue a job goes whose hosts the user named: that of the site file's servers that have them beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tonnage.cluster.scheduler import ClusterHost
from tonnage.errors import RequestError
from tonnage.placement.lists import ListedHost
from tonnage.placement.site import Server, Site


def queue_of_hosts(
    names: Sequence[str],
    site: Site,
    own: Collection[Server],
    listed: Sequence[ClusterHost | ListedHost] | None,
) -> str | None:
    """The queue that all of them are in; None where the site file has none for any. ``own``: the data's servers, whose
    queue counts before another's. RequestError where they are not in one queue, as far as site and scheduler say.
    """
    found = {name: _queue(name, own) or _queue(name, site.server) for name in names}
    queues = list(dict.fromkeys(queue for queue in found.values() if queue))
    if not queues:
        return None
    told = {host.name: host.queues for host in listed or ()}
    for name in names:
        in_queues = told.get(name)
        if found[name] is None and in_queues and queues[0] not in in_queues:
            found[name] = in_queues[0]
    if len({queue for queue in found.values() if queue}) > 1:
        each = ", ".join(f"{name} in {queue}" for name, queue in found.items() if queue)
        raise RequestError(f"the hosts are in several queues: {each}; hint: name hosts of one queue, or give --queue")
    return queues[0]


def _queue(host: str, servers: Collection[Server]) -> str | None:
    beside = (server for server in servers if host in (server.hosts or (server.name,)))
    return next((server.queue for server in beside if server.queue), None)
