"""The search for the load line over transfer sizes: a schedule that asks ``analysis`` which number of tasks and which
transfer size to measure next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage.analysis.load_line.surface import SurfaceSearch, SurfaceTrial, sizes_between
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.probe import Op, Probe
from tonnage.campaign.schedule import Trial
from tonnage.campaign.search_bounds import SearchSpace
from tonnage.records import loop_rate
from tonnage.records.line_types import StopReason, TrialLine


class SurfaceProbe(Probe):
    """Uses the whole budget. A file holds a few of the largest transfers, and all sizes work on the same files."""

    short_trials = 90
    fewest_transfers = 2

    def __init__(self, campaign: Campaign, seed: int, space: SearchSpace, *, device: bool) -> None:
        super().__init__(campaign, seed, space, device=device)
        if campaign.search is None or campaign.search.surface is None:
            raise ValueError("a campaign without search.surface has no surface")
        smallest, largest = campaign.search.surface
        self._base = replace(self._base, transfer_size=largest, block_size=largest)
        sizes, most = sizes_between(smallest, largest), campaign.search.max_tasks
        self._surfaces = {op: SurfaceSearch(op, most, sizes, seed) for op in campaign.search.op}

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        for number, op in enumerate(self._search.op):
            mine = [line for line in lines if line["phase"] == op and line["purpose"] == "measure"]
            if any(line["status"] == "failed" for line in mine):
                continue  # others would meet the same fault; its record says which
            # A requested operation without any record would be a blank: it gets one trial, however late it is.
            if mine and self._deadline(number) - spent_ns < self.trial_ns:
                continue
            trials = _trials(mine)
            rated = {(one.tasks, one.transfer_size) for one in trials}
            tried = {(line["setting"]["tasks"], line["setting"]["transfer_size"]) for line in mine}
            tasks, transfer_size = self._surfaces[op].next(trials, self.trial_ns, tried - rated)
            setting = self._setting_of(op, tasks, transfer_size, lines)
            equal = ("tasks", tasks), ("transfer_size", transfer_size)
            repetition = sum(1 for line in mine if all(line["setting"][key] == value for key, value in equal))
            return Trial(setting, repetition, repetition)
        return None

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        found: dict[int, StopReason] = {}
        for number, op in enumerate(self._search.op):
            mine = [line for line in lines if line["phase"] == op and line["purpose"] == "measure"]
            later = {line["phase"] for line in lines} & set(self._search.op[number + 1 :])
            failed = any(line["status"] == "failed" for line in mine)
            found |= {line["trial"]: "failed" if failed else "budget" if later else cut for line in mine}
        return found

    def _setting_of(self, op: Op, tasks: int, transfer_size: int, lines: Sequence[TrialLine]) -> StreamSetting:
        same = [line["setting"] for line in lines if line["phase"] == op and line["purpose"] == "measure"]
        same = [one for one in same if (one["tasks"], one["transfer_size"]) == (tasks, transfer_size)]
        # Repetitions are of one setting.
        length_ns = int(same[0]["time_limit_ns"]) if same else self._turns_ns(tasks, transfer_size, lines)
        setting = self._setting(op, tasks, lines)
        return replace(setting, transfer_size=transfer_size, time_limit_ns=length_ns)


def _trials(lines: Sequence[TrialLine]) -> list[SurfaceTrial]:
    rates = ((line["setting"], loop_rate(line)) for line in lines if line["status"] == "ok")
    return [SurfaceTrial(one["tasks"], one["transfer_size"], rate) for one, rate in rates if rate]
