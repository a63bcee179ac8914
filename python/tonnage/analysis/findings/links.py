"""Findings about links between hosts, and storages that are reached over them."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.links import Crossing, crossings
from tonnage.analysis.results import Finding, Link
from tonnage.units import bits_text, rate_text, share

LIMITED = 0.9
"""Share of the link from which a storage's figure is the link's."""
ABOVE = 1.05
"""So many times the link is above it, as for every ceiling."""
NOT_ADDITIVE = 0.05
"""The sum of own rates may be so far from the rate while all ran."""
IPERF_BUSY = 0.95
"""Of one processor: iperf3 before 3.16 has one thread."""


def link_crossings(evidence: Evidence) -> list[Crossing]:
    """Returns what crossed a measured link, and how fast."""
    if evidence.simulated or not evidence.links:
        return []
    lasted = dict(evidence.trials.where_set("elapsed_ns").columns("record", "elapsed_ns"))
    file_system = evidence.target.get("file_system")
    return list(crossings(evidence.links, evidence.points, evidence.tasks, lasted, file_system))


def above_link(evidence: Evidence) -> Iterator[Finding]:
    """``above-ceiling`` for what cannot have come over the link."""
    for crossed in link_crossings(evidence):
        if crossed.bytes_per_s > ABOVE * crossed.ceiling_bytes_per_s:
            yield Finding(
                "above-ceiling",
                subject(crossed.point.op, crossed.point.group, crossed.point.tasks),
                f"tasks on {some(list(crossed.hosts), 3)} moved {rate_text(crossed.bytes_per_s)}, above the "
                f"{rate_text(crossed.ceiling_bytes_per_s)} that {_named(crossed)} carried in this run",
                "These bytes did not come over the link: look for a cache on those hosts, or for data that never left "
                "them, and read the cache state of each figure.",
            )


@finding("link-limited")
def link_limited(evidence: Evidence) -> Iterator[Finding]:
    for crossed in link_crossings(evidence):
        part = crossed.bytes_per_s / crossed.ceiling_bytes_per_s
        if LIMITED <= part <= ABOVE:
            yield Finding(
                "link-limited",
                subject(crossed.point.op, crossed.point.group, crossed.point.tasks),
                f"{rate_text(crossed.bytes_per_s)} of {some(list(crossed.hosts), 3)} are {share(part)} of the "
                f"{rate_text(crossed.ceiling_bytes_per_s)} ({bits_text(crossed.ceiling_bytes_per_s)}) of "
                f"{_named(crossed)}",
                "This is the link's figure: a faster storage would show nothing here, and more hosts behind the same "
                "link share it. Measure beside the storage to know what that can do.",
            )


def _named(crossed: Crossing) -> str:
    return f"the link {crossed.link}" if crossed.link else "the link"


@finding("rates-not-additive")
def rates_not_additive(evidence: Evidence) -> Iterator[Finding]:
    for link in evidence.links:
        together = link.point.median
        apart = link.sum_of_own_bytes_per_s / together - 1
        if not link.alone and abs(apart) > NOT_ADDITIVE:
            yield Finding(
                "rates-not-additive",
                subject(link.point.op, link.point.group),
                f"the flows' own rates add up to {bits_text(link.sum_of_own_bytes_per_s)}, and while all ran it was "
                f"{bits_text(together)}: the sum is {share(abs(apart))} {'above' if apart > 0 else 'below'} that",
                "They did not run at the same time throughout: use the figure of all, or a longer duration, in which "
                "beginnings and ends count for less.",
            )


@finding("iperf3-versions")
def iperf3_versions(evidence: Evidence) -> Iterator[Finding]:
    found: dict[str, set[str]] = {}
    for flows in evidence.trials.where_set("network", "flows").column("network", "flows"):
        for flow in flows:
            for end in ("sender", "receiver"):
                if flow[f"{end}_version"]:  # of an imported report one end's is not known
                    found.setdefault(flow[f"{end}_version"], set()).add(flow[end])
    if len(found) > 1:
        versions = "; ".join(f"{version} on {some(sorted(hosts), 3)}" for version, hosts in sorted(found.items()))
        yield Finding(
            "iperf3-versions",
            "network",
            f"the hosts have {len(found)} versions of iperf3: {versions}",
            "Versions differ in threads, buffers and what they count: install one on all hosts, or compare only links "
            "between hosts of equal ones.",
        )


def iperf3_limited(evidence: Evidence) -> Iterator[Finding]:
    """``client-limited`` for links: a program that has no processor left says nothing of the link."""
    for link in evidence.links:
        if busy := _busy_ends(link):
            yield Finding(
                "client-limited",
                subject(link.point.op, link.point.group),
                f"iperf3 used {busy}, at {bits_text(link.point.median)}",
                "This is the limit of iperf3 on that host, not of the link, which may carry more: use iperf3 3.16 or "
                "later with several streams, or several pairs at once.",
            )


def _busy_ends(link: Link) -> str:
    """Single-threaded ends without a processor left."""
    ends = [
        (host, used)
        for flow in link.flows
        for host, used in ((flow.sender, flow.sender_cpu_share), (flow.receiver, flow.receiver_cpu_share))
        if used is not None and IPERF_BUSY <= used <= 1.0 + (1 - IPERF_BUSY)
    ]
    return some([f"{share(used)} of a processor on {host}" for host, used in dict(ends).items()], 3)
