"""Checks a site file against the scheduler, the servers, the mounts and the load lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from tonnage.placement.doctor import Complaint, own_hint
from tonnage.placement.doctor.site_facts import Refused, SiteFacts
from tonnage.placement.server_load_lines import age_text, line_of
from tonnage.placement.site import Server
from tonnage.placement.where import servers_of
from tonnage.records.load_line_files import KeptLine
from tonnage.toml_documents import near_match

CLOCK_S = 2.0
"""Clocks that differ by more make ages of indices, and of files, mean nothing."""
OLD_S = 90 * 86400.0
"""Storages, their clients and their other users change within a season."""
_Check = Callable[[SiteFacts], Iterator[Complaint]]


def _scheduler_answers(facts: SiteFacts) -> Iterator[Complaint]:
    """It is there."""
    if facts.cluster.problem:
        why, hint = own_hint(
            facts.cluster.problem,
            "hosts, queues and licences were not looked at; ask again when it answers, or set scheduler",
        )
        where = facts.loaded.origin("scheduler")
        yield Complaint(code="scheduler-silent", where=where, what=f"the scheduler tells nothing: {why}", hint=hint)


def _known_hosts(facts: SiteFacts) -> Iterator[Complaint]:
    """It knows the hosts beside each server, and they are up."""
    if facts.cluster.problem:
        return
    for server in facts.site.server:
        where = facts.loaded.origin("hosts", server=server.name)
        for name in server.hosts:
            known = facts.cluster.hosts.get(name)
            if known is None:
                yield Complaint(
                    code="unknown-host",
                    where=where,
                    what=f"{facts.cluster.name} knows no host {name!r}, which is said to be beside {server.name}",
                    hint=near_match(name, facts.cluster.hosts) or "write it as `tonnage queues` does",
                )
            elif not known.up:
                reason = f" ({known.reason})" if known.reason else ""
                yield Complaint(
                    code="host-down",
                    where=where,
                    what=f"{name}, beside {server.name}, takes no jobs{reason}",
                    hint="bring it back, or leave it out of hosts",
                )


def _known_queues(facts: SiteFacts) -> Iterator[Complaint]:
    """Its queue is there, open, and has one of the hosts."""
    if facts.cluster.problem:
        return
    for server in facts.site.server:
        if server.queue is None:
            continue
        where = facts.loaded.origin("queue", server=server.name)
        queue = facts.cluster.queues.get(server.queue)
        if queue is None:
            yield Complaint(
                code="unknown-queue",
                where=where,
                what=f"{facts.cluster.name} has no queue {server.queue!r}",
                hint=near_match(server.queue, facts.cluster.queues) or "see `tonnage queues`",
            )
            continue
        if not queue.open:
            yield Complaint(
                code="queue-closed",
                where=where,
                what=f"the queue {queue.name} takes no jobs",
                hint="open it, or give another one",
            )
        known = [name for name in server.hosts if name in facts.cluster.hosts]
        if known and queue.hosts and not set(known) & set(queue.hosts):
            yield Complaint(
                code="queue-elsewhere",
                where=where,
                what=f"the queue {queue.name} has none of the hosts beside {server.name} ({', '.join(known)})",
                hint="give the queue that has them",
            )


def _enough_slots(facts: SiteFacts) -> Iterator[Complaint]:
    """Its hosts have as many slots as are promised."""
    for server in facts.site.server:
        known = [facts.cluster.hosts[name] for name in server.hosts if name in facts.cluster.hosts]
        there = sum(host.slots for host in known)
        if server.slots is not None and known and server.slots > there:
            yield Complaint(
                code="few-slots",
                where=facts.loaded.origin("slots", server=server.name),
                what=f"{server.slots} slots are said to be beside {server.name}, and its hosts have {there}",
                hint=f"write slots = {there}, or leave it out",
            )


def _known_licences(facts: SiteFacts) -> Iterator[Complaint]:
    """It hands out the licences that jobs are to hold."""
    told = facts.cluster.licences
    for server in facts.site.server if told is not None else ():
        if told is not None and server.licence is not None and server.licence not in told:
            yield Complaint(
                code="unknown-licence",
                where=facts.loaded.origin("licence", server=server.name),
                what=f"{facts.cluster.name} has no licence {server.licence!r}",
                hint=near_match(server.licence, told) or f"make one there: as many as {server.name} carries tasks",
            )


def _access_patterns(facts: SiteFacts) -> Iterator[Complaint]:
    """Every pattern of a link matches something."""
    servers = [server.name for server in facts.site.server]
    for entry in facts.site.access:
        for pattern in entry.servers:
            if not any(fnmatchcase(name, pattern) for name in servers) and pattern != "*":
                yield _matches_nothing("servers", pattern, servers, facts)
        for pattern in entry.hosts if facts.cluster.hosts else ():
            if not any(fnmatchcase(name, pattern) for name in facts.cluster.hosts):
                yield _matches_nothing("hosts", pattern, facts.cluster.hosts, facts)


def _matches_nothing(kind: str, pattern: str, known: Iterable[str], facts: SiteFacts) -> Complaint:
    return Complaint(
        code="idle-pattern",
        where=facts.loaded.origin("access"),
        what=f"{pattern!r} among the {kind} of [[access]] matches none",
        hint=near_match(pattern, known) or "leave the entry out",
    )


def _without_hosts(facts: SiteFacts) -> Iterator[Complaint]:
    """Somewhere beside each server a job can run."""
    for server in facts.site.server:
        if not server.hosts:
            yield Complaint(
                code="no-hosts",
                where=facts.loaded.origin("name", server=server.name),
                what=f"{server.name} has no hosts beside it: jobs only keep to its load",
                hint="add hosts, if there are any",
                wrong=False,
            )


def _refused_here(facts: SiteFacts) -> Iterator[Complaint]:
    """A job that is submitted from the working directory finds a place."""
    refused = facts.refused
    if refused is None:
        return
    yield Complaint(
        code="refused-here",
        what=f"`submit` takes no job from {refused.path}: {refused.why}",
        hint=refused.hint or f"{_way_out(refused, facts)}, or submit with --anywhere",
    )


def _way_out(refused: Refused, facts: SiteFacts) -> str:
    name = refused.servers[0] if refused.servers else "SERVER"
    if refused.known:
        where = facts.loaded.origin("hosts", server=name) or facts.loaded.origin("name", server=name)
        return f"bring a host beside {name} back, or add one to its hosts{f' ({where})' if where else ''}"
    add = f'add [[server]] with name = "{name}" and the hosts beside it that the scheduler knows'
    if refused.own_disk and facts.site.server:
        # Most likely a home or a temporary directory.
        return f"cd to the data of {' or '.join(_some(facts.site.server))}, {add}"
    return add


def _some(servers: Sequence[Server], most: int = 3) -> list[str]:
    """The first names."""
    return [server.name for server in servers[:most]]


def _server_names(facts: SiteFacts) -> Iterator[Complaint]:
    """This host knows one name of each that nothing else ties to data, and no two are one."""
    if facts.addresses is None:
        yield Complaint(
            code="names-silent",
            what="the name service did not answer in time",
            hint="names of servers were not looked at; try `getent hosts NAME`",
        )
        return
    owners: dict[str, str] = {}
    for server in facts.site.server:
        found = {address for name in server.names for address in facts.addresses.get(name, ())}
        if not found and not server.holds:
            yield Complaint(
                code="unknown-name",
                where=facts.loaded.origin("name", server=server.name),
                what=f"this host knows no address of {', '.join(server.names)}",
                hint="add its address to aliases, or say what it holds",
            )
        for address in sorted(found):
            other = owners.setdefault(address, server.name)
            if other != server.name:
                yield Complaint(
                    code="same-address",
                    where=facts.loaded.origin("name", server=server.name),
                    what=f"{server.name} and {other} have one address, {address}",
                    hint="make one [[server]] of them, or correct aliases",
                )


def _server_indices(facts: SiteFacts) -> Iterator[Complaint]:
    """Each server's load can be read, is fresh, and its clock is right."""
    for server in facts.site.server:
        where = facts.loaded.origin("indices", server=server.name)
        reading = facts.readings.get(server.name)
        if reading is None:
            yield Complaint(
                code="no-indices",
                where=facts.loaded.origin("name", server=server.name),
                what=f"nobody says how busy {server.name} is",
                hint="run node_exporter there and add indices, or live with jobs alone",
                wrong=False,
            )
            continue
        age_s = reading.age_s(facts.now_s)
        if reading.problem:
            why, hint = own_hint(reading.problem, "start what should answer there, or correct indices")
            what = f"the indices of {server.name} cannot be read: {why}"
            yield Complaint(code="indices-silent", where=where, what=what, hint=hint)
        elif age_s * 1e9 > facts.site.policy.index_age:
            yield Complaint(
                code="indices-stale",
                where=where,
                what=f"the indices of {server.name} are {age_s:.0f} s old",
                hint="look at what writes them",
            )
        ahead_s = reading.clock_ahead_s or 0.0
        if abs(ahead_s) > CLOCK_S:
            yield Complaint(
                code="clocks-differ",
                where=where,
                what=f"the clock of {server.name} is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} "
                "this host's",
                hint="let both keep time by NTP",
            )


