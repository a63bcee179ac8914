"""Whether the scheduler knows what the site file says of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.world import Refused, World
from tonnage.placement.site import Server


def answers(world: World) -> Iterator[Complaint]:
    """It is there."""
    if world.cluster.problem:
        why, hint = own_hint(
            world.cluster.problem,
            "hosts, queues and licences were not looked at; ask again when it answers, or set scheduler",
        )
        where = world.loaded.origin("scheduler")
        yield Complaint(code="scheduler-silent", where=where, what=f"the scheduler tells nothing: {why}", hint=hint)


def hosts(world: World) -> Iterator[Complaint]:
    """It knows the hosts beside each server, and they are up."""
    if world.cluster.problem:
        return
    for server in world.site.server:
        where = world.loaded.origin("hosts", server=server.name)
        for name in server.hosts:
            known = world.cluster.hosts.get(name)
            if known is None:
                yield Complaint(
                    code="unknown-host",
                    where=where,
                    what=f"{world.cluster.name} knows no host {name!r}, which is said to be beside {server.name}",
                    hint=_near(name, world.cluster.hosts) or "write it as `tonnage queues` does",
                )
            elif not known.up:
                reason = f" ({known.reason})" if known.reason else ""
                yield Complaint(
                    code="host-down",
                    where=where,
                    what=f"{name}, beside {server.name}, takes no jobs{reason}",
                    hint="bring it back, or leave it out of hosts",
                )


def queues(world: World) -> Iterator[Complaint]:
    """Its queue is there, open, and has one of the hosts."""
    if world.cluster.problem:
        return
    for server in world.site.server:
        if server.queue is None:
            continue
        where = world.loaded.origin("queue", server=server.name)
        queue = world.cluster.queues.get(server.queue)
        if queue is None:
            yield Complaint(
                code="unknown-queue",
                where=where,
                what=f"{world.cluster.name} has no queue {server.queue!r}",
                hint=_near(server.queue, world.cluster.queues) or "see `tonnage queues`",
            )
            continue
        if not queue.open:
            yield Complaint(
                code="queue-closed",
                where=where,
                what=f"the queue {queue.name} takes no jobs",
                hint="open it, or give another one",
            )
        known = [name for name in server.hosts if name in world.cluster.hosts]
        if known and queue.hosts and not set(known) & set(queue.hosts):
            yield Complaint(
                code="queue-elsewhere",
                where=where,
                what=f"the queue {queue.name} has none of the hosts beside {server.name} ({', '.join(known)})",
                hint="give the queue that has them",
            )


def slots(world: World) -> Iterator[Complaint]:
    """Its hosts have as many slots as are promised."""
    for server in world.site.server:
        known = [world.cluster.hosts[name] for name in server.hosts if name in world.cluster.hosts]
        there = sum(host.slots for host in known)
        if server.slots is not None and known and server.slots > there:
            yield Complaint(
                code="few-slots",
                where=world.loaded.origin("slots", server=server.name),
                what=f"{server.slots} slots are said to be beside {server.name}, and its hosts have {there}",
                hint=f"write slots = {there}, or leave it out",
            )


def licences(world: World) -> Iterator[Complaint]:
    """It hands out the licences that jobs are to hold."""
    told = world.cluster.licences
    for server in world.site.server if told is not None else ():
        if told is not None and server.licence is not None and server.licence not in told:
            yield Complaint(
                code="unknown-licence",
                where=world.loaded.origin("licence", server=server.name),
                what=f"{world.cluster.name} has no licence {server.licence!r}",
                hint=_near(server.licence, told) or f"make one there: as many as {server.name} carries tasks",
            )


def patterns(world: World) -> Iterator[Complaint]:
    """Every pattern of a link matches something."""
    servers = [server.name for server in world.site.server]
    for entry in world.site.access:
        for pattern in entry.servers:
            if not any(fnmatchcase(name, pattern) for name in servers) and pattern != "*":
                yield _matches_nothing("servers", pattern, servers, world)
        for pattern in entry.hosts if world.cluster.hosts else ():
            if not any(fnmatchcase(name, pattern) for name in world.cluster.hosts):
                yield _matches_nothing("hosts", pattern, world.cluster.hosts, world)


def _matches_nothing(kind: str, pattern: str, known: Iterable[str], world: World) -> Complaint:
    return Complaint(
        code="idle-pattern",
        where=world.loaded.origin("access"),
        what=f"{pattern!r} among the {kind} of [[access]] matches none",
        hint=_near(pattern, known) or "leave the entry out",
    )


def without_hosts(world: World) -> Iterator[Complaint]:
    """Somewhere beside each server a job can run."""
    for server in world.site.server:
        if not server.hosts:
            yield Complaint(
                code="no-hosts",
                where=world.loaded.origin("name", server=server.name),
                what=f"{server.name} has no hosts beside it: jobs only keep to its load",
                hint="add hosts, if there are any",
                wrong=False,
            )


def here(world: World) -> Iterator[Complaint]:
    """A job that is submitted from the working directory finds a place."""
    refused = world.refused
    if refused is None:
        return
    yield Complaint(
        code="refused-here",
        what=f"`submit` takes no job from {refused.path}: {refused.why}",
        hint=refused.hint or f"{_way_out(refused, world)}, or submit with --anywhere",
    )


def _way_out(refused: Refused, world: World) -> str:
    name = refused.servers[0] if refused.servers else "SERVER"
    if refused.known:
        where = world.loaded.origin("hosts", server=name) or world.loaded.origin("name", server=name)
        return f"bring a host beside {name} back, or add one to its hosts{f' ({where})' if where else ''}"
    add = f'add [[server]] with name = "{name}" and the hosts beside it that the scheduler knows'
    if refused.own_disk and world.site.server:
        # Most likely a home or a temporary directory.
        return f"cd to the data of {' or '.join(_some(world.site.server))}, {add}"
    return add


def _some(servers: Sequence[Server], most: int = 3) -> list[str]:
    """The first names."""
    return [server.name for server in servers[:most]]


def _near(wrong: str, known: Iterable[str]) -> str | None:
    """There may be ten thousand of them: only the one that was probably meant."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else None
