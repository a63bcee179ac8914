"""The site of a simulation: hosts, file servers with measured load curves, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placement_site.measured_curves import Law, measured_laws

DAY_S = 86_400.0
MONTH_S = 30 * DAY_S


@dataclass(frozen=True, slots=True)
class FileServer:
    """A server, whose devices follow a measured law."""

    law: Law
    plateau_bytes_per_s: float
    line: int
    """Its load line in tasks, as a probe would find it."""
    rates: tuple[float, ...]
    """Bytes per second with so many tasks; more than it holds have its last one."""

    @property
    def single_bytes_per_s(self) -> float:
        """Of one task alone beside it."""
        return self.rates[1]

    @classmethod
    def of(cls, law: Law, plateau_bytes_per_s: float) -> FileServer:
        """Returns a server of this plateau."""
        rates = tuple(share * plateau_bytes_per_s for share in law.shares())
        return cls(law, plateau_bytes_per_s, law.line(), rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteModel:
    """A job takes a whole host. ``beside`` hosts are beside each server; the rest are beside none."""

    servers: tuple[FileServer, ...]
    hosts: int = 10_000
    beside: int = 32
    link_bytes_per_s: float = 1.25e9
    """Of a server's way to all hosts that are not beside it (10 Gbit/s), which their jobs share."""

    def __post_init__(self) -> None:
        if len(self.servers) * self.beside >= self.hosts:
            raise ValueError("more hosts are beside servers than there are hosts")

    @property
    def hosts_beside_none(self) -> int:
        """Hosts that are beside no server."""
        return self.hosts - len(self.servers) * self.beside

    @property
    def plateau_bytes_per_s(self) -> float:
        """Of all servers together."""
        return sum(server.plateau_bytes_per_s for server in self.servers)


def draw_site(*, servers: int = 200, hosts: int = 10_000, seed: int = 1, laws: Sequence[Law] = ()) -> SiteModel:
    """Each server draws one of the measured laws, and a plateau around 1 GB/s (lognormal, sigma 0.5)."""
    chance = np.random.default_rng([seed, 1])
    known = tuple(laws) or measured_laws()
    plateaus = 1e9 * chance.lognormal(0.0, 0.5, servers)
    drawn = chance.integers(0, len(known), servers)
    found = (FileServer.of(known[law], rate) for law, rate in zip(drawn.tolist(), plateaus.tolist(), strict=True))
    return SiteModel(servers=tuple(found), hosts=hosts)
