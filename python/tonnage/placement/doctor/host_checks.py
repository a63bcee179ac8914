"""Whether hosts are fit to measure together: each by itself, the target, the links, and that they are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from tonnage.placement.doctor import Complaint, named, own_hint
from tonnage.placement.doctor.host_facts import Host, HostGroupFacts
from tonnage.units import rate_text, size_text

CLOCK_S, CLOCK_NOTE_S = 2.0, 0.1
"""Beyond the first, ages of files and instants of records mean nothing across hosts; NTP leaves less than the other."""
BUSY = 0.25
"""Load per CPU."""
PRESSURE_PERCENT = {"cpu": 10.0, "io": 10.0, "memory": 1.0}
"""Share of the last 10 s in which a task waited for it."""
FREE_SHARE = 0.1
"""Of memory; with less the page cache is not what it is else."""
SWAP_SHARE = 0.01
"""Of memory, that is in swap."""
FEW_FILES = 4096
SPACE = 10 << 30
"""Less than that is soon full of tasks' files."""
_OF_ONE_HOST = {
    "addr",
    "clientaddr",
    "mountaddr",
    "port",
    "mountport",
    "fd",
    "rootmode",
    "user_id",
    "group_id",
    "seclabel",
}
"""Options of a mount that tell of the client, or of its way to the server, and not of how it works."""
SLOW = 0.5
"""Of the median of all links tried."""
_MEMORY_SHARE = 0.02
"""By which firmware makes equal hosts differ."""


def _host_answers(group: HostGroupFacts) -> Iterator[Complaint]:
    """It answers."""
    for host in group.hosts:
        if host.problem is not None:
            what, hint = own_hint(host.problem, "see that this user gets there without a question, or leave it out")
            yield Complaint(code="unreachable", where=host.name, what=what, hint=hint)


def _clock(group: HostGroupFacts) -> Iterator[Complaint]:
    """Its clock is right, as far as a round trip can tell."""
    for host in group.there:
        ahead_ns, uncertain_ns = host.clock_ahead_ns or 0, host.clock_uncertainty_ns or 0
        off_s = max(0, abs(ahead_ns) - uncertain_ns) / 1e9
        if off_s > CLOCK_NOTE_S:
            way = "ahead of" if ahead_ns > 0 else "behind"
            what = (
                f"its clock is {abs(ahead_ns) / 1e9:.3f} s (give or take {uncertain_ns / 1e9:.3f} s) {way} this host's"
            )
            hint = "let both keep time by NTP"
            yield Complaint(code="clock-off", where=host.name, what=what, hint=hint, wrong=off_s > CLOCK_S)


def _load(group: HostGroupFacts) -> Iterator[Complaint]:
    """No other load runs on it."""
    for host in group.there:
        cpus, one = host.facts["cpus_allowed"], host.facts["load_1min"]
        if one > BUSY * cpus:
            what = f"{one:.1f} processes ran or waited in the last minute, on {cpus} CPUs"
            hint = "wait until it is idle, or have it alone (--exclusive)"
            yield Complaint(code="other-load", where=host.name, what=what, hint=hint, wrong=False)
        for resource, most in PRESSURE_PERCENT.items():
            some = ((host.facts["pressure"] or {}).get(resource) or {}).get("some_avg10", 0.0)
            if some > most:
                what = f"processes waited for {resource} in {some:.0f} % of the last 10 s"
                hint = "see what runs there, or have it alone"
                yield Complaint(code=f"{resource}-pressure", where=host.name, what=what, hint=hint, wrong=False)


def _memory(group: HostGroupFacts) -> Iterator[Complaint]:
    """Its memory is free for the page cache, and nothing of it is on a disk."""
    for host in group.there:
        total, free, swapped = (host.facts[key] for key in ("memory_bytes", "available_bytes", "swap_used_bytes"))
        if total and free is not None and free < FREE_SHARE * total:
            what = f"only {size_text(free)} of {size_text(total)} of memory is free"
            hint = "end what holds it: the page cache is smaller than it looks, and reads come from elsewhere"
            yield Complaint(code="memory-short", where=host.name, what=what, hint=hint, wrong=False)
        if total and swapped and swapped > SWAP_SHARE * total:
            what = f"{size_text(swapped)} are in swap"
            hint = "end what needs them: swapping takes its share of a device"
            yield Complaint(code="swap-in-use", where=host.name, what=what, hint=hint, wrong=False)


