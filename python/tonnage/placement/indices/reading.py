"""One server's load indices at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tonnage.placement.indices.host import NOT_TOLD, Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read of one server. Rates are over the time between two looks at its counters; None is unknown."""

    server: str
    source: str
    """``node_exporter``, ``proc`` or ``ssh``; empty where the site file names none of them."""
    at_s: float
    """When, in seconds since 1970, by this host's clock."""
    ut_permille: int | None = None
    """CPU time in use, of all CPUs; waiting for I/O is not use."""
    bio_per_s: float | None = None
    """Block device operations, of whole devices (``devices.counted``)."""
    bio_bytes_per_s: int | None = None
    rpc_per_s: float | None = None
    """NFS server calls."""
    pressure_permille: int | None = None
    """Time in which some task waited for I/O (PSI ``io some``): between the two looks, or the kernel's average over
    10 s where it tells that."""
    pages_per_s: float | None = None
    """Moved from and to swap space."""
    host: Host = NOT_TOLD
    cpus: int | None = None
    clock_ahead_s: float | None = None
    """The server's clock less this host's."""
    problem: str | None = None
    """Why there is nothing (new): one sentence; then the figures are those of ``at_s``, or None."""

    def age_s(self, now_s: float) -> float:
        """How old it is."""
        return max(0.0, now_s - self.at_s)

    def is_stale(self, now_s: float, age_ns: int) -> bool:
        """Whether it tells nothing of the present: no figures, or older than ``age_ns`` (the policy's index_age)."""
        return self.ut_permille is None or self.age_s(now_s) * 1e9 > age_ns

    def as_dict(self) -> dict[str, Any]:
        """As the cache keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Reading:
        """TypeError where it was not kept by ``as_dict``."""
        return cls(**{**kept, "host": Host.from_dict(kept.get("host", {}))})
