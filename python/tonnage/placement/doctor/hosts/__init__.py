"""Checks hosts that are to measure together: each thing that would spoil it is one line with what to do."""

from __future__ import annotations

from tonnage.placement.doctor.complaint import Complaint
from tonnage.placement.doctor.hosts import alike, links, own, target
from tonnage.placement.doctor.hosts.look import Host, Link, Party, look
from tonnage.placement.doctor.hosts.names import named

__all__ = ["Complaint", "Host", "Link", "Party", "examine", "look"]

CHECKS = (
    own.there,
    alike.names,
    own.clock,
    target.there,
    target.writable,
    target.same,
    target.options,
    target.space,
    target.direct,
    links.there,
    links.even,
    alike.systems,
    alike.hardware,
    alike.settings,
    alike.tools,
    own.load,
    own.memory,
    own.clock_rate,
    own.files,
    own.uring,
)


def examine(party: Party) -> list[Complaint]:
    """What is wrong first, then notes; each in the order of the checks. What is so on several hosts is one line."""
    merged: dict[tuple[str, str, str, bool], list[str]] = {}
    for found in (found for check in CHECKS for found in check(party)):
        merged.setdefault((found.code, found.what, found.hint, found.wrong), []).extend(
            [found.where] if found.where else []
        )
    complaints = [
        Complaint(code=code, what=what, hint=hint, wrong=wrong, where=named(hosts) or None)
        for (code, what, hint, wrong), hosts in merged.items()
    ]
    return sorted(complaints, key=lambda complaint: not complaint.wrong)