def _governor(group: HostGroupFacts) -> Iterator[Complaint]:
    """Its CPUs are always as fast."""
    for host in group.there:
        slow = [name for name in host.facts["governors"] if name != "performance"]
        if slow:
            what = f"its CPUs are clocked by the governor {', '.join(slow)}: short operations find them slow"
            hint = "set the governor performance (cpupower frequency-set), or ask who may"
            yield Complaint(code="governor", where=host.name, what=what, hint=hint, wrong=False)


def _open_files(group: HostGroupFacts) -> Iterator[Complaint]:
    """A process may have as many files open as tasks need."""
    for host in group.there:
        if 0 <= host.facts["open_files"] < FEW_FILES:
            what = f"a process may have {host.facts['open_files']} files open"
            hint = f"ulimit -n {FEW_FILES}, for tasks with a file each and devices with a queue each"
            yield Complaint(code="few-files", where=host.name, what=what, hint=hint, wrong=False)


def _io_uring(group: HostGroupFacts) -> Iterator[Complaint]:
    """The storage uring can be used."""
    for host in group.there:
        if not host.facts["io_uring"]:
            yield Complaint(
                code="no-io-uring",
                where=host.name,
                what=f"io_uring is not allowed: {_why_no_uring(host)}",
                hint="leave storage = uring out, on all hosts alike",
                wrong=False,
            )


def _why_no_uring(host: Host) -> str:
    disabled = host.facts["io_uring_disabled"]
    return f"kernel.io_uring_disabled = {disabled}" if disabled else str(host.facts["not_io_uring"])


def _target_is_there(group: HostGroupFacts) -> Iterator[Complaint]:
    """It is there, and it is a directory."""
    for host in group.there if group.target is not None else ():
        if host.path_problem is not None:
            what, hint = own_hint(host.path_problem, "see to its mount there")
            yield Complaint(code="target-silent", where=host.name, what=what, hint=hint)
        elif host.path is not None and host.path["problem"]:
            what = f"{group.target} cannot be used: {host.path['problem']}; {_mount(host)} is what is mounted above it"
            yield Complaint(code="target-missing", where=host.name, what=what, hint="mount it there, or make it")
        elif host.path is not None and not host.path["is_directory"]:
            what, hint = f"{group.target} is no directory", "name one that all hosts have"
            yield Complaint(code="target-missing", where=host.name, what=what, hint=hint)


def _target_writable(group: HostGroupFacts) -> Iterator[Complaint]:
    """This user may write there."""
    for host in _seen(group):
        if host.path and not host.path["writable"]:
            what = f"{group.target} takes no files: {host.path['not_writable']} ({_mount(host)})"
            hint = "mount it read-write there, or let this user write"
            yield Complaint(code="target-read-only", where=host.name, what=what, hint=hint)


def _target_is_one(group: HostGroupFacts) -> Iterator[Complaint]:
    """Checks that every host sees what one host makes in the target, or notes that each has a target of its own."""
    groups: dict[int, list[Host]] = {}
    for host in _seen(group):
        if host.storage is not None:
            groups.setdefault(host.storage, []).append(host)
    if len(groups) < 2:
        return
    told = "; ".join(f"{named([host.name for host in hosts])}: {_mount(hosts[0])}" for hosts in groups.values())
    apart = all(len(hosts) == 1 for hosts in groups.values())
    yield Complaint(
        code="own-storage" if apart else "other-storage",
        what=f"{group.target} is not one directory: what a host makes there others do not see ({told})",
        hint="well where node-local storage is to be measured; mount one file system on all where not"
        if apart
        else "mount the same file system on all of them",
        wrong=not apart,
    )


