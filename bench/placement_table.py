"""The results of the placement bench as Markdown: first the goals, then every cell beside the published figures."""

from __future__ import annotations

from typing import Any

from round_medians import Spread, spread
from stage_table import text, verdict
from tonnage.published import figures

FAR, AUTO = "far, 50 wide", "near, --cap auto"
FAR_GZIP, NEAR_GZIP = "one large file, far", "one large file, near"
PLAIN_CPU, PLACED_CPU = "computing, by hand", "computing, by tonnage"


def near(width: int) -> str:
    """Returns the cell of so many at once beside the data."""
    return f"near, {width} wide"


def ratio(results: dict[str, Any], ours: str, theirs: str) -> Spread:
    """Returns the ratio of the two cells of each round."""
    seconds = results["elapsed_s"]
    return spread([a / b for a, b in zip(seconds[ours], seconds[theirs], strict=True)])


def best_fixed(results: dict[str, Any]) -> str:
    """The near cell of a fixed width with the smallest median. Chosen after the fact, which is in its favour."""
    seconds = results["elapsed_s"]
    fixed = [name for name in seconds if name.startswith("near, ") and name != AUTO]
    return min(fixed, key=lambda name: spread(seconds[name]).median)


def goals(results: dict[str, Any]) -> list[str]:
    best = best_fixed(results)
    asked = (
        (f"{AUTO} ÷ the best fixed width ({best})", 1.05, ratio(results, AUTO, best)),
        (f"{AUTO} ÷ {FAR}", 0.72, ratio(results, AUTO, FAR)),
        (f"{PLACED_CPU} ÷ {PLAIN_CPU}", 1.02, ratio(results, PLACED_CPU, PLAIN_CPU)),
    )
    return [
        f"| {what} | ≤ {most:g} | {text(found, 3)} | {verdict(found, most, most=True)} |" for what, most, found in asked
    ]


def published() -> dict[str, str]:
    """Cells that were published, in seconds."""
    found = {
        (row["job"], row["placement"], row["concurrency"]): row["real_s"] for row in figures("iobsub")["iobsub-runs"]
    }
    return {
        FAR_GZIP: f"{found['gzip 1 GB', 'over NFS', '1']} s (1 GB)",
        NEAR_GZIP: f"{found['gzip 1 GB', 'on the fileserver', '1']} s (1 GB)",
        FAR: f"{found['50 x bwa', 'over NFS', '50']} s",
        near(8): f"{found['50 x bwa', 'on the fileserver', '8']} s",
    }


def about(host: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """On what, and with what, it was measured."""
    device, link = (f"{asked[key] / 1e6:g} MB/s" for key in ("device_bytes_per_s", "link_bytes_per_s"))
    return [
        f"{host['cpu_model']}, {host['cpu_count']} CPUs, Linux {host['kernel']}; load average before",
        f"{host['load_before']:.2f}, after {host['load_after']:.2f}. The seven hosts are namespaces of this machine",
        "and share its processors: what differs between far and near is the way to the storage alone.",
        "",
        f"- Storage: GlusterFS on a device of {device}, {asked['latency_us'] / 1000:g} ms a read or write;",
        f"  links of {link}.",
        f"- Jobs: gzip -1 of {asked['copies']} files of {asked['mib']} MiB, one each, and of a single one of",
        f"  {asked['large_mib']} MiB; {asked['compute_copies']} copies that compute and read nothing from the storage.",
        "  Far, near at fixed widths and by hand are arrays of Slurm's own.",
    ]


def markdown(results: dict[str, Any]) -> str:
    host, asked, line, seconds = (results[key] for key in ("host", "asked", "line", "elapsed_s"))
    beside = published()
    lines = [
        f"# Placement at small scale, {results['date']}, {results['machine']}",
        "",
        *about(host, asked),
        f"- Load line: {line['tasks']} tasks [{line['low']}, {line['high']}], plateau",
        f"  {line['plateau_bytes_per_s'] / 1e6:.1f} MB/s, by `tonnage probe` beside the data.",
        f"- A computing copy alone waits {results['compute_io_share']:.0%} of its time, by its profile.",
        f"- {asked['rounds']} rounds, order drawn anew in each; ratios within a round; order-statistic intervals of",
        f"  {spread(seconds[AUTO]).confidence:.0%}.",
        "",
        "| goal | asked | found | |",
        "|---|---|---|---|",
        *goals(results),
        "",
        "Seconds are from the scheduler's receipt to the end of the last job, the submitting command beside them; of a",
        "single large file from the command's start to its end.",
        "",
        "| cell | seconds | ÷ far, 50 wide | submission, s | published |",
        "|---|---|---|---|---|",
    ]
    for name, found in seconds.items():
        wide = text(ratio(results, name, FAR)) if name in (AUTO, FAR) or name.startswith("near, ") else ""
        asking = [one for one in results["submit_s"][name] if one is not None]
        took = text(spread(asking)) if asking else ""
        lines.append(f"| {name} | {text(spread(found))} | {wide} | {took} | {beside.get(name, '')} |")
    published_ratio = 2700 / 3780
    lines += ["", f"Published: 45 of 63 minutes, a ratio of {published_ratio:.2f}, one run each."]
    return "\n".join([*lines, ""])
