"""Other names of a path: a site file may spell a directory through a link."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from tonnage.machine.careful import carefully
from tonnage.placement.site.model import Site
from tonnage.placement.where.servers import matches


def other_names(typed: str, real: str, site: Site, *, timeout_s: float) -> tuple[str, ...]:
    """``real`` as the site file's patterns spell it, of those patterns that fit the path as it was typed.

    A pattern that leads elsewhere (``typed`` leaves it by a link) gives none. Where one does not answer in time,
    ``real`` is all there is.
    """
    typed = os.path.normpath(typed)
    if typed == real:
        return ()
    patterns = [pattern for server in site.server for pattern in server.holds if pattern.startswith("/")]
    begins = sorted({_begin(pattern) for pattern in patterns if matches(typed, pattern)})
    found: list[str] = []
    with suppress(OSError):  # TimeoutError is one
        ends = carefully(lambda: [os.path.realpath(begin) for begin in begins], begins, timeout_s=timeout_s)
        for begin, end in zip(begins, ends, strict=True):
            if begin != end and (real == end or real.startswith(end.rstrip("/") + "/")):
                found.append(os.path.normpath(f"{begin}/{real[len(end) :]}"))
    return tuple(found)


def _begin(pattern: str) -> str:
    """The directory that a pattern names without wildcards."""
    whole = re.match(r"[^*?[]*", pattern)
    begin = whole[0] if whole else ""
    return begin.rstrip("/") or "/" if begin == pattern else begin.rpartition("/")[0] or "/"
