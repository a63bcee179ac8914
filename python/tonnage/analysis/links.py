"""Links between hosts: what each flow of a ``network`` point got, and the bound for a storage beyond it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.results import Link, LinkFlow, Point
from tonnage.records.line_types import CeilingEntry, TaskLine, TrialLine
from tonnage.records.phase_results import FlowResult
from tonnage.units import plural

_KERNEL = ("nfs", "nfs4", "lustre", "beegfs", "gpfs", "cifs", "smb3", "ceph", "9p", "afs", "panfs", "pvfs2", "wekafs")
_BY_FUSE = ("fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.sshfs", "fuse.mfs", "fuse.rclone")
NETWORKED = frozenset((*_KERNEL, *_BY_FUSE))
"""Types of file systems whose bytes come over a network, as the mount table calls them."""
_READS = {"read", "check"}


def links_of(points: Sequence[Point], trials: Sequence[TrialLine]) -> tuple[Link, ...]:
    """Returns a link for each ``network`` point, with its flows; medians over the repetitions."""
    lines = {line["record"]: line for line in trials if line.get("network")}
    return tuple(
        _link(point, [lines[record] for record in point.records]) for point in points if point.kind == "network"
    )


def _link(point: Point, lines: Sequence[TrialLine]) -> Link:
    networks = [network for line in lines if (network := line["network"])]
    flows = tuple(_flow([network["flows"][task] for network in networks], lines) for task in range(point.tasks))
    return Link(
        point=point,
        flows=flows,
        sum_of_own_bytes_per_s=statistics.median(network["sum_of_own_bytes_per_s"] for network in networks),
        fairness=jain([flow.window_bytes_per_s for flow in flows]) if len(flows) > 1 else None,
    )


def _flow(flows: Sequence[FlowResult], lines: Sequence[TrialLine]) -> LinkFlow:
    """One flow over all repetitions."""
    again = [flow["retransmits"] for flow in flows if flow["retransmits"] is not None]
    trips = [flow["rtt_mean_ns"] for flow in flows if flow["rtt_mean_ns"]]
    windows = [
        flow["window_bytes"] * 1e9 / elapsed_ns
        for flow, line in zip(flows, lines, strict=True)
        if (elapsed_ns := line["elapsed_ns"])
    ]
    return LinkFlow(
        sender=flows[0]["sender"],
        receiver=flows[0]["receiver"],
        bandwidth_bytes_per_s=statistics.median(flow["bandwidth_bytes_per_s"] for flow in flows),
        window_bytes_per_s=statistics.median(windows),
        sent_bytes=sum(flow["sent_bytes"] for flow in flows),
        received_bytes=sum(flow["received_bytes"] for flow in flows),
        retransmits=sum(again) if len(again) == len(flows) else None,
        rtt_mean_ns=int(statistics.median(trips)) if trips else None,
        sender_cpu_share=_most(flow["sender_cpu_share"] for flow in flows),
        receiver_cpu_share=_most(flow["receiver_cpu_share"] for flow in flows),
    )


def _most(shares: Iterable[float | None]) -> float | None:
    return max((share for share in shares if share is not None), default=None)


def jain(rates: Sequence[float]) -> float:
    """Fairness of shares (Jain, Chiu and Hawe 1984): 1 where all are equal, 1/n where one has it all."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


@dataclass(frozen=True, slots=True)
class Crossing:
    """What of a storage point came over a link, and what that link was measured to carry."""

    point: Point
    link: str
    """Name of its workload, or empty."""
    hosts: tuple[str, ...]
    """On whose tasks' account the bytes are."""
    bytes_per_s: float
    """Median over the repetitions."""
    ceiling_bytes_per_s: float


def ceilings_of(links: Sequence[Link]) -> tuple[CeilingEntry, ...]:
    """Returns the most that each ``network`` workload carried, as entries of ``ceilings``."""
    best: dict[str, Link] = {}
    for link in links:
        known = best.get(link.point.workload)
        if _between_hosts(link) and (known is None or link.point.median > known.point.median):
            best[link.point.workload] = link
    return tuple(
        {
            "name": f"link-{workload}" if workload else "link",
            "bytes_per_s": round(link.point.median),
            "operations_per_s": None,
            "tasks": None,
            "source": f"iperf3, {plural(link.point.setting['streams'], 'stream')} each: "
            + ", ".join(f"{flow.sender} to {flow.receiver}" for flow in link.flows),
        }
        for workload, link in best.items()
    )


def _between_hosts(link: Link) -> bool:
    """A loopback is no link."""
    return all(flow.sender != flow.receiver for flow in link.flows)


def crossings(
    links: Sequence[Link],
    points: Sequence[Point],
    tasks: Mapping[str, Sequence[TaskLine]],
    elapsed_ns: Mapping[str, int],
    file_system: str | None,
) -> Iterator[Crossing]:
    """Yields each storage point that crossed a measured link. ``elapsed_ns`` by record; ``file_system``: types of the
    target's, joined by commas."""
    networked = any(kind.strip() in NETWORKED for kind in (file_system or "").split(","))
    by_workload: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        if _between_hosts(link):
            by_workload[link.point.workload].append(link)
    for name, measured in by_workload.items():
        carries = measured[0].point.setting.get("carries")
        here = {_ends(pair)[0] for link in measured for pair in link.point.setting["pairs"]}
        for point in points:
            carried = point.workload in carries if carries is not None else networked
            if point.kind in ("network", "command") or not carried:
                continue
            hosts = {task["host"] for record in point.records for task in tasks.get(record, ())} & here
            ceiling = _ceiling(measured, hosts, back=point.op in _READS)
            if hosts and ceiling is not None:
                rates = [_crossed(tasks.get(record, ()), hosts) * 1e9 / elapsed_ns[record] for record in point.records]
                yield Crossing(point, name, tuple(sorted(hosts)), statistics.median(rates), ceiling)


def _crossed(tasks: Sequence[TaskLine], hosts: set[str]) -> int:
    return sum(task["bytes"] for task in tasks if task["host"] in hosts and task.get("role", "work") == "work")


def _ends(pair: str) -> tuple[str, str]:
    first, _, second = pair.partition(":")
    return first, second


def _ceiling(links: Sequence[Link], hosts: set[str], *, back: bool) -> float | None:
    """The lower of two bounds: the most that pairs at once with all of these hosts had, and what each host's pairs had
    alone, added up. None where neither was measured. Ways that were not measured count as those that were."""
    way = "receive" if back else "send"
    mine = [link for link in links if link.point.setting["direction"] == way] or [
        link for link in links if link.point.setting["direction"] != "both"
    ]
    together = [link.point.median for link in mine if hosts <= {_ends(p)[0] for p in link.point.setting["pairs"]}]
    alone: dict[str, float] = {}
    for link in mine:
        if len(link.point.setting["pairs"]) == 1:
            first = _ends(link.point.setting["pairs"][0])[0]
            alone[first] = max(link.point.median, alone.get(first, 0.0))
    bounds = [max(together)] if together else []
    if hosts and hosts <= alone.keys():
        bounds.append(sum(alone[host] for host in hosts))
    return min(bounds, default=None)
