"""What a campaign will do, take and need, before it does anything."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from tonnage import _native
from tonnage.campaign.company_trials import FEWEST_ALONE, company_bytes
from tonnage.campaign.execute import executor_of
from tonnage.campaign.free_space import check_space, free_bytes, search_space
from tonnage.campaign.kinds import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.number_search_tables import UserSearch
from tonnage.campaign.target import STORAGES_WITH_FILES, Target, parse_target
from tonnage.campaign.workspace import accepts_direct
from tonnage.errors import RequestError
from tonnage.machine.mounts import mount_of
from tonnage.records.phase_specs import Delays
from tonnage.units import format_size, format_time, plural, rate_text, size_text

_NAMES_PER_S = 100_000
"""Of a fast storage, to give an idea of the time that names take."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts, bytes and nanoseconds; ``*_most`` are upper bounds, ``None`` where only the storage's speed decides."""

    target: Target
    settings: tuple[Setting, ...]
    trials: int | None
    trials_most: int | None
    space_bytes: int
    """Of the measured workloads' files."""
    free_bytes: int | None
    write_bytes_most: int | None
    read_bytes_most: int | None
    name_operations: int
    time_ns_most: int | None
    company_bytes: int = 0
    """Of files of the company, which are there at the same time."""


def make_plan(campaign: Campaign) -> Plan:
    """The plan; nothing is checked and nothing is touched."""
    target = target_of(campaign)
    free = free_bytes(target)
    company = company_bytes(campaign)
    if campaign.search is not None:
        limit = campaign.budget.space_bytes
        space = search_space(free) if limit is None else max(limit - company, 0)
        return Plan(target, (), None, None, space, free, None, None, 0, campaign.search.budget_ns, company)
    found = campaign.settings()
    repeat = campaign.repeat
    if (counted := campaign.accelerators or campaign.users) is not None:
        most = max(setting.space_bytes for setting in found)
        time_ns = counted.budget_ns
        return Plan(target, tuple(found), None, None, most, free, None, None, 0, time_ns)
    repetitions = repeat.fixed or repeat.at_most
    # A block that is begun again until the time is over moves as much as the storage takes.
    endless = any(workload.is_endless for workload in campaign.workloads)
    return Plan(
        target=target,
        settings=tuple(found),
        trials=len(found) * repeat.fixed if repeat.fixed else None,
        trials_most=len(found) * repetitions,
        space_bytes=max(setting.space_bytes for setting in found),
        free_bytes=free,
        write_bytes_most=None if endless else sum(setting.write_bytes for setting in found) * repetitions,
        read_bytes_most=None if endless else sum(setting.read_bytes for setting in found) * repetitions,
        name_operations=sum(setting.name_operations for setting in found) * repetitions,
        time_ns_most=campaign.budget.time_ns or _time_most(campaign, found, repetitions),
        company_bytes=company,
    )


def least_time_ns(campaign: Campaign, plan: Plan) -> int:
    """Time of pauses, of rates and of a model's calls, which no storage makes shorter."""
    return _least_trials(campaign, plan) * (campaign.pause_ns or 0) + _least_waits_ns(campaign, plan)


def _least_trials(campaign: Campaign, plan: Plan) -> int:
    # A budget ends no trial that has begun.
    if campaign.decides_as_it_goes or campaign.budget.time_ns is not None:
        return 1
    return len(plan.settings) * (campaign.repeat.fixed or campaign.repeat.at_least)


def _least_waits_ns(campaign: Campaign, plan: Plan) -> int:
    """The same without the pauses before trials."""
    found = plan.target.delays
    # Where the only task that waits may not take part, nothing is certain.
    delays: Delays = {} if found is None or found.get("task") else found
    if campaign.search is not None:
        return replace(campaign.workload.first(), time_limit_ns=1, min_time_ns=None).least_ns(delays)
    each = [setting.least_ns(delays) for setting in plan.settings]
    trials = _least_trials(campaign, plan)
    return max(each) if trials == 1 else sum(each) * trials // len(each)


def _time_most(campaign: Campaign, settings: list[Setting], repetitions: int) -> int | None:
    """Time for measuring at most, company alone included; None where a trial ends only when its work is done."""
    limits = [setting.time_ns_most for setting in settings]
    if None in limits:
        return None
    alone_ns = len(campaign.companies) * FEWEST_ALONE * campaign.company_length_ns
    return sum(limit or 0 for limit in limits) * repetitions + alone_ns


def target_of(campaign: Campaign) -> Target:
    """The target of a campaign, with the keys that say how its directories and files are used."""
    target = parse_target(campaign.target)
    if target.scheme != "path":
        return target
    if campaign.file_names:
        names = tuple(Path.cwd() / name for name in campaign.file_names)
        paths = tuple(dict.fromkeys(name.parent for name in names))
        return replace(
            target,
            paths=paths,
            names=names,
            existing=campaign.existing,
            keep=campaign.keep,
            keep_damaged=campaign.keep_damaged,
        )
    if len(target.paths) == 1 and campaign.place is None:
        target = replace(target, paths=target.paths * max(setting.devices_needed for setting in campaign.settings()))
    return replace(target, assign=() if campaign.assign == "round-robin" else campaign.assign)