def _mount_options(group: HostGroupFacts) -> Iterator[Complaint]:
    """Those that see the same one have mounted it in the same way."""
    seen = _seen(group)
    for storage in dict.fromkeys(host.storage for host in seen):
        groups: dict[tuple[str, ...], list[Host]] = {}
        for host in seen:
            if host.storage == storage:
                groups.setdefault(_own_options(host), []).append(host)
        common = set.intersection(*map(set, groups))
        if len(groups) > 1:
            told = "; ".join(
                f"{','.join(option for option in which if option not in common) or 'none of these'} on "
                f"{named([host.name for host in hosts])}"
                for which, hosts in sorted(groups.items(), key=lambda group: -len(group[1]))
            )
            what = f"{group.target} is mounted with different options: {told}"
            yield Complaint(code="other-options", what=what, hint="mount it alike on all hosts")


def _target_space(group: HostGroupFacts) -> Iterator[Complaint]:
    """There is room for a measurement."""
    for host in _seen(group):
        free = host.path["free_bytes"] if host.path else None
        if free is not None and free < SPACE:
            what = f"{group.target} has only {size_text(free)} free"
            hint = "make room, or give less to each task: a full storage is a slow one"
            yield Complaint(code="little-space", where=host.name, what=what, hint=hint, wrong=False)


def _target_direct(group: HostGroupFacts) -> Iterator[Complaint]:
    """It takes what goes past the page cache."""
    for host in _seen(group):
        if host.path and host.path["direct"] is False:
            what = f"{group.target} takes no O_DIRECT: {host.path['not_direct']}"
            hint = "measure with direct = no, or auto, and mind what the cache did"
            yield Complaint(code="no-direct", where=host.name, what=what, hint=hint, wrong=False)


def _seen(group: HostGroupFacts) -> list[Host]:
    """Hosts that see a directory there."""
    return [host for host in group.there if host.path and host.path["is_directory"]]


def _own_options(host: Host) -> tuple[str, ...]:
    every = (host.path["options"] if host.path else None) or ""
    return tuple(sorted(option for option in every.split(",") if option.partition("=")[0] not in _OF_ONE_HOST))


def _mount(host: Host) -> str:
    assert host.path is not None
    return f"{host.path['file_system']} of {host.path['device']} at {host.path['mount_point']}"


def _links_work(group: HostGroupFacts) -> Iterator[Complaint]:
    """A connection can be made."""
    for link in group.links:
        if link.problem is not None:
            what, hint = own_hint(
                link.problem, "see to names and firewall: MPI and iperf3 need ports of their own choice"
            )
            yield Complaint(code="no-link", where=f"{link.sender} → {link.receiver}", what=what, hint=hint)


def _links_alike(group: HostGroupFacts) -> Iterator[Complaint]:
    """No link is far slower than the others."""
    rates = [(link, rate) for link in group.links if (rate := link.bytes_per_s) is not None]
    usual = median(rate for _, rate in rates) if len(rates) > 2 else 0
    for link, rate in rates:
        if rate < SLOW * usual:
            what = f"{rate_text(rate)} in a short transfer, where {rate_text(usual)} is the median of all links"
            hint = "measure it with a workload of kind network; see its cable, switch, and who else uses it"
            yield Complaint(
                code="slow-link", where=f"{link.sender} → {link.receiver}", what=what, hint=hint, wrong=False
            )


def _names(group: HostGroupFacts) -> Iterator[Complaint]:
    """Each name is a host of its own."""
    for node, same in _by(group.there, lambda host: host.facts["hostname"]).items():
        if len(same) > 1:
            yield Complaint(
                code="same-host",
                what=f"{_names_text(same)} are one host, {node}",
                hint="name it once: its tasks would be counted as two hosts'",
            )


def _systems(group: HostGroupFacts) -> Iterator[Complaint]:
    """They run the same kernel and Python."""
    for key, code, what in (("kernel", "other-kernel", "kernels"), ("python", "other-python", "versions of Python")):
        yield from _differ(group.there, code, what, lambda host, key=key: str(host.facts[key]))  # type: ignore[misc]


