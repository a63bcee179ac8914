"""The results of placement at a scale: a table as Markdown, and one HTML page with pictures."""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles
from typing import Any

from placement_site.figures import exhibits
from placement_site.site_model import DAY_S, MONTH_S
from round_medians import spread
from tonnage.report.answer import Answer, Statement
from tonnage.report.figures.figure import Table
from tonnage.report.page import write_answer

HOUR_S = 3600.0
COLUMNS: tuple[tuple[str, str, float, str], ...] = (
    ("makespan, d", "makespan_s", 1 / DAY_S, "{:,.1f}"),
    ("mean slowdown", "mean_slowdown", 1, "{:,.1f}"),
    ("p95 slowdown", "p95_slowdown", 1, "{:,.0f}"),
    ("p95 wait, h", "p95_wait_s", 1 / HOUR_S, "{:,.0f}"),
    ("above the line", "above_line", 100, "{:.1f} %"),
    ("above twice the line", "twice_above_line", 100, "{:.1f} %"),
    ("network, PB", "network_bytes", 1e-15, "{:,.1f}"),
    ("hosts in use", "hosts_in_use", 100, "{:.0f} %"),
    ("stalled", "stalled", 100, "{:.0f} %"),
    ("run, s", "run_s", 1, "{:.0f}"),
)
"""Title, key of an outcome, factor, format."""
GOAL_S = 0.050
NOTES = (
    (
        "Slowdown: from a job's submission to its end ÷ what it takes alone beside its data. Above the line: share of "
        "servers × time in which more tasks read from a server than its load line. Stalled: host time that jobs spent "
        "beyond what they take alone, as a share of all that they took. Shares of time are of the month. Network: "
        "bytes that jobs read on hosts not beside the server."
    ),
    (
        "FIFO: the first free host, whatever holds the data, and no caps. Random: any of the free hosts, any of the "
        "servers that hold the data. Near: as tonnage submit decides, with a cap as large as the array. Near, caps: as "
        "tonnage submit does. Each submission first brings its user's own arrays at the same server to the cap that "
        "they would get now. Near, caps raised: that also for all users each time an array ends, as if each of them "
        "had a tonnage watch."
    ),
    (
        "A job computes, reads its data once, and computes on. Real jobs read more evenly: the model's load on a "
        "server scatters more about its mean, and so crosses the line more often."
    ),
    (
        "How users behave is chosen and not measured: sizes of jobs and arrays, how unequally servers are wanted, and "
        "how many users tell their jobs' demand (all of those that compute, half of those that read). Nobody changes "
        "what they do when the site is full."
    ),
    (
        "Jobs only read. Every server's line is known and right. Hosts do not fail. The scheduler starts jobs without "
        "delay, first come, first served; a job at its cap holds back nobody. The network is one link a server."
    ),
)


def page(results: dict[str, Any]) -> str:
    """Writes the page as Markdown."""
    asked = results["asked"]
    lines = [
        f"# Placement at a scale: {asked['jobs']:,} jobs, {asked['hosts']:,} hosts, {asked['servers']} servers",
        "",
        model(results),
        "",
        markdown(results_table(results["outcomes"])),
        "",
        f"Draws of servers and jobs: {asked['seeds']}; medians with the range. {caps_text(results)}",
    ]
    for load in sorted({outcome["load"] for outcome in results["others"]}):
        others = [outcome for outcome in results["others"] if outcome["load"] == load]
        lines += ["", f"The same where the jobs ask for {load:.0%} of the servers, one draw:", ""]
        lines.append(markdown(results_table(others)))
    lines += ["", decision_text(results), "", "The load curves:", "", markdown(laws_table(results)), ""]
    return "\n".join([*lines, *(f"- {note}" for note in NOTES), ""])


def write_page(results: dict[str, Any], out: Path) -> Path:
    """One file that asks the network for nothing."""
    asked, host = results["asked"], results["host"]
    facts = (
        ("jobs", f"{asked['jobs']:,}"),
        ("hosts", f"{asked['hosts']:,}"),
        ("servers", f"{asked['servers']}"),
        ("simulated", f"{MONTH_S / DAY_S:.0f} days"),
        ("date", results["date"]),
        ("machine", f"{host['cpu_model']}, {host['cpu_count']} processors"),
    )
    told = (
        Statement("", answer_sentences(results), (caps_text(results), model(results))),
        Statement("", decision_text(results), sure=median(results["decision"]["decided_s"]) <= GOAL_S),
    )
    tables = [(f"Figures, load {asked['load'][0]:.0%}", results_table(results["outcomes"]))]
    for load in sorted({outcome["load"] for outcome in results["others"]}):
        others = [outcome for outcome in results["others"] if outcome["load"] == load]
        tables.append((f"Figures, load {load:.0%}, one draw", results_table(others)))
    tables.append(("The load curves", laws_table(results)))
    answer = Answer("Placement at a scale", facts, told, exhibits(results), tuple(tables), NOTES)
    out.unlink(missing_ok=True)
    return write_answer(answer, out)


