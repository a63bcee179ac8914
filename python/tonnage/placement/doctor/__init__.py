"""Checks what a site file says against the world: each thing that is wrong is one line with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tonnage.placement.doctor import lines, scheduler, servers
from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.world import World, look

__all__ = ["Complaint", "World", "examine", "look"]

_Check = Callable[[World], Iterator[Complaint]]


def _files(world: World) -> Iterator[Complaint]:
    for sentence in world.loaded.passed_over:
        what, hint = own_hint(sentence, "name it with --site")
        yield Complaint(code="file-passed-over", what=what, hint=hint, wrong=False)
    if not world.loaded.sources:
        yield Complaint(
            code="no-site-file",
            what="there is no site file: the file systems' and the scheduler's own words are all that is known",
            hint="write one; see docs/site-file.md",
            wrong=False,
        )


CHECKS: tuple[_Check, ...] = (
    _files,
    scheduler.answers,
    scheduler.hosts,
    scheduler.queues,
    scheduler.slots,
    scheduler.licences,
    scheduler.patterns,
    scheduler.without_hosts,
    scheduler.here,
    servers.names,
    servers.indices,
    servers.mounts,
    lines.kept,
    lines.directories,
    lines.agree,
)


def examine(world: World) -> list[Complaint]:
    """What is wrong first, then notes; each in the order of the checks."""
    found = [complaint for check in CHECKS for complaint in check(world)]
    return sorted(dict.fromkeys(found), key=lambda complaint: not complaint.wrong)
