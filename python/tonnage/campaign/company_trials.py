"""Trials of company alone, which tell the rate that a share of it is of: a schedule around another one."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tonnage.campaign.kinds import WORKLOADS, Setting, setting_of
from tonnage.campaign.kinds.named_company import parse_company, table_of
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Schedule, Trial
from tonnage.errors import RequestError
from tonnage.records.line_types import StopReason, TrialLine

COMPANY_ALONE, COMPANY = "company-alone", "company"
"""Purposes of a record: a workload alone that is to be company, and company while another one is measured."""
_MORE_TASKS = 4
"""Of company, for each task that it has alone."""
_LATEST = 5
"""Trials of a company alone whose median its share is of."""
FEWEST_ALONE = 3
"""Trials of a company alone before it is company. Later ones of a campaign that measures it alone count as well."""


def company_setting(text: str, length_ns: int, alike: Setting) -> Setting:
    """The setting of a company alone, in the same directories of the target as ``alike`` is measured in."""
    table = table_of(parse_company(text).name, length_ns)
    section = WORKLOADS[table["kind"]].model_validate(table, context={"written": False})
    return replace(section.settings()[0], devices=alike.devices, device=alike.device)


def beside_setting(setting: Setting) -> Setting:
    """The same while it is company: by more tasks, for a task that waits starts nothing, and company is offered at a
    rate, not by a number of tasks."""
    return setting.by_more_tasks(_MORE_TASKS)


def company_settings(campaign: Campaign) -> list[Setting]:
    """Returns the setting of each company of a campaign, alone."""
    every = campaign.settings()
    alike = {setting.beside: setting for setting in every if setting.beside is not None}
    return [company_setting(text, campaign.company_length_ns, alike[text]) for text in campaign.companies]


def company_bytes(campaign: Campaign) -> int:
    """Bytes of files of company at once, at most: one company works at a time."""
    return max((beside_setting(setting).space_bytes for setting in company_settings(campaign)), default=0)


def rates_alone(lines: Iterable[TrialLine], setting: Setting) -> list[float]:
    """Returns the operations per second of each trial of a company alone."""
    alone = (line for line in lines if line["purpose"] in ("measure", COMPANY_ALONE) and line["status"] == "ok")
    return [
        line["operations"] * 1e9 / line["elapsed_ns"]
        for line in alone
        if line["elapsed_ns"] and line["setting"].get("workload") == setting.workload and _is_of(line, setting)
    ]


def _is_of(line: TrialLine, setting: Setting) -> bool:
    return setting_of(line["setting"]) == setting


def offered_rate(lines: Iterable[TrialLine], text: str, setting: Setting) -> tuple[int, float]:
    """Operations per second that a company is offered, and those it reaches alone: the median of its latest trials,
    so that a storage that drifts takes its company with it. RequestError where it did nothing alone."""
    rates = rates_alone(lines, setting)
    if not rates or max(rates) <= 0:
        raise RequestError(f"{setting.workload} did nothing alone, so there is no rate to offer it")
    alone = statistics.median(rates[-_LATEST:])
    return max(round(parse_company(text).share * alone), 1), alone


class WithCompany:
    """A schedule whose trials beside a company come after trials of that company alone."""

    def __init__(self, inner: Schedule, length_ns: int) -> None:
        self._inner = inner
        self._length_ns = length_ns
        self._waiting: Trial | None = None

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        trial, self._waiting = self._waiting or self._inner.next(lines, spent_ns), None
        if trial is None or trial.setting.beside is None:
            return trial
        setting = company_setting(trial.setting.beside, self._length_ns, trial.setting)
        tried = [line for line in lines if line["purpose"] == COMPANY_ALONE and _is_of(line, setting)]
        done = len(rates_alone(lines, setting))
        if done >= FEWEST_ALONE or any(line["status"] == "failed" for line in tried):
            return trial
        self._waiting = trial
        return Trial(setting, done, done, COMPANY_ALONE)

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        return self._inner.stopped(lines, cut)