def answer_sentences(results: dict[str, Any]) -> str:
    """Returns the answer in two sentences, from the medians."""

    def of(key: str, form: str) -> str:
        values = (
            median(one[key] for one in results["outcomes"] if one["policy"] == policy)
            for policy in ("FIFO", "near", "near, caps")
        )
        plain, near, capped = (form.format(value) for value in values)
        return f"{plain} with plain FIFO, {near} with jobs near their data and {capped} with caps as well"

    return (
        f"Of their time servers are above their load line {of('above_line', '{:.1%}')}. "
        f"95 % of the jobs have a slowdown below {of('p95_slowdown', '{:,.0f}')}."
    )


def caps_text(results: dict[str, Any]) -> str:
    """Returns how often an array got the smallest cap."""
    every = (one["single_caps"] for one in results["outcomes"] if one["policy"] == "near, caps")
    shares = [share for share in every if share is not None]
    if not shares:
        return "No array was capped."
    return (
        f"Of the arrays that were capped {median(shares):.0%} were to run one job at once, as others used the line "
        "when they came."
    )


def model(results: dict[str, Any]) -> str:
    """What was simulated, in a few sentences."""
    asked, world = results["asked"], results["world"]
    return (
        f"A model in virtual time: {world['submissions']:,} submissions with {asked['jobs']:,} jobs arrive in 30 "
        f"days, by day and by night; each job takes a host. {world['beside']} hosts are beside each server. The "
        f"servers' load lines are {min(world['lines'])} to {max(world['lines'])} tasks, by curves that were measured; "
        f"the link of each carries {world['link_bytes_per_s'] / 1e9:g} GB/s. The jobs ask for "
        f"{asked['load'][0]:.0%} of what all servers carry and, undisturbed, for {asked['busy']:.0%} of the hosts. "
        "The decisions are those of tonnage submit, by the same functions."
    )


def decision_text(results: dict[str, Any]) -> str:
    """Describes the decision beside its goal."""
    found = results["decision"]
    taken, read = found["decided_s"], found["read_s"]
    p99_s = quantiles(taken, n=100)[98]
    verdict = "pass" if p99_s <= GOAL_S else "miss"
    return (
        f"A decision takes {1e3 * median(taken):.1f} ms (median; p99 {1e3 * p99_s:.1f} ms; goal below "
        f"{1e3 * GOAL_S:.0f} ms: {verdict}) with {found['hosts']:,} hosts, {found['servers']} servers, "
        f"{found['listed']:,} rows in the list of jobs and {found['ledger']:,} submissions in the ledger. To read the "
        f"kept lists of hosts and jobs before it takes {1e3 * median(read):.1f} ms more. The machine's load average "
        f"was {found['load']:.1f}."
    )


def policies(outcomes: list[dict[str, Any]]) -> list[str]:
    """Returns the policies in the order in which they ran."""
    return list(dict.fromkeys(outcome["policy"] for outcome in outcomes))


def results_table(outcomes: list[dict[str, Any]]) -> Table:
    """Makes a row a policy: the median of the seeds, with their range."""
    rows = []
    for policy in policies(outcomes):
        mine = [outcome for outcome in outcomes if outcome["policy"] == policy]
        cells = (quoted([factor * one[key] for one in mine], form) for _, key, factor, form in COLUMNS)
        rows.append((policy, *cells))
    return Table.of(("policy", *(title for title, _, _, _ in COLUMNS)), tuple(rows))


def laws_table(results: dict[str, Any]) -> Table:
    """Lists each curve with its source."""
    rows = [
        (
            law["name"],
            str(law["line"]),
            ", ".join(
                f"{tasks}: {rate / max(law['rates']):.0%}"
                for tasks, rate in zip(law["tasks"], law["rates"], strict=True)
            ),
            law["source"],
        )
        for law in sorted(results["world"]["laws"], key=lambda law: law["line"])
    ]
    return Table.of(("curve", "load line, tasks", "tasks: share of the plateau", "source"), tuple(rows))


def markdown(table: Table) -> str:
    rows = [table.headings, ("---",) * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def quoted(values: list[float], form: str) -> str:
    """Formats the median [low, high]; one figure where all look the same."""
    found = spread(values)
    low, high = form.format(found.low), form.format(found.high)
    return low if low == high else f"{form.format(found.median)} [{low}, {high}]"
