"""What a campaign needs of this host, estimated before anything begins: memory, threads, and how long it measures."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.campaign.plan import least_time_ns
from tonnage.errors import RequestError
from tonnage.machine.host_facts import memory
from tonnage.units import size_text

if TYPE_CHECKING:
    from tonnage.campaign.kinds import Setting
    from tonnage.campaign.model import Campaign
    from tonnage.campaign.plan import Plan
    from tonnage.cluster.launcher import Launcher

BASE_BYTES = 96 << 20
"""Of this process, without tasks."""
TASK_BYTES = 1408 << 10
"""Of a task without its transfers: histograms, series, its thread, and 1 MiB for the ceiling of memory copies."""
MODELLED_BYTES, MODELLED_ON_NODE_BYTES = 288 << 10, 24 << 10
"""Of a task of a model; of one among many on a node, which the model moves together."""
_MODELLED_TOGETHER = 1024
_KEPT_BYTES = 16
"""Of an operation that is kept: its end and its latency."""
_DAY_NS = 86_400 * 10**9
LONGEST_NS = 366 * _DAY_NS
"""Longest time that a run may measure."""
_FASTEST_BYTES_PER_S, _FASTEST_PER_S = 10**12, 10**8
"""No storage that one run measures is faster: what takes too long even there is a mistake in a number."""


def check_needs(campaign: Campaign, plan: Plan, start: Launcher) -> None:
    """RequestError where a setting needs more memory or threads than this host has, or the run would take more than a
    year."""
    modelled = plan.target.scheme == "sim"
    if not modelled:  # whose time is virtual
        _check_least_time(campaign, plan)
    _check_time(plan)
    available = available_bytes()
    threads = None if modelled else most_threads()
    settings = plan.settings or campaign.settings()
    if campaign.search is not None:
        settings = [replace(settings[0], tasks=campaign.search.max_tasks)]
    for setting in settings:
        tasks = setting.tasks if modelled else _tasks_here(setting, start)
        if threads is not None and tasks > threads:
            raise RequestError(
                f"{tasks} tasks on this host are more than the {threads} threads that a process may start here; "
                "hint: use fewer tasks, or more hosts"
            )
        kept = 0 if modelled else tasks * (campaign.keep_operations or 0) * _KEPT_BYTES
        more = 0 if modelled else setting.memory_bytes
        needed = BASE_BYTES + tasks * _task_bytes(setting, modelled=modelled) + kept + more
        if plan.target.scheme == "memory":
            needed += setting.space_bytes
        if available is not None and needed > available:
            raise RequestError(_too_little(setting, tasks, needed, available, kept, more, campaign.keep_operations))


def _too_little(
    setting: Setting, tasks: int, needed: int, available: int, kept: int, more: int, keep: int | None
) -> str:
    """What needs the most of the memory that is not there, and what to do."""
    here = f"this host has {size_text(available)} available"
    if kept > needed // 2:
        return (
            f"{tasks} tasks that keep {keep} operations each need about {size_text(needed)} of memory, and {here}; "
            "hint: use a smaller keep_operations, or fewer tasks"
        )
    if more > needed // 2:
        return setting.memory_shortage(size_text(needed), size_text(available))
    return (
        f"{tasks} tasks need about {size_text(needed)} of memory, and {here}; "
        "hint: use fewer tasks, a smaller transfer_size or queue_depth, or more hosts"
    )


def _tasks_here(setting: Setting, start: Launcher) -> int:
    """Tasks of a setting that run on this host."""
    if setting.needs_scratch:
        return list(start.hosts_of(setting.tasks, setting.placing)).count(start.host_group.hosts[0])
    return -(-setting.tasks // len(start.host_group.hosts))


def _task_bytes(setting: Setting, *, modelled: bool) -> int:
    if not modelled:
        return TASK_BYTES + setting.buffer_bytes
    together = setting.tasks_per_node is not None and setting.tasks > _MODELLED_TOGETHER
    return MODELLED_ON_NODE_BYTES if together else MODELLED_BYTES


def _check_least_time(campaign: Campaign, plan: Plan) -> None:
    """RequestError where waiting alone would take too long."""
    least_ns = least_time_ns(campaign, plan)
    if least_ns > LONGEST_NS:
        raise RequestError(
            f"it would measure for at least {least_ns // _DAY_NS} days; "
            "hint: use less work, fewer trials, higher rates, or shorter times to wait"
        )


def _check_time(plan: Plan) -> None:
    """RequestError where a limit of time is too long, or the work of a trial that no limit ends is too much."""
    if plan.time_ns_most is not None and plan.time_ns_most > LONGEST_NS:
        raise RequestError(
            f"it would measure for up to {plan.time_ns_most // _DAY_NS} days; "
            "hint: use fewer trials, a shorter time_limit, or budget.time"
        )
    moved = (plan.write_bytes_most or 0) + (plan.read_bytes_most or 0)
    least_ns = _fastest_ns(moved, plan.name_operations) if plan.time_ns_most is None else 0
    # A budget of time ends no trial that has begun, and a limit of time no operation.
    least_ns = max([least_ns, *map(_longest_trial_ns, plan.settings)])
    if least_ns > LONGEST_NS:
        raise RequestError(
            f"it would work for more than {least_ns // _DAY_NS} days on the fastest storage; "
            "hint: use less work, smaller files, or fewer trials"
        )


def _longest_trial_ns(setting: Setting) -> int:
    """Time of one trial on the fastest storage, as far as no limit of its own ends it."""
    if setting.time_limit_ns is None:
        return _fastest_ns(setting.write_bytes + setting.read_bytes, setting.name_operations)
    return _fastest_ns(setting.unbroken_bytes, 0)


def _fastest_ns(moved_bytes: int, name_operations: int) -> int:
    return moved_bytes * 10**9 // _FASTEST_BYTES_PER_S + name_operations * 10**9 // _FASTEST_PER_S


def available_bytes() -> int | None:
    """Memory that this process may still take: of the host, of its control group, of its own limit; None where nothing
    tells."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    known = [memory("MemAvailable"), None if limit == resource.RLIM_INFINITY else limit, *_group_bytes()]
    return min((size for size in known if size is not None), default=None)


def _group_bytes() -> Iterable[int | None]:
    """Yields the bytes that this process's control groups leave it (version 2, and version 1's memory controller)."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        version_1 = "memory" in controllers.split(",")
        if controllers and not version_1:
            continue
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if version_1 else ("memory.max", "memory.current")
        base = Path("/sys/fs/cgroup/memory" if version_1 else "/sys/fs/cgroup")
        own = base / group.lstrip("/")
        for directory in (own, *own.parents):
            limit, used = (_number(directory / name) for name in names)
            if limit is not None:
                yield max(limit - (used or 0), 0)
            if directory == base:
                break


def most_threads() -> int:
    """Threads that this process may start: of the system, of its user, and of the memory maps that stacks take."""
    known = [
        _number(Path("/proc/sys/kernel/threads-max")),
        _number(Path("/proc/sys/kernel/pid_max")),
        (_number(Path("/proc/sys/vm/max_map_count")) or 1 << 40) // 2,
        limit if (limit := resource.getrlimit(resource.RLIMIT_NPROC)[0]) != resource.RLIM_INFINITY else None,
    ]
    return min(number for number in known if number is not None)


def _number(path: Path) -> int | None:
    """The whole number in a file of the kernel's; None where there is none, such as ``max``."""
    text = "".join(_lines(path)[:1]).strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