def check(campaign: Campaign, plan: Plan) -> None:
    """RequestError if the target cannot take this campaign. Looks, and touches nothing."""
    target = plan.target
    settings = plan.settings or tuple(campaign.settings())
    _check_devices(campaign, target, settings)
    _check_models(target)
    _check_objects(target, settings)
    check_space(campaign, plan)
    direct = any(setting.direct == "yes" for setting in settings)
    for path in target.paths if direct else ():
        if accepts_direct(path) is False:
            raise RequestError(f'the file system of {path} does not take O_DIRECT; hint: use direct "auto" or "no"')
        mount = mount_of(path)
        if mount is not None and mount.memory_backed:
            raise RequestError(f'{path} is in memory, which nothing is read past; hint: use direct "auto" or "no"')
    for setting in plan.settings:
        executor_of(setting).check(setting, target)
    storages = {setting.storage for setting in settings if setting.needs_scratch}
    if target.scheme == "path" and (bare := storages - STORAGES_WITH_FILES):
        storage = sorted(bare)[0]
        raise RequestError(f"storage {storage} needs no directory; hint: give the target {storage}:")


def _check_objects(target: Target, settings: tuple[Setting, ...]) -> None:
    """RequestError where a setting asks for what the objects of a bucket or a pool cannot do."""
    if target.bucket is None and target.pool is None:
        return
    for setting in settings:
        for what, hint in executor_of(setting).not_with_objects(setting, target):
            raise RequestError(f"{target.scheme}: {what}; hint: {hint}")


def _check_models(target: Target) -> None:
    for model in target.models:
        try:
            _native.Target(json.dumps({"kind": "sim", "seed": 0, **model}))
        except ValueError as error:
            what, _, hint = str(error).rpartition("; ")
            raise RequestError(f"{target.name} refuses this: {what}; hint: {hint}") from None


def _check_devices(campaign: Campaign, target: Target, settings: tuple[Setting, ...]) -> None:
    for path in target.paths:
        _check_directory(path, to_write=not target.names)
    # As it was given: one directory may be used for several devices.
    listed = parse_target(campaign.target).paths
    real = [os.path.realpath(path) for path in listed]
    for number, path in enumerate(listed):
        if real[number] in real[:number] and not target.names:
            raise RequestError(f"{path} is given twice; hint: name each directory of the target once")
    if target.assign and max(target.assign) >= len(target.paths):
        raise RequestError(
            f"assign names directory {max(target.assign)} and the target has {len(target.paths)}; "
            "hint: number them from 0"
        )
    most = max((setting.devices_needed for setting in settings), default=0)
    if len(target.models) > 1 and (most > len(target.models) or any(s.device is None for s in settings)):
        raise RequestError(
            f"the target is a list of {len(target.models)} models, and each workload runs on one; "
            f"hint: give each a device from 0 to {len(target.models) - 1}"
        )
    if target.scheme == "path" and most > len(target.paths):
        raise RequestError(
            f"{most} devices are asked for and the target has {len(target.paths)} "
            f"director{'ies' if len(target.paths) > 1 else 'y'}; hint: give a list of directories, one a device"
        )


