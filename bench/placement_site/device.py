"""A server's devices and its link, shared by the jobs that read from it at the moment."""

from __future__ import annotations

import heapq

from placement_site.site_model import FileServer


class Device:
    """Fair sharing in two classes: jobs beside it, and jobs far from it, which share its link as well.

    Within a class all jobs get bytes at one rate, so that each ends when the class has been given, in all, what it had
    been given when the job came plus the job's bytes: one heap a class, and no job is touched while it waits.
    """

    __slots__ = ("_given", "_heaps", "_link_bytes_per_s", "_now_s", "_rates", "_server", "version")

    def __init__(self, server: FileServer, link_bytes_per_s: float) -> None:
        self._server, self._link_bytes_per_s = server, link_bytes_per_s
        self._heaps: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])
        self._given = [0.0, 0.0]
        self._rates = [0.0, 0.0]
        self._now_s = 0.0
        self.version = 0
        """Changes with the next end: an event of another version is out of date."""

    def __len__(self) -> int:
        return len(self._heaps[0]) + len(self._heaps[1])

    def add(self, now_s: float, job: int, size: float, far: bool) -> None:
        """A job begins to read ``size`` bytes."""
        self._advance(now_s)
        heapq.heappush(self._heaps[far], (self._given[far] + size, job))
        self._share()

    def next_end_s(self) -> float | None:
        """When the next job has its bytes, if nobody comes or goes until then."""
        near, far = self._heaps
        soonest: float | None = None
        if near:
            soonest = self._now_s + max(0.0, near[0][0] - self._given[0]) / self._rates[0]
        if far:
            ends_s = self._now_s + max(0.0, far[0][0] - self._given[1]) / self._rates[1]
            soonest = ends_s if soonest is None or ends_s < soonest else soonest
        return soonest

    def take_ended(self, now_s: float) -> list[int]:
        """The jobs that have their bytes now; they are gone from here."""
        self._advance(now_s)
        ended = []
        for heap, given in zip(self._heaps, self._given, strict=True):
            # Jobs read gigabytes: what the clock's rounding leaves of one, some bytes, is no time at all.
            while heap and heap[0][0] <= given + 4096.0:
                ended.append(heapq.heappop(heap)[1])
        self._share()
        return ended

    def _advance(self, now_s: float) -> None:
        passed_s = now_s - self._now_s
        self._now_s = now_s
        self._given[0] += passed_s * self._rates[0]
        self._given[1] += passed_s * self._rates[1]

    def _share(self) -> None:
        """What each class gets from now on: the device in equal parts, the link in equal parts to those far away, and
        what the link leaves of their part of the device to those who are near."""
        near, far = len(self._heaps[0]), len(self._heaps[1])
        self.version += 1
        if not near + far:
            self._rates = [0.0, 0.0]
            return
        rates = self._server.rates
        whole = rates[near + far] if near + far < len(rates) else rates[-1]
        far_rate = min(whole / (near + far), self._link_bytes_per_s / far) if far else 0.0
        near_rate = min(rates[1], (whole - far * far_rate) / near) if near else 0.0
        self._rates = [near_rate, far_rate]
