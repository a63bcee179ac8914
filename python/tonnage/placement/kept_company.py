"""What jobs of different kinds on one storage cost each other, by results of ``tonnage company`` that are kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import RequestError
from tonnage.machine.guarded_access import carefully
from tonnage.placement.server_load_lines import age_text, line_directories
from tonnage.placement.site import Site, load_site
from tonnage.placement.where import locate
from tonnage.records import Run
from tonnage.records.company_result_files import KeptCompany, company_in, keep_company
from tonnage.records.line_types import Json, TrialLine
from tonnage.units import format_size, plural, share

if TYPE_CHECKING:
    from tonnage.analysis import Analysis
    from tonnage.analysis.company_costs import CompanyCost

_NEAR = 2.0
"""Powers of two: a job's transfers are of the kind of a result whose transfers are at most so much larger or
smaller."""


@dataclass(frozen=True, slots=True)
class CompanyLoss:
    """What of a load line is lost to a job because jobs of other kinds run there."""

    tasks: float = 0.0
    why: str = ""
    """In words; empty where it is nothing."""


def known_company(site: Site) -> tuple[KeptCompany, ...]:
    """All results that are kept and can be read now; within the policy's ``file_timeout`` for each directory."""
    found: list[KeptCompany] = []
    for directory in line_directories(site):
        try:
            told = carefully(partial(_results_in, directory), [directory], timeout_s=site.policy.file_timeout / 1e9)
        except OSError:
            continue
        found += (KeptCompany(**one) for one in told)
    return tuple(sorted(found, key=lambda one: one.measured_at_s))


def _results_in(directory: Path) -> list[Json]:
    """As a child can tell it."""
    return [asdict(one) for one in company_in(directory)]


def company_loss(
    kept: Iterable[KeptCompany],
    target: str,
    transfer_size: int,
    promised: Mapping[int, float],
    *,
    line: int,
    left: float,
    now_s: float,
) -> CompanyLoss:
    """Of ``left`` tasks of a load line: what a job that reads with ``transfer_size`` loses, because jobs with other
    sizes (``promised``: transfer size → tasks of the line) run beside it.

    A company at the share *s* of its rate leaves 1 - *s* of the storage. Where the interval of what is kept beside it
    lies below that, the rest is its cost: kept ÷ (1 - *s*), in proportion for a smaller share than was measured.
    """
    here = [one for one in kept if one.target == target]
    keeps, told = 1.0, list[str]()
    for size, tasks in promised.items():
        result = _result(here, transfer_size, size)
        if result is None or result.high >= 1 - result.share or tasks <= 0:
            continue
        part = min(1.0, tasks / line / result.share)
        keeps *= 1 - part * (1 - result.ratio / (1 - result.share))
        told.append(_cost_text(result, now_s))
    lost = max(left, 0.0) * (1 - keeps)
    return CompanyLoss(lost, "; ".join(told)) if lost > 0 else CompanyLoss()


def _result(kept: Sequence[KeptCompany], size: int, other: int) -> KeptCompany | None:
    """The newest result of the nearest sizes of reads; None where none is near, or where both are of one kind."""

    def distance(one: KeptCompany) -> float:
        return max(abs(math.log2(one.transfer_size / size)), abs(math.log2(one.beside_transfer_size / other)))

    reads = [one for one in kept if one.operation == one.beside_operation == "read"]
    near = [one for one in reads if distance(one) <= _NEAR]
    if not near:
        return None
    best = min(near, key=lambda one: (distance(one), -one.measured_at_s))
    return None if best.transfer_size == best.beside_transfer_size else best


def _cost_text(one: KeptCompany, now_s: float) -> str:
    percents = f"{share(one.ratio)} [{100 * one.low:.0f}, {100 * one.high:.0f}]"
    return (
        f"reads of {format_size(one.transfer_size)} keep {percents} beside reads of "
        f"{format_size(one.beside_transfer_size)} at {share(one.share)} of their rate, which leaves "
        f"{share(1 - one.share)} (tonnage company, {age_text(now_s - one.measured_at_s)})"
    )


def costs_told(kept: Iterable[KeptCompany], target: str, now_s: float) -> list[str]:
    """Returns a sentence for each pair of kinds of a target that costs more than its share, by its newest result."""
    newest = {
        (one.operation, one.transfer_size, one.beside_operation, one.beside_transfer_size): one
        for one in kept
        if one.target == target and one.operation == one.beside_operation == "read"
    }
    costly = (one for one in newest.values() if one.high < 1 - one.share)
    return [_cost_text(one, now_s) for one in costly if one.transfer_size != one.beside_transfer_size]


def keep_company_results(run: Run, analysis: Analysis) -> str | None:
    """Keeps the results of a run on a storage with a path: in the site's shared directory where this user may write
    there, else in the user's own. Returns what there is to tell; None where there is nothing to keep."""
    paths = [entry["path"] for entry in run.manifest["target"].get("directories") or ()]
    shown = [cost for cost in analysis.company if cost.rate is not None and cost.rate.low is not None]
    if not paths or not shown:
        return None
    undone = {cost: codes for cost in shown if (codes := _undone(cost, analysis))}
    if len(undone) == len(shown):
        return f"the results of company were not kept: {', '.join(sorted(set().union(*undone.values())))}"
    shown = [cost for cost in shown if cost not in undone]
    try:
        site = load_site(Path(paths[0]))
        targets = {locate(path, site, timeout_s=site.policy.file_timeout / 1e9).target for path in paths}
    except RequestError as error:
        return f"the results of company were not kept: {error}"
    lines = {line["record"]: line for line in run.trials()}
    results = [kept for cost in shown if (kept := _kept(cost, lines, run, min(targets))) is not None]
    if len(targets) > 1 or not results:
        return None
    problem = "there is no directory for them"
    for directory in line_directories(site):
        try:
            for kept in results:
                keep_company(directory, kept)
        except OSError as error:
            problem = f"{directory}: {error.strerror}"
            continue
        return f"kept {plural(len(results), 'result')} of company for placement in {directory}"
    return f"the results of company were not kept: {problem}"


def _undone(cost: CompanyCost, analysis: Analysis) -> set[str]:
    """Codes of the findings that undo what the workload did, alone or beside others."""
    curves = {
        (point.op, point.group)
        for point in analysis.points
        if str(point.setting.get("workload") or "") == (cost.workload or "")
    }
    return {doubt.finding.code for doubt in analysis.doubts if doubt.is_about(curves)}


def _kept(cost: CompanyCost, lines: Mapping[str, TrialLine], run: Run, target: str) -> KeptCompany | None:
    """None of workloads that are not streams: their operations have no size."""
    own = next(
        line
        for line in lines.values()
        if line["purpose"] == "measure"
        and line["status"] == "ok"
        and (line["setting"].get("workload") or "", line["setting"].get("beside")) == (cost.workload, cost.beside)
    )
    beside = lines[own["company"]["record"]]
    settings = own["setting"], beside["setting"]
    if cost.rate is None or cost.rate.low is None or cost.rate.high is None:
        return None
    if any(setting["kind"] != "stream" for setting in settings):
        return None
    asked = float(cost.beside.rpartition("@")[2].rstrip("%")) / 100
    return KeptCompany(
        target=target,
        operation=own["phase"],
        transfer_size=settings[0]["transfer_size"],
        beside_operation=str(settings[1]["op"]),
        beside_transfer_size=settings[1]["transfer_size"],
        share=asked * min(cost.reached, 1.0),
        ratio=cost.rate.ratio,
        low=cost.rate.low,
        high=cost.rate.high,
        measured_at_s=time.time(),
        run=str(run.path.resolve()),
    )
