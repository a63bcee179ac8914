"""Queries the other hosts of a run, outside the timed phases: their facts, whether they see the target, and its free
space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tonnage.campaign.kinds import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.plan import Plan
from tonnage.cluster.host_group import Answer
from tonnage.cluster.launcher import Launcher
from tonnage.errors import MeasurementError, RequestError
from tonnage.records.line_types import Json
from tonnage.units import size_text

LIMIT_S = 60.0
"""For an answer of a host."""


def others(start: Launcher) -> list[str]:
    """The hosts of a run besides this one, which is the first."""
    return list(start.host_group.hosts[1:])


def ask_all(start: Launcher, service: str, arguments: Mapping[str, Json]) -> dict[str, Any]:
    """What each of these hosts says; MeasurementError where one has a problem."""
    said = start.host_group.ask(service, arguments, timeout_s=LIMIT_S) if arguments else {}
    for host, answer in said.items():
        if answer.problem is not None:
            raise MeasurementError(f"{host}: {answer.problem}")
    return {host: answer.value for host, answer in said.items()}


def check_hosts(campaign: Campaign, plan: Plan, start: Launcher) -> None:
    """RequestError where tasks do not fit in the processes, or a host does not see the target, or lacks space."""
    if plan.target.scheme == "sim":
        return  # it has hosts of its own
    settings = list(plan.settings or campaign.settings())
    for setting in settings:
        if setting.IS_ONE_PROCESS and start.processes > 1:
            raise RequestError(
                f"{setting.kind} runs in one process, and there are {start.processes}; "
                "hint: start it without mpiexec or srun"
            )
    settings = [setting for setting in settings if setting.needs_scratch]
    for setting in settings:
        if campaign.search is None:
            start.check(setting.tasks, setting.placing)
    if campaign.search is not None:
        start.check(campaign.search.max_tasks, settings[0].placing)
    if plan.target.scheme != "path":
        return
    for path in dict.fromkeys(plan.target.paths):
        seen = start.host_group.ask(
            "path-facts", {host: {"path": str(path)} for host in others(start)}, timeout_s=LIMIT_S
        )
        for host, answer in seen.items():
            _check_path(path, host, answer, to_write=not plan.target.names)
        if plan.target.names:
            # No scratch directory will tell.
            own = (host for host, answer in seen.items() if str(answer.value["identity"]).startswith("local:"))
            start.apart = start.apart.union(own)
    _check_space(plan, start, settings)


def _check_path(path: Path, host: str, answer: Answer, *, to_write: bool) -> None:
    problem = answer.problem or answer.value["problem"]
    if problem is not None:
        raise RequestError(
            f"{path} is not visible on {host}: {problem}; hint: give a directory that all hosts have, or other hosts"
        )
    if not answer.value["is_directory"]:
        raise RequestError(f"{path} is not a directory on {host}; hint: give a directory that all hosts have")
    if to_write and not answer.value["writable"]:
        raise RequestError(
            f"{path} is not writable on {host}: {answer.value['not_writable']}; "
            "hint: give a directory in which you may create files on all hosts"
        )


def _check_space(plan: Plan, start: Launcher, settings: Sequence[Setting]) -> None:
    """Checks that each host with a file system of its own has room for its part of the files."""
    for number, path in enumerate(plan.target.paths):
        seen = ask_all(start, "path-facts", {host: {"path": str(path)} for host in others(start)})
        for host, facts in seen.items():
            if not str(facts["identity"]).startswith("local:") or not facts["size_bytes"]:
                continue
            for setting in settings if plan.settings else ():
                if not setting.is_checked(plan.target):
                    continue
                needed = round(setting.space_in(plan.target)[number] * share_of(start, setting, host))
                if needed > facts["free_bytes"]:
                    raise RequestError(
                        f"the files need {size_text(needed)} in {path} on {host}, which has "
                        f"{size_text(facts['free_bytes'])} free; hint: {setting.smaller}, or another target"
                    )


def share_of(start: Launcher, setting: Setting, host: str) -> float:
    """Returns the part of a setting's tasks that run on a host."""
    return list(start.hosts_of(setting.tasks, setting.placing)).count(host) / setting.tasks


def host_facts_of(start: Launcher) -> dict[str, Json]:
    """``hosts`` of the manifest: facts about each other host, and how busy it is."""
    names = others(start)
    facts = ask_all(start, "facts", {host: {} for host in names})
    loads = loads_of(start)
    return {host: {**facts[host], "load_before": loads[host], "load_after": None} for host in names}


def loads_of(start: Launcher) -> dict[str, Any]:
    """How busy each other host is; None for one that does not say."""
    said = start.host_group.ask("load", {host: {} for host in others(start)}, timeout_s=LIMIT_S)
    return {host: answer.value for host, answer in said.items()}
