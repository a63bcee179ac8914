"""The results as Markdown: first the goals, then every figure they were made of."""

from __future__ import annotations

from typing import Any

from cell_load import MIB
from round_medians import Spread


def verdict(found: Spread, goal: float) -> str:
    """By the median; said to be open where the interval holds the goal, so that the next run might say otherwise."""
    word = "pass" if found.median >= goal else "miss"
    return f"{word} (open)" if found.low < goal <= found.high else word


def rate_text(value: float, transfer: int) -> str:
    """A rate of operations per second in the unit of its kind: MiB/s for large transfers."""
    if transfer >= MIB:
        return f"{value * transfer / MIB:,.0f} MiB/s"
    return f"{value / 1e6:.3f} M/s" if value < 1e7 else f"{value / 1e6:.1f} M/s"


def goal_rows(results: dict[str, Any]) -> list[str]:
    rows = ["| what | goal | measured [low, high] | verdict |", "|---|---|---|---|"]
    for cell in results["cells"]:
        for goal in cell["goals"]:
            found = Spread(**goal["found"])
            if goal["against"]:
                per_cpu = ", a CPU second" if goal["cpu"] else ""
                asked = f"{goal['of']} ≥ {goal['at_least']:g} × {goal['against']}{per_cpu}"
                said = f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}]"
            else:
                asked = f"{goal['of']} ≥ {goal['at_least'] / 1e6:g} M operations/s a task"
                said = f"{found.median / 1e6:.1f} M/s [{found.low / 1e6:.1f}, {found.high / 1e6:.1f}]"
            rows.append(f"| {cell['title']} | {asked} | {said} | {verdict(found, goal['at_least'])} |")
    for what, figure in results["memory"]["loads"].items():
        limit, own = results["memory"]["limit_bytes"], figure["own_bytes"]
        said = f"{own / MIB:.0f} MiB, with {figure['buffer_bytes'] / MIB:.0f} MiB of buffers beside"
        asked = f"≤ {limit / MIB:.0f} MiB without buffers"
        word = "pass" if own <= limit else "miss"
        rows.append(f"| memory of {results['memory']['tasks']} tasks, {what} | {asked} | {said} | {word} |")
    return rows


def figure_rows(results: dict[str, Any]) -> list[str]:
    rows = ["| cell | who | median [low, high] | CPU s per million operations |", "|---|---|---|---|"]
    for cell in results["cells"]:
        for name, figure in cell["contenders"].items():
            rate = Spread(**figure["operations_per_s"])
            low, mid, high = (rate_text(value, cell["transfer"]) for value in (rate.low, rate.median, rate.high))
            cpu = figure["cpu_s_per_million"]
            said = "start-up only" if cpu is None else f"{cpu:.3f}" if cpu < 1 else f"{cpu:.2f}"
            rows.append(f"| {cell['title']} | {name} | {mid} [{low.split()[0]}, {high.split()[0]}] | {said} |")
    return rows


def markdown(results: dict[str, Any]) -> str:
    host, memory = results["host"], results["host"]["memory_bytes"] / 2**30
    machine = f"{host['cpu_model']}, {host['cpu_count']} CPUs, {memory:.0f} GiB, Linux {host['kernel']}"
    lines = [
        f"# Bench, {results['date']}, {results['machine']}",
        "",
        f"{machine}; load average before {host['load_before']:.2f}.",
        f"{results['rounds']} rounds a cell, {results['seconds']:g} s a run, in an order drawn anew for each round",
        f"(seed {results['seed']}). Ratios are of two runs of the same round. Figures are medians, with an",
        f"order-statistic interval of {results['confidence']:.1%} confidence.",
        "CPU is of the whole process tree, less what the same program uses for two operations a task.",
        "Who ran: " + ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + ".",
        "",
        "## Goals",
        "",
        *goal_rows(results),
        "",
        "## All figures",
        "",
        *figure_rows(results),
        "",
    ]
    return "\n".join(lines)