def _known_mounts(facts: SiteFacts) -> Iterator[Complaint]:
    """The site file knows who serves what is mounted here."""
    for mount, located in facts.mounted:
        strange = [server.name for server in servers_of(located, facts.site) if server not in facts.site.server]
        if strange:
            yield Complaint(
                code="unknown-server",
                what=f"{mount.mount_point} ({mount.file_system}) is served by {', '.join(strange)}, "
                "of which the site file says nothing",
                hint=f'add [[server]] with name = "{strange[0]}" and the hosts beside it',
                wrong=False,
            )
        elif located.problem and not servers_of(located, facts.site):
            yield Complaint(
                code="nobodys-mount",
                what=f"nobody says who serves {mount.mount_point} ({mount.file_system}): "
                f"{own_hint(located.problem, '')[0]}",
                hint=f'name it in holds of a [[server]]: "{mount.device}"',
                wrong=False,
            )
    if facts.mounts_left:
        yield Complaint(
            code="mounts-left",
            what=f"{facts.mounts_left} more mounts were not looked at: others take too long",
            hint="unmount what is dead",
            wrong=False,
        )


def _kept_lines(facts: SiteFacts) -> Iterator[Complaint]:
    """The newest line of each storage and pattern is recent, and of the kernel that runs now."""
    newest: dict[tuple[str, str, str, int], KeptLine] = {}
    for line in sorted(facts.lines, key=lambda line: line.measured_at_s):
        newest[line.target, line.operation, line.access, line.transfer_size] = line
    for line in newest.values():
        what = f"the load line of {line.target} ({line.operation}, {line.access})"
        again = "measure it again with `tonnage probe`"
        if facts.now_s - line.measured_at_s > OLD_S:
            told = f"{what} was measured {age_text(facts.now_s - line.measured_at_s)}"
            yield Complaint(code="old-line", what=told, hint=again, wrong=False)
        elif line.host == facts.host and line.kernel and line.kernel != facts.kernel:
            told = f"{what} was measured under kernel {line.kernel}, and {facts.kernel} runs now"
            yield Complaint(code="other-kernel", what=told, hint=again, wrong=False)


