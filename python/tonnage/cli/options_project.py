"""Commands that ask several runs, or a run beyond what it measured: history, crossover, project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.cli.option import Command, Option, count, share
from tonnage.cli.options_placement import SITE

if TYPE_CHECKING:
    from tonnage.analysis.compare.normalise import Basis


def _rate(text: str) -> int:
    from tonnage.errors import RequestError
    from tonnage.units import parse_rate

    if (found := parse_rate(text)) == 0:
        raise RequestError(f"{text!r} is no rate above 0; hint: write it like 2.1GB/s")
    return found


def _operations(text: str) -> tuple[str, ...]:
    from tonnage.analysis.tiers.run import METRICS
    from tonnage.errors import RequestError

    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for part in found:
        if part not in METRICS:
            raise RequestError(f"{part!r} is not an operation of tiers; hint: write one of {', '.join(METRICS)}")
    return found


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _since(text: str) -> float:
    from tonnage.cli.placement.since import parse_since

    return parse_since(text)


JSON = Option(("--json",), "print one JSON object on stdout and nothing else there", is_flag=True)
PAGE = Option(("--out",), "also write a page with the picture", "FILE", completes="file")

HISTORY = Command(
    "history",
    "tell when runs became faster or slower, and what changed then",
    "Puts runs in order of time. Of each setting the series of its levels is searched for changes, and beside each "
    "change stands what the manifests say was changed then: kernel, mount options, versions, host, file system. Of "
    "histories in which nothing changed at most one in twenty is given a change. The verdicts are faster, slower, no "
    "change shown. With --servers it tells of the load of file servers over time (docs/watch.md).",
    (
        Option(
            ("runs",),
            "run directories, or directories of them; with --servers the names of file servers, without one all",
            "DIR",
            optional=True,
            repeats=True,
            completes="directory",
        ),
        Option(
            ("--servers",),
            "of file servers instead, from what `tonnage watch` kept: when each was above its load line, whose jobs "
            "were there, and what it carried when",
            is_flag=True,
        ),
        Option(("--since",), "with --servers: from a date on, or so long ago", "TIME", "all", parse=_since),
        Option(("--threshold",), "least change of a throughput that is called one", "SHARE", "2%", parse=share),
        Option(
            ("--per",),
            "divide rates by disks, servers, nodes or links: as [normalise] of each run's campaign says (disk), or one "
            "for each DIR, for all runs in it (disk=60,84; link=10Gbit/s)",
            "THING",
        ),
        Option(
            ("--fail-if",),
            "exit with 1 where the newest change of a setting has this verdict",
            choices=("slower", "faster", "changed"),
        ),
        PAGE,
        SITE,
        JSON,
    ),
    (
        ("tonnage history tonnage-runs --out history.html", "all runs of a directory, as a picture"),
        ("tonnage history --fail-if slower nightly/*", "for a pipeline: exit code 1 where it got slower"),
        ("tonnage history --per disk=60,84 old new", "all runs of two directories, for each of their disks"),
        ("tonnage history --servers --since 30d rcss1", "when was this file server above its load line?"),
    ),
)

CROSSOVER = Command(
    "crossover",
    "tell from how many nodes on which of two tiers wins",
    "Sets a tier that every node has for itself against one that all share: from the rate of one node and the ceiling "
    "of what is shared follows where they cross, with an interval. Which tier is which follows from the file systems, "
    "or from what most nodes got. Of two published tiers it also says why their authors named another figure.",
    (
        Option(("first",), "a run, published:summit-gpfs or published:summit-nvme", "A", completes="directory"),
        Option(("second",), "the other tier, likewise", "B", completes="directory"),
        Option(("--op",), "only these of write, read, open-write-close", "OP[,OP]", "all in common", parse=_operations),
        Option(("--nodes",), "also tell which wins at this many nodes", "N", parse=count),
        Option(("--shared",), "which of A and B all nodes share, where the records do not tell", "RUN"),
        Option(("--per-node",), "state the rate of one node on the tier of its own", "RATE", "measured", parse=_rate),
        Option(("--ceiling",), "state what the shared tier does not exceed", "RATE", "measured", parse=_rate),
        Option(
            ("--per",),
            "also divide the rates: by what each node has of its own and what all share, one for A and one for B "
            "(disk=2,600; link=25Gbit/s,400Gbit/s), or as [normalise] of their campaigns says (disk)",
            "THING",
        ),
        PAGE,
        JSON,
    ),
    (
        ("tonnage crossover published:summit-gpfs published:summit-nvme", "what the published ceilings say"),
        ("tonnage crossover --nodes 64 nvme-run lustre-run --out crossover.html", "of two runs, and who wins at 64"),
        (
            "tonnage crossover --ceiling 400GB/s nvme-run lustre-run",
            "from one node, where the system's ceiling is known",
        ),
    ),
)


def _per(text: str) -> Basis:
    from tonnage.analysis.compare.normalise import parse_per

    return parse_per(text)


def _link(text: str) -> Basis:
    from tonnage.analysis.compare.normalise import parse_link

    return parse_link(text)


PROJECT = Command(
    "project",
    "tell what to expect at a size that was not measured",
    "Continues the curve of RUN that leads to so many tasks on so many nodes: with an interval from the noise of the "
    "repetitions and from how far laws part that explain the measured points alike, bounded by the measured ceilings. "
    "It says how far beyond the measured points that is, and refuses what the points cannot tell.",
    (
        Option(("run_directory",), "a run directory", "RUN", completes="directory"),
        Option(("--tasks",), "tasks in all", "M", "as many on each node as in the run", parse=count),
        Option(("--nodes",), "nodes that they run on", "N", "the run's", parse=count),
        Option(("--op",), "only these operations", "OP[,OP]", "all", parse=_names),
        Option(("--per",), "also divide by so many of a thing, such as disk=10", "THING=COUNT", parse=_per),
        Option(("--link",), "what the link of each node carries, such as 10Gbit/s: a ceiling", "RATE", parse=_link),
        PAGE,
        JSON,
    ),
    (
        ("tonnage project tonnage-runs/probe --tasks 64", "twice the tasks that were measured, on the same node"),
        ("tonnage project sweep --nodes 128 --link 25Gbit/s --out expected.html", "more nodes, as a picture"),
    ),
)

PROJECTING = (HISTORY, CROSSOVER, PROJECT)
