"""Whether load lines still hold, and agree with what the site file says."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.placement.doctor.complaint import Complaint
from tonnage.placement.doctor.world import World
from tonnage.placement.lines import age_text, line_of
from tonnage.records.load_lines import KeptLine

OLD_S = 90 * 86400.0
"""Storages, their clients and their other users change within a season."""


def kept(world: World) -> Iterator[Complaint]:
    """The newest line of each storage and pattern is recent, and of the kernel that runs now."""
    newest: dict[tuple[str, str, str, int], KeptLine] = {}
    for line in sorted(world.lines, key=lambda line: line.measured_at_s):
        newest[line.target, line.operation, line.access, line.transfer_bytes] = line
    for line in newest.values():
        what = f"the load line of {line.target} ({line.operation}, {line.access})"
        again = "measure it again with `tonnage probe`"
        if world.now_s - line.measured_at_s > OLD_S:
            told = f"{what} was measured {age_text(world.now_s - line.measured_at_s)}"
            yield Complaint(code="old-line", what=told, hint=again, wrong=False)
        elif line.host == world.host and line.kernel and line.kernel != world.kernel:
            told = f"{what} was measured under kernel {line.kernel}, and {world.kernel} runs now"
            yield Complaint(code="other-kernel", what=told, hint=again, wrong=False)


def directories(world: World) -> Iterator[Complaint]:
    """Where lines are kept, there are lines."""
    if world.shared_lines:
        yield Complaint(
            code="lines-elsewhere",
            where=world.loaded.origin("lines"),
            what=f"{world.site.lines} {world.shared_lines}: load lines are kept with each user's own files",
            hint="make it a directory that all users may write (mode 1777), or leave lines out",
            wrong=False,
        )
    for problem in world.line_problems:
        yield Complaint(code="no-line", what=problem, hint="remove it, if it is yours", wrong=False)


def agree(world: World) -> Iterator[Complaint]:
    """What is stated of a server is not what was measured to be untrue."""
    for server in world.site.server:
        found = line_of(world.site, server, None, among=world.lines)
        if found is None:
            continue
        low, high = (found.low, found.high) if isinstance(found, KeptLine) else (found.tasks, found.tasks)
        said = f"{found.tasks} [{low}, {high}]" if isinstance(found, KeptLine) else str(found.tasks)
        if server.line is not None and not low <= server.line.tasks <= high:
            yield Complaint(
                code="stated-line",
                where=world.loaded.origin("line", server=server.name),
                what=f"the load line of {server.name} is stated as {server.line.tasks}, and was measured as {said}",
                hint="leave line out: what was measured counts",
            )
        total = (world.cluster.licences or {}).get(server.licence or "")
        if total is not None and total > high:
            yield Complaint(
                code="many-licences",
                where=world.loaded.origin("licence", server=server.name),
                what=f"{total} jobs may hold the licence {server.licence}, and {server.name} carries {said} tasks",
                hint=f"let the scheduler have {found.tasks} of it",
            )
        elif total is None and server.slots is not None and server.slots > high:
            yield Complaint(
                code="many-slots",
                where=world.loaded.origin("slots", server=server.name),
                what=f"{server.slots} jobs may run beside {server.name} at once, and it carries {said} tasks",
                hint=f"write slots = {found.tasks}, or give its jobs a licence that the scheduler counts",
            )
