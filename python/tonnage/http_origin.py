"""Checks that an HTTP request comes from a user or a scraper and not from a page of another site. A browser sends
requests of such a page even where the page may not read the answer: with the host name of that site, where DNS was made
to point here, and with headers that name the origin of the script.
"""

from __future__ import annotations

import ipaddress
import platform
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit


def own_names(*more: str) -> frozenset[str]:
    """What a server on this host may be called, beside its addresses."""
    node = platform.node()
    return frozenset(name.lower() for name in ("localhost", node, node.partition(".")[0], *more) if name)


def refusal(headers: Mapping[str, str], names: Collection[str]) -> tuple[int, str] | None:
    """An HTTP status and a sentence; None for a request that may be answered. Headers by their names in lower case."""
    host = headers.get("host", "")
    if not _is_ours(host, names):
        return 421, "this server has another name; use the address that it printed"
    if headers.get("sec-fetch-mode") == "navigate":
        return None
    is_foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    if is_foreign or not _is_same(headers.get("origin"), host):
        return 403, "other sites may link here, and no more"
    return None


def _is_same(origin: str | None, host: str) -> bool:
    """Whether a request is from a page of this server; requests without a script have no such header."""
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_ours(host: str, names: Collection[str]) -> bool:
    """A page of elsewhere whose name was made to point here still asks under that name."""
    name = host.lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in names
    return True
