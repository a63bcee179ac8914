"""A job in LSF's words: its state, its hosts, its name, its times."""

from __future__ import annotations

import time

from tonnage.cluster.scheduler import Job, State

UNKNOWN = "-"
STATES: dict[State, str] = {
    "pending": "PEND",
    "running": "RUN",
    "suspended": "SUSP",
    "done": "DONE",
    "failed": "EXIT",
    "cancelled": "EXIT",
    "unknown": "UNKWN",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def when(at_s: float | None) -> str:
    """Formats seconds since 1970 as ``Nov 21 20:26``, by this host's clock."""
    if at_s is None:
        return UNKNOWN
    moment = time.localtime(at_s)
    # Not strftime's %b, which is another word in every language.
    return f"{_MONTHS[moment.tm_mon - 1]} {moment.tm_mday:2} {moment.tm_hour:02}:{moment.tm_min:02}"


def hosts(job: Job) -> str:
    """``4*rcss1`` are four slots of one host, ``a:b`` two hosts."""
    if not job.hosts:
        return UNKNOWN
    if len(job.hosts) == 1 and job.slots > 1:
        return f"{job.slots}*{job.hosts[0]}"
    return ":".join(job.hosts)


def name(job: Job) -> str:
    """``align[3]`` is a copy, ``49*align`` are as many that wait."""
    copy = "" if job.copy is None else f"[{job.copy}]"
    several = f"{job.count}*" if job.count > 1 else ""
    return f"{several}{job.name or UNKNOWN}{copy}"