def _line_directories(facts: SiteFacts) -> Iterator[Complaint]:
    """Checks that the directories of load lines have some."""
    if facts.shared_lines:
        yield Complaint(
            code="lines-elsewhere",
            where=facts.loaded.origin("lines"),
            what=f"{facts.site.lines} {facts.shared_lines}: load lines are kept with each user's own files",
            hint="make it a directory that all users may write (mode 1777), or leave lines out",
            wrong=False,
        )
    for problem in facts.line_problems:
        yield Complaint(code="no-line", what=problem, hint="remove it, if it is yours", wrong=False)


def _stated_lines(facts: SiteFacts) -> Iterator[Complaint]:
    """Checks that no stated load line of a server contradicts a measured one."""
    for server in facts.site.server:
        found = line_of(facts.site, server, None, among=facts.lines)
        if found is None:
            continue
        low, high = (found.low, found.high) if isinstance(found, KeptLine) else (found.tasks, found.tasks)
        said = f"{found.tasks} [{low}, {high}]" if isinstance(found, KeptLine) else str(found.tasks)
        if server.line is not None and not low <= server.line.tasks <= high:
            yield Complaint(
                code="stated-line",
                where=facts.loaded.origin("line", server=server.name),
                what=f"the load line of {server.name} is stated as {server.line.tasks}, and was measured as {said}",
                hint="leave line out: what was measured counts",
            )
        total = (facts.cluster.licences or {}).get(server.licence or "")
        if total is not None and total > high:
            yield Complaint(
                code="many-licences",
                where=facts.loaded.origin("licence", server=server.name),
                what=f"{total} jobs may hold the licence {server.licence}, and {server.name} carries {said} tasks",
                hint=f"let the scheduler have {found.tasks} of it",
            )
        elif total is None and server.slots is not None and server.slots > high:
            yield Complaint(
                code="many-slots",
                where=facts.loaded.origin("slots", server=server.name),
                what=f"{server.slots} jobs may run beside {server.name} at once, and it carries {said} tasks",
                hint=f"write slots = {found.tasks}, or give its jobs a licence that the scheduler counts",
            )


def _files(facts: SiteFacts) -> Iterator[Complaint]:
    for sentence in facts.loaded.passed_over:
        what, hint = own_hint(sentence, "name it with --site")
        yield Complaint(code="file-passed-over", what=what, hint=hint, wrong=False)
    if not facts.loaded.sources:
        yield Complaint(
            code="no-site-file",
            what="there is no site file: the file systems' and the scheduler's own words are all that is known",
            hint="write one; see `tonnage explain site-file`",
            wrong=False,
        )


CHECKS: tuple[_Check, ...] = (
    _files,
    _scheduler_answers,
    _known_hosts,
    _known_queues,
    _enough_slots,
    _known_licences,
    _access_patterns,
    _without_hosts,
    _refused_here,
    _server_names,
    _server_indices,
    _known_mounts,
    _kept_lines,
    _line_directories,
    _stated_lines,
)


def examine(facts: SiteFacts) -> list[Complaint]:
    """Returns problems first, then notes, each in the order of the checks."""
    found = [complaint for check in CHECKS for complaint in check(facts)]
    return sorted(dict.fromkeys(found), key=lambda complaint: not complaint.wrong)