def refuse_odd_name(path: Path) -> None:
    """RequestError where the name of a directory is no UTF-8: the engine gets it as text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise RequestError(f"the name {path} is not UTF-8; hint: give a directory with another name") from None


def _check_directory(path: Path, *, to_write: bool) -> None:
    refuse_odd_name(path)
    if not path.exists():
        raise RequestError(f"{path} does not exist; hint: give a directory on the storage to measure, or make it first")
    if not path.is_dir():
        raise RequestError(f"{path} is not a directory; hint: give the directory that holds it")
    if to_write and not os.access(path, os.W_OK | os.X_OK):
        raise RequestError(f"{path} is not writable; hint: give a directory in which you may create files")


def describe(campaign: Campaign, plan: Plan) -> list[str]:
    """Returns the plan as lines of text, for ``--dry-run``."""
    lines = [f"campaign  {campaign.name}", f"target    {plan.target.name}"]
    if campaign.search is not None:
        search = campaign.search
        sizes = search.surface or campaign.workload.transfer_size[:1]
        lines.append(
            f"search    load line of {', '.join(search.op)} within {search.max_tasks} tasks, transfers of "
            f"{' to '.join(map(format_size, sizes))}"
        )
        looked_for = "largest offered rate" if search.open_loop else "most tasks"
        for key, objective_ns in search.objectives.items():
            within = f"within {format_time(objective_ns)} at {key.removesuffix('_ns')}"
            lines.append(f"          {looked_for} {within}")
    elif campaign.accelerators is not None:
        lines.append(f"search    {_feeding_text(campaign, plan)}")
    elif campaign.users is not None:
        lines.append(f"search    {_serving_text(campaign.users, plan)}")
    else:
        per_block = len(plan.settings)
        count = plural(plan.trials, "trial") if plan.trials else f"at most {plan.trials_most} trials"
        lines.append(
            f"trials    {count}: {plural(per_block, 'setting')} in randomised blocks"
            + (
                f", {plural(plan.trials // per_block, 'repetition')}"
                if plan.trials
                else f", repeated until the interval is {campaign.repeat.interval:.0%} of the median"
            )
        )
        lines += [f"          {_setting_text(setting)}" for setting in plan.settings[:40]]
        if per_block > 40:
            lines.append(f"          … and {per_block - 40} more")
    free = f" of {size_text(plan.free_bytes)} free" if plan.free_bytes is not None else ""
    lines.append(f"space     at most {size_text(plan.space_bytes)}{free}")
    if campaign.companies:
        alone = f"{FEWEST_ALONE} trials of {format_time(campaign.company_length_ns)} alone before it is company"
        lines.append(f"company   at most {size_text(plan.company_bytes)} more, in directories of its own; {alone}")
    lines.append(f"time      {_time_text(campaign, plan)}")
    return lines


def _feeding_text(campaign: Campaign, plan: Plan) -> str:
    from tonnage.campaign.kinds.number_searches import objective_of, training_of

    search, setting = campaign.accelerators, training_of(plan.settings[0])
    share = objective_of(search, campaign.workloads[0]) if search else 0
    return (
        f"accelerators that compute {share:.0%} of the time, up to {setting.accelerators}: "
        f"{setting.model or 'training'}, {rate_text(setting.demand_bytes_per_s)} for each"
    )


def _serving_text(search: UserSearch, plan: Plan) -> str:
    from tonnage.campaign.kinds.number_searches import kv_cache_of

    setting = kv_cache_of(plan.settings[0])
    return (
        f"users served within {format_time(search.p95_ns)} at p95, up to {setting.users}: "
        f"{setting.model or 'kv-cache'}, conversations of {size_text(setting.conversation_bytes)}, room for "
        f"{setting.slots} of them"
    )


def _setting_text(setting: Setting) -> str:
    tasks = plural(setting.tasks, "task")
    name = f"{setting.workload}: " if setting.workload else ""
    beside = f"  beside {setting.beside}" if setting.beside is not None else ""
    return f"{name}{', '.join(setting.phases):5}  {tasks:>9}  {setting.describe()}{beside}"


def _names_text(plan: Plan) -> str:
    seconds = plan.name_operations / _NAMES_PER_S
    if plan.time_ns_most is not None and plan.time_ns_most < seconds * 1e9:
        return "names are worked on until that time is over"
    return f"{plan.name_operations:,} names to work on, at {_NAMES_PER_S:,}/s {seconds:.0f} s"


def _time_text(campaign: Campaign, plan: Plan) -> str:
    if plan.target.scheme != "sim":
        least_ns = 0 if campaign.decides_as_it_goes else least_time_ns(campaign, plan)
        return _parts_text(campaign, plan, least_ns, "pauses and times to wait")
    # A model's time passes at once, but for the pauses.
    pause_ns, trials = campaign.pause_ns or 0, _least_trials(campaign, plan)
    pauses = f"a pause of {format_time(pause_ns)} before each trial; " if pause_ns and trials == 1 else ""
    if trials > 1 and (whole_ns := pause_ns * trials // 10**9 * 10**9):
        pauses = f"at least {format_time(whole_ns)} of pauses; "
    waits_ns = 0 if campaign.decides_as_it_goes else _least_waits_ns(campaign, plan)
    return f"{pauses}in virtual time {_parts_text(campaign, plan, waits_ns, 'times to wait')}"


def _parts_text(campaign: Campaign, plan: Plan, least_ns: int, of: str) -> str:
    moved = (plan.write_bytes_most or 0) + (plan.read_bytes_most or 0)
    whole_ns = least_ns // 10**9 * 10**9
    parts = [f"at least {format_time(whole_ns)} of {of}"] if whole_ns else []
    if plan.time_ns_most is not None:
        seconds = f"{plan.time_ns_most / 1e9:.0f} s of measuring"
        # Such a budget ends no trial that has begun; that of a search leaves room for its last one.
        is_start = campaign.budget.time_ns is not None and not campaign.decides_as_it_goes
        parts.append(f"no trial starts after {seconds}" if is_start else f"at most {seconds}")
    if moved:
        parts.append(f"at most {size_text(moved)} to move, at 1 GB/s {moved / 1e9:.0f} s")
    if plan.name_operations:
        parts.append(_names_text(plan))
    return "; ".join(parts) or "as long as the work takes"