def _hardware(group: HostGroupFacts) -> Iterator[Complaint]:
    """They have the same CPUs and as much memory."""

    def cpus(host: Host) -> str:
        return f"{host.facts['cpus_allowed']} × {host.facts['cpu_model']}"

    yield from _differ(group.there, "other-cpus", "CPUs", cpus)
    sizes = [host.facts["memory_bytes"] for host in group.there if host.facts["memory_bytes"]]
    if sizes and min(sizes) < (1 - _MEMORY_SHARE) * max(sizes):
        yield from _differ(
            group.there, "other-memory", "memory sizes", lambda host: size_text(host.facts["memory_bytes"] or 0)
        )


def _settings(group: HostGroupFacts) -> Iterator[Complaint]:
    """Their clients keep as much in memory, and their CPUs are clocked by one rule."""
    keys = sorted({key for host in group.there for key in host.facts["cache_settings"]})
    for key in keys:
        yield from _differ(
            group.there,
            "other-cache-limits",
            f"values of {key}",
            lambda host, key=key: str(host.facts["cache_settings"].get(key, "none")),  # type: ignore[misc]
        )
    boosts = {True: "may exceed", False: "keep to", None: "do not tell of"}
    yield from _differ(
        group.there, "other-boost", "clock rules", lambda host: f"CPUs {boosts[host.facts['boost']]} their nominal rate"
    )


def _tools(group: HostGroupFacts) -> Iterator[Complaint]:
    """Checks that the tools that some hosts have for measuring are on all of them."""
    for tool in sorted({tool for host in group.there for tool in host.facts["tools"]}):
        for host in group.there:
            if tool not in host.facts["tools"]:
                what = f"{tool} is not installed, as it is on others"
                hint = f"install {tool} there, for workloads that run it"
                yield Complaint(code="no-tool", where=host.name, what=what, hint=hint, wrong=False)


def _differ(hosts: Sequence[Host], code: str, what: str, value: Callable[[Host], str]) -> Iterator[Complaint]:
    """A note where there is more than one value, with the hosts that have each; the most hosts first."""
    groups = sorted(_by(hosts, value).items(), key=lambda group: -len(group[1]))
    if len(groups) > 1:
        told = "; ".join(f"{one} on {_names_text(same)}" for one, same in groups)
        hint = "measure on hosts that are alike, or compare each with itself"
        yield Complaint(code=code, what=f"{what} differ: {told}", hint=hint, wrong=False)


def _by(hosts: Sequence[Host], value: Callable[[Host], Any]) -> dict[Any, list[Host]]:
    found: dict[Any, list[Host]] = {}
    for host in hosts:
        found.setdefault(value(host), []).append(host)
    return found


def _names_text(hosts: Sequence[Host]) -> str:
    return named([host.name for host in hosts])


CHECKS = (
    _host_answers,
    _names,
    _clock,
    _target_is_there,
    _target_writable,
    _target_is_one,
    _mount_options,
    _target_space,
    _target_direct,
    _links_work,
    _links_alike,
    _systems,
    _hardware,
    _settings,
    _tools,
    _load,
    _memory,
    _governor,
    _open_files,
    _io_uring,
)


def examine(group: HostGroupFacts) -> list[Complaint]:
    """Returns problems, then notes, each in the order of the checks. One complaint about several hosts is one line."""
    merged: dict[tuple[str, str, str, bool], list[str]] = {}
    for found in (found for check in CHECKS for found in check(group)):
        merged.setdefault((found.code, found.what, found.hint, found.wrong), []).extend(
            [found.where] if found.where else []
        )
    complaints = [
        Complaint(code=code, what=what, hint=hint, wrong=wrong, where=named(hosts) or None)
        for (code, what, hint, wrong), hosts in merged.items()
    ]
    return sorted(complaints, key=lambda complaint: not complaint.wrong)
