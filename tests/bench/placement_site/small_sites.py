"""Small sites for tests, with curves that nobody measured."""

from __future__ import annotations

from placement_site.jobs import Jobs, Submission
from placement_site.measured_curves import Law
from placement_site.site_model import FileServer, SiteModel

MB = 1e6
FLAT = Law("flat", "made up", (1, 4), (1.0, 4.0))
"""Four tasks reach the plateau; more share it."""
FALLING = Law("falling", "made up", (1, 2, 4), (1.0, 2.0, 1.0))
"""Two tasks reach the plateau; four have half of it."""


def small(*laws: Law, hosts: int = 10, beside: int = 1, link_bytes_per_s: float = 150 * MB) -> SiteModel:
    """A server for each law, whose single task gets 100 MB/s."""
    servers = tuple(FileServer.of(law, 100 * MB * max(law.rates) / law.rates[0]) for law in laws or (FLAT,))
    return SiteModel(servers=servers, hosts=hosts, beside=beside, link_bytes_per_s=link_bytes_per_s)


def arrays(world: SiteModel, *told: tuple[float, int, tuple[int, ...], float, float]) -> Jobs:
    """Submissions of (arrival in s, jobs, servers that hold the data, bytes and seconds of computing of each job).

    All computing comes after the reading; every user tells the demand, and there is one user.
    """
    submissions, of, size, cpu_s, alone_s = [], [], [], [], []
    for number, (at_s, count, holders, each_bytes, each_s) in enumerate(told):
        reads_s = each_bytes / world.servers[holders[0]].single_bytes_per_s
        submissions.append(
            Submission(
                at_s=at_s,
                first=len(of),
                count=count,
                array=count > 1,
                holders=holders,
                user=0,
                io_share=round(reads_s / (reads_s + each_s), 3),
                profiled=True,
            )
        )
        of += [number] * count
        size += [each_bytes] * count
        cpu_s += [each_s] * count
        alone_s += [reads_s + each_s] * count
    return Jobs(
        submissions=tuple(submissions), of=of, bytes=size, before_s=[0.0] * len(of), after_s=cpu_s, alone_s=alone_s
    )
