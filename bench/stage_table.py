"""The stage benches' results as Markdown: first the goals, then every figure they were made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from round_medians import Spread, spread

MIB, GIB = 1 << 20, 1 << 30
OURS = "Tonnage"
PLAIN = "Tonnage, no checksum"


def rates(cell: dict[str, Any], who: str) -> list[float]:
    """Bytes a second to the point where everything is durable, a round each."""
    return [cell["bytes"] * 1e9 / run["durable_ns"] for run in cell["runs"][who]]


def bare(cell: dict[str, Any]) -> list[float]:
    """Returns the least of the bare devices, a round each."""
    return [min(pair) for pair in zip(cell["runs"]["raw read"], cell["runs"]["raw write"], strict=True)]


def both(cell: dict[str, Any]) -> list[float]:
    """What is left where reading and writing share a device or the processors: a round each."""
    return [1 / (1 / r + 1 / w) for r, w in zip(cell["runs"]["raw read"], cell["runs"]["raw write"], strict=True)]


def ratio(ours: list[float], theirs: list[float]) -> Spread:
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def text(value: Spread, digits: int = 2, scale: float = 1.0) -> str:
    return f"{value.median / scale:,.{digits}f} [{value.low / scale:,.{digits}f}, {value.high / scale:,.{digits}f}]"


def verdict(found: Spread, goal: float, *, most: bool = False) -> str:
    """By the median; open where the interval holds the goal."""
    met = found.median <= goal if most else found.median >= goal
    return ("pass" if met else "miss") + (" (open)" if found.low < goal < found.high else "")


def goal(what: str, cell: dict[str, Any], asked: float, found: Spread, unit: str = "", *, most: bool = False) -> str:
    sign = "≤" if most else "≥"
    return f"| {what} | {cell['title']} | {sign} {asked:g}{unit} | {text(found)} | {verdict(found, asked, most=most)} |"


def large_goals(cell: dict[str, Any]) -> list[str]:
    runs = cell["runs"]
    lines = [
        goal("large files, checksums, ÷ min(raw read, raw write)", cell, 0.85, ratio(rates(cell, OURS), bare(cell)))
    ]
    if PLAIN in runs:
        lines.append(goal("large files, no checksums, ÷ the same", cell, 0.90, ratio(rates(cell, PLAIN), bare(cell))))
    cpu = spread([run["cpu_ns"] / 1e9 / (cell["bytes"] / GIB) for run in runs[OURS]])
    lines.append(goal("CPU of it, checksums", cell, 0.5, cpu, " s/GiB", most=True))
    return lines


def small_goals(cell: dict[str, Any]) -> list[str]:
    asked = {"cp -r": 1.0, "rsync -a": 2.0, "rclone copy": 3.0}
    lines = []
    for name, least in asked.items():
        if name in cell["runs"]:
            against = "cp -r + sync" if name == "cp -r" else f"{name} + sync"
            lines.append(goal(f"small files ÷ {against}", cell, least, ratio(rates(cell, OURS), rates(cell, name))))
    if cell["title"] == "tmpfs to tmpfs" and "cp -r" in cell["runs"]:
        pairs = zip(cell["runs"][OURS], cell["runs"]["cp -r"], strict=True)
        beyond = spread([(ours["durable_ns"] - cp["durable_ns"]) / 1e3 / cell["files"] for ours, cp in pairs])
        lines.append(goal("a small file beyond the same by cp -r", cell, 200, beyond, " µs", most=True))
    return lines


def workers_goals(cell: dict[str, Any]) -> list[str]:
    fixed = [name for name in cell["runs"] if name.endswith("workers")]
    own = rates(cell, "its own number")
    best = [max(found) for found in zip(*(rates(cell, name) for name in fixed), strict=True)]
    return [goal("its own number of workers ÷ the best fixed one", cell, 0.95, ratio(own, best))]


def scan_goals(cell: dict[str, Any]) -> list[str]:
    runs = cell["runs"][OURS]
    million = f"{cell['files']:,} empty files"
    elapsed = spread([run["elapsed_ns"] / 1e9 for run in runs])
    peak = spread([run["peak_rss_bytes"] / MIB for run in runs])
    return [
        goal(f"first scan of {million}", cell, 10, elapsed, " s", most=True),
        goal("peak resident memory of it, interpreter included", cell, 300, peak, " MiB", most=True),
    ]


GOALS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "large": large_goals,
    "small": small_goals,
    "workers": workers_goals,
    "scan": scan_goals,
}


def figures(cell: dict[str, Any]) -> list[str]:
    """Every carrier of a cell; ratios are of Tonnage to it."""
    is_small = cell["kind"] == "small"
    unit = "files/s" if is_small else "MiB/s"
    lines = [
        f"### {cell['title']}: {cell['kind']}",
        "",
        f"| who | durable, {unit} | without the sync | Tonnage ÷ | CPU s/GiB | peak MiB |",
        "|---|---|---|---|---|---|",
    ]
    scale = cell["bytes"] / cell["files"] if is_small else MIB
    ours = OURS if OURS in cell["runs"] else "its own number"
    for name, runs in cell["runs"].items():
        if name.startswith("raw "):
            how = cell["raw"][name.removeprefix("raw ")]
            way = f"{how['tasks']} task(s), {'direct' if how['direct'] == 'yes' else 'cached'}"
            share = text(ratio(rates(cell, ours), runs))
            lines.append(f"| {name} ({way}) | {text(spread(runs), 0, scale)} | | {share} | | |")
            continue
        returned = spread([cell["bytes"] * 1e9 / run["returned_ns"] for run in runs])
        cpu = spread([run["cpu_ns"] / 1e9 / (cell["bytes"] / GIB) for run in runs])
        peaks = [run["peak_rss_bytes"] / MIB for run in runs if run["peak_rss_bytes"]]
        peak = f"{max(peaks):.0f}" if peaks else ""
        numbers = sorted({run["workers"] for run in runs} - {None})
        chosen = f" ({', '.join(map(str, numbers))} at the end)" if numbers else ""
        lines.append(
            f"| {name}{chosen} | {text(spread(rates(cell, name)), 0, scale)} | {text(returned, 0, scale)} "
            f"| {text(ratio(rates(cell, ours), rates(cell, name)))} | {text(cpu)} | {peak} |"
        )
    if "raw read" in cell["runs"]:
        together = both(cell)
        lines.append(
            f"| reading and writing in turn, 1 ÷ (1/r + 1/w) | {text(spread(together), 0, scale)} | "
            f"| {text(ratio(rates(cell, ours), together))} | | |"
        )
    return [*lines, ""]


def markdown(results: dict[str, Any]) -> str:
    host, memory = results["host"], results["host"]["memory_bytes"] / GIB
    machine = f"{host['cpu_model']}, {host['cpu_count']} CPUs, {memory:.0f} GiB, Linux {host['kernel']}"
    goals = [line for cell in results["cells"] for line in GOALS[cell["kind"]](cell)]
    lines = [
        f"# Stage-out, {results['date']}, {results['machine']}",
        "",
        f"{machine}; load average before {host['load_before']:.2f}.",
        f"{results['rounds']} rounds a cell in an order drawn anew for each (seed {results['seed']}). Ratios are of",
        "two runs of the same round; figures are medians with an order-statistic interval. *Durable* is when all",
        "is on the device: Tonnage's own end, and `sync -f` of the destination after the others, which promise",
        "nothing before. Large files are not in the page cache of their file system when a run begins, small ones",
        "were just written. The first run of each was compared byte by byte and does not count. *On disk* and *on",
        "memory* say where the image of a loop device lies.",
        "",
        "| what | where | goal | measured [low, high] | verdict |",
        "|---|---|---|---|---|",
        *goals,
        "",
        "## All figures",
        "",
    ]
    for cell in results["cells"]:
        if "bytes" in cell:
            lines += figures(cell)
    return "\n".join(lines)
