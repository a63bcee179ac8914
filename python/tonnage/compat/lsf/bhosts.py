"""``bhosts``."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.scheduler import ClusterHost
from tonnage.compat.front_end import Voice, parse_arguments
from tonnage.compat.lsf.bqueues import table
from tonnage.compat.lsf.job_texts import UNKNOWN
from tonnage.compat.lsf.options import BHOSTS
from tonnage.compat.lsf.select_jobs import FAILED
from tonnage.placement.jobs import asked_scheduler

_HEADINGS = ("HOST_NAME", "STATUS", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV")
_WIDTHS = (-18, -15, 4, 6, 6, 6, 6, 6, 6)


def run(typed: Sequence[str], voice: Voice) -> int:
    """Exit code: 255 where one of the hosts is not there."""
    given = parse_arguments(BHOSTS, typed)
    names = given.texts("names")
    wide = bool(given["-w"])
    hosts = asked_scheduler(None, None).hosts()
    found = [host for host in hosts if not names or host.name in names]
    missing = [name for name in names if name not in {host.name for host in hosts}]
    if found:
        voice.say(table([_HEADINGS, *(_cells(host, wide=wide) for host in found)], _WIDTHS, wide=wide))
    for name in missing:
        voice.tell(f"{name}: Bad host name")
    return FAILED if missing or not found else 0


def _cells(host: ClusterHost, *, wide: bool) -> tuple[str, ...]:
    full = host.slots > 0 and host.slots_used >= host.slots
    status = "unavail" if not host.up else "ok" if not full else "closed_Full" if wide else "closed"
    used = str(host.slots_used)
    return (host.name, status, UNKNOWN, str(host.slots), used, used, *[UNKNOWN] * 3)
