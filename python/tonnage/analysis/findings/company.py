"""Company that did less than it was offered, and pairs of workloads that a run had no time to measure."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tonnage.analysis.company_costs import LEAST_BLOCKS, CompanyCost, unmeasured_pairs
from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding, subject
from tonnage.analysis.results import Finding
from tonnage.records.line_types import Json
from tonnage.units import duration, operations, plural, share

SHORT_NS = 2 * 10**9
"""In shorter trials a company that is behind is not yet in the way as much as it will be."""
_BLOCKS = 4
"""That a budget is named for: one more than an interval needs."""
_SPARE = 2
"""So many times the time that trials of this run took: with a larger budget ``tonnage company`` makes them longer."""
_ALONE = 3
"""Trials of each company alone, before it is company."""


@finding("company-below-rate")
def company_below_rate(evidence: Evidence) -> Iterator[Finding]:
    for one in evidence.company:
        if one.at_offered_rate:
            continue
        yield Finding(
            "company-below-rate",
            subject(one.workload or one.op, f"beside {one.beside}", one.tasks),
            f"the company did {share(one.reached)} of its offered rate of {operations(one.offered_operations_per_s)}, "
            "its start before each trial included",
            "What is left beside it is what less company leaves than was asked for: "
            + _more_company(_usual_ns(evidence, one)),
        )


def _usual_ns(evidence: Evidence, cost: CompanyCost) -> float:
    """How long a trial beside this company took."""
    return median(
        line["elapsed_ns"] or 0
        for line in evidence.trials
        if line["purpose"] == "measure" and line["setting"].get("beside") == cost.beside
    )


def _more_company(trial_ns: float) -> str:
    if trial_ns >= SHORT_NS:
        return "offer a smaller share."
    return (
        f"trials of {duration(trial_ns)} may end before its operations wait for their turn, so give a longer --budget "
        "(time_limit in a campaign) first, then a smaller share."
    )


@finding("company-not-measured")
def company_not_measured(evidence: Evidence) -> Iterator[Finding]:
    manifest = evidence.run.manifest
    campaign = manifest.get("campaign") or {}
    missing = [] if manifest.get("search") else unmeasured_pairs(evidence.company, campaign)
    if not missing:
        return
    yield Finding(
        "company-not-measured",
        f"{plural(len(missing), 'pair')} of workloads",
        f"{_remedy(evidence, campaign)} would give an interval; fewer than {LEAST_BLOCKS} trials both alone and beside "
        f"it have {some(missing, 4)}",
        "Ratios of these pairs, where there are any, are of single trials: measure longer, or fewer workloads.",
    )


def _remedy(evidence: Evidence, campaign: Json) -> str:
    if evidence.run.state == "interrupted":
        return "tonnage run --resume"
    budget_ns, tables = (campaign.get("budget") or {}).get("time_ns"), campaign.get("workloads") or ()
    purposes = [line["purpose"] for line in evidence.trials]
    done = sum(purpose in ("measure", "company-alone") for purpose in purposes)
    if not budget_ns or not done:
        return "[repeat] count = 4"
    settings = sum(len(table.get("beside") or (None,)) for table in tables)
    companies = {text for table in tables for text in table.get("beside") or () if text != "alone"}
    wanted = settings * _BLOCKS + len(companies) * _ALONE
    seconds = -(-_SPARE * wanted * budget_ns // (done * 10**9))
    return f"--budget {seconds}s"
