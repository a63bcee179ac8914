"""The doors of this room: indices for a decision, and for a person who looks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from tonnage.placement.indices.asking import Asked, ask_all
from tonnage.placement.indices.cache import Cache, Kept
from tonnage.placement.indices.reading import Reading

_GAP_S = 0.5
"""Between two looks where there was none before."""


class Indexed(Protocol):
    """What this room needs to know of a server (``placement.site.Server``)."""

    @property
    def name(self) -> str: ...

    @property
    def indices(self) -> str | None: ...


class Refreshed(Protocol):
    """What it needs to know of the policy (``placement.site.Policy``)."""

    @property
    def index_refresh(self) -> int: ...


def read_indices(servers: Iterable[Indexed], policy: Refreshed, *, now_s: float, wait_ns: int) -> dict[str, Reading]:
    """Server → its reading, for a decision: as kept if that is younger than the policy's ``index_refresh``, else asked.

    No longer than ``wait_ns`` is waited for all of them together. Who does not answer in it is told by the old figures
    with a ``problem``; what it still says is kept for the next caller. A server that was too slow before is asked by a
    process of its own, which outlives this one. A server whose indices the site file does not name is left out.
    """
    cache = Cache()
    asked = [Asked.at(server.name, server.indices) for server in servers if server.indices]
    kept = {one.name: cache.get(one.name, one.address) for one in asked}
    due = [one for one in asked if kept[one.name].is_due(now_s, policy.index_refresh)]
    slow = [one for one in due if one.is_slow(kept[one.name], wait_ns)]
    for one in slow:
        # Whoever looks meanwhile leaves it to that process.
        kept[one.name] = kept[one.name].asked(now_s)
        cache.put(one.name, one.address, kept[one.name])
    if slow:
        from tonnage.placement.indices.apart import ask_apart

        ask_apart(slow)
    kept |= ask_all([one for one in due if one not in slow], kept, cache, wait_ns=wait_ns)
    return {one.name: one.told(kept[one.name], now_s) for one in asked}


def fresh_indices(servers: Iterable[Indexed], *, wait_ns: int, refresh_ns: int = 0) -> dict[str, Reading]:
    """Server → its reading of this moment, for a person who looks: each is asked, twice where rates need it.

    Takes up to ``wait_ns`` for each of the two looks, and half a second between them. Figures younger than
    ``refresh_ns`` are taken as they are kept.
    """
    addresses = {server.name: server.indices for server in servers if server.indices}
    return fresh_indices_at(addresses, wait_ns=wait_ns, refresh_ns=refresh_ns)


def fresh_indices_at(addresses: Mapping[str, str], *, wait_ns: int, refresh_ns: int = 0) -> dict[str, Reading]:
    """The same of server → address."""
    cache = Cache()
    asked = [Asked.at(name, address) for name, address in addresses.items()]
    kept = {one.name: cache.get(one.name, one.address) for one in asked}
    now_s = time.time()

    def is_due(known: Kept) -> bool:
        # Of one look there are no rates, however young it is.
        return known.reading is None or known.again or known.is_due(now_s, refresh_ns)

    due = [one for one in asked if is_due(kept[one.name])]
    kept |= ask_all(due, kept, cache, wait_ns=wait_ns)
    if once := [one for one in due if kept[one.name].again]:
        time.sleep(_GAP_S)
        kept |= ask_all(once, kept, cache, wait_ns=wait_ns)
    return {one.name: one.told(kept[one.name], time.time()) for one in asked}
