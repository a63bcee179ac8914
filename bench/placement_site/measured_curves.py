"""Load curves that were measured: throughput of a storage over the number of tasks, as a share of its plateau.

Each says where its figures come from. Between two numbers of tasks that were measured a curve is straight; beyond the
last one it stays as it was there, which flatters whoever runs many at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tonnage.published import figures

RESULTS = Path(__file__).resolve().parents[1] / "results"
WITHIN = 0.95
"""A load line is the smallest number of tasks that reaches so much of the plateau (docs/design.md)."""


@dataclass(frozen=True, slots=True)
class Law:
    """One measured curve."""

    name: str
    source: str
    tasks: tuple[int, ...]
    """Numbers of tasks that were measured, rising."""
    rates: tuple[float, ...]
    """Throughput there, in any unit."""

    def shares(self) -> tuple[float, ...]:
        """Throughput as a share of the plateau, the highest that was measured, with 0, 1, 2, … tasks, up to the most
        that were measured."""
        every = np.arange(self.tasks[-1] + 1)
        found = np.interp(every, (0, *self.tasks), (0.0, *self.rates)) / max(self.rates)
        return tuple(found.tolist())

    def line(self) -> int:
        """Returns the load line in tasks."""
        return next(tasks for tasks, share in enumerate(self.shares()) if share >= WITHIN)


def throttled() -> Law:
    """A loop device whose speed the kernel was told: 200 MB/s, one task already has it all.

    From ``bench/results/2026-11-23-epyc-2c/throttled.json``: every one of its five probes of reading found a line of
    one task, and no number up to eight that lost throughput.
    """
    return Law("throttled device", "bench/results/2026-11-23-epyc-2c/throttled.md", (1, 8), (200.0, 200.0))


def virtual_disk() -> Law:
    """Writes to the ext4 disk of a virtual machine, by a probe of docs/concepts/result.md: over three tasks lose."""
    tasks, rates = (1, 2, 3, 4, 8), (2.50, 2.88, 2.90, 2.38, 2.41)
    return Law("ext4 on a virtual disk, write", "docs/concepts/result.md, probe of 2026-11-21", tasks, rates)


def lcls_limits() -> Law:
    """Published (LCLS fast feedback, Lustre on NVMe): 1 GB/s by one process on one OST, 3 GB/s by many.

    The number of processes that reach 3 GB/s was not published: three, if each had its 1 GB/s.
    """
    limits = {row["what"]: float(row["value"]) for row in figures("lcls-ffb")["lcls-ffb-limits"]}
    one, many = limits["single process to one OST"], limits["many processes to one OST"]
    return Law("one Lustre OST on NVMe", "python/tonnage/published/lcls-ffb-limits.csv", (1, 3), (one, many))


def gluster() -> Law:
    """GlusterFS on a device of 60 MB/s and 4 ms, jobs that compress beside it 1 to 50 wide (medians of two rounds).

    From ``bench/results/2026-11-22-epyc-2c/placement.json``.
    """
    told = json.loads((RESULTS / "2026-11-22-epyc-2c" / "placement.json").read_text(encoding="utf-8"))
    seconds = {
        int(cell.split()[1]): median(taken)
        for cell, taken in told["elapsed_s"].items()
        if cell.startswith("near, ") and cell.endswith(" wide")
    }
    tasks = tuple(sorted(seconds))
    rates = tuple(1 / seconds[one] for one in tasks)
    return Law("GlusterFS of the lab", "bench/results/2026-11-22-epyc-2c/placement.md", tasks, rates)


def lcls_devices(devices: int) -> Law:
    """Returns ``examples/lcls-ffb.toml`` on 4 or 8 devices of 100 MB/s, 1 to 32 writers, MB/s. From
    docs/experiments/lcls-ffb.md, the run of 2026-11-22.

    From docs/experiments/lcls-ffb.md, the run of 2026-11-22.
    """
    rates = {4: (140.0, 239.0, 376.0, 408.0, 414.0, 406.0), 8: (124.0, 243.0, 489.0, 748.0, 809.0, 811.0)}[devices]
    source = "docs/experiments/lcls-ffb.md, run of 2026-11-22"
    return Law(f"lcls-ffb on {devices} devices", source, (1, 2, 4, 8, 16, 32), rates)


def iobsub() -> Law:
    """Published (iobsub): 50 copies of bwa took 45 minutes 8-wide on the file server, and 63 minutes 50-wide over NFS.

    One run each, and the network is in the second: a bound for what 50 at once cost. Below eight each is taken to have
    its full rate; nobody measured it.
    """
    runs = {row["concurrency"]: float(row["real_s"]) for row in figures("iobsub")["iobsub-runs"] if "bwa" in row["job"]}
    wide, narrow = 1 / runs["50"], 1 / runs["8"]
    return Law(
        "iobsub's file server", "python/tonnage/published/iobsub-runs.csv", (1, 8, 50), (narrow / 8, narrow, wide)
    )


def ceph_read() -> Law:
    """Published (Ceph, ten disks, 1 GigE): reads of 1 MiB by 1 to 32 tasks; 32 have a quarter less than 16.

    Means of ten repetitions that scatter by 20 to 35 %.
    """
    rows = figures("ceph-snapshots")["ceph-mode4-ior"]
    found = {
        int(row["tasks"]): float(row["mean_MiB_per_s"])
        for row in rows
        if (row["op"], row["transfer_size_bytes"]) == ("read", "1048576")
    }
    source = "python/tonnage/published/ceph-mode4-ior.csv"
    return Law("Ceph, reads of 1 MiB", source, tuple(found), tuple(found.values()))


def measured_laws() -> tuple[Law, ...]:
    """Returns all of them, by their load lines."""
    every = (
        throttled(), virtual_disk(), lcls_limits(), gluster(), lcls_devices(4), iobsub(), lcls_devices(8), ceph_read(),
    )  # fmt: skip
    return tuple(sorted(every, key=Law.line))
