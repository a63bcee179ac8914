"""Which process does which tasks of a phase: a pure function, which every process works out for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.cluster.launcher import Placing


class Share(NamedTuple):
    """The tasks of one process: ``tasks`` of them, from number ``first`` on."""

    rank: int
    first: int
    tasks: int


def hosts_in_order(hosts: Sequence[str]) -> list[str]:
    """Returns the hosts of processes, each once, in the order of the processes."""
    return list(dict.fromkeys(hosts))


def assign(hosts: Sequence[str], tasks: int, placing: Placing) -> list[Share]:
    """The shares of ``tasks`` tasks among processes that run on ``hosts``; processes without tasks have none.

    RequestError where a host is not there or there is no room.
    """
    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        ranks.setdefault(host, []).append(rank)
    wanted = list(ranks) if placing.hosts is None else list(placing.hosts)
    for host in wanted:
        if host not in ranks:
            raise RequestError(f"there is no process on host {host}; hint: they run on {', '.join(ranks)}")
    per_node = placing.tasks_per_node
    if per_node is None:
        chosen = [rank for host in wanted for rank in ranks[host]] if placing.hosts else list(range(len(hosts)))
        if tasks > len(chosen):
            raise RequestError(
                f"{tasks} tasks are more than the {len(chosen)} processes that were started"
                + (f" on {', '.join(wanted)}" if placing.hosts else "")
                + "; hint: start more of them, or say how many tasks each host does (tasks_per_node)"
            )
        return [Share(rank, number, 1) for number, rank in enumerate(chosen[:tasks])]
    if tasks > per_node * len(wanted):
        raise RequestError(
            f"{tasks} tasks are more than {per_node} on each of {len(wanted)} hosts (tasks_per_node); "
            "hint: give more hosts, or more tasks to each"
        )
    shares: list[Share] = []
    first = 0
    for host in wanted:
        count = min(per_node, tasks - first)
        shares += _spread(ranks[host], first, count)
        first += count
    return shares


def _spread(ranks: Sequence[int], first: int, count: int) -> list[Share]:
    """``count`` tasks over the processes of a host, as evenly as they go."""
    shares = []
    for number, rank in enumerate(ranks):
        here = count // len(ranks) + (number < count % len(ranks))
        if here:
            shares.append(Share(rank, first, here))
            first += here
    return shares


def clipped(shares: Sequence[Share], first: int, here: int) -> list[Share]:
    """Of these shares ``tasks`` tasks from ``first`` on: a part of a phase is done where all of it would be."""
    found = []
    for share in shares:
        begin, end = max(share.first, first), min(share.first + share.tasks, first + here)
        if begin < end:
            found.append(Share(share.rank, begin, end - begin))
    return found


def as_runs(shares: Sequence[Share]) -> list[list[int]]:
    """The same in few numbers, for a message: ``[rank, first, here, count]`` stands for so many processes in a row that
    do equally many tasks each."""
    runs: list[list[int]] = []
    for share in shares:
        if runs:
            rank, first, here, count = runs[-1]
            if share == (rank + count, first + count * here, here):
                runs[-1][3] += 1
                continue
        runs.append([*share, 1])
    return runs


def of_runs(runs: Sequence[Sequence[int]]) -> list[Share]:
    """What ``as_runs`` was given."""
    return [Share(rank + n, first + n * here, here) for rank, first, here, count in runs for n in range(count)]


def hosts_of(hosts: Sequence[str], shares: Sequence[Share]) -> list[str]:
    """The host of each task of these shares, by its number from their first."""
    return [hosts[share.rank] for share in shares for _ in range(share.tasks)]
