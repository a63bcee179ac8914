"""Published figures beside ours, in the shape in which they were published, in units that are what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tonnage import published, units
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.report import phrases
from tonnage.report.figures.figure import Column, Table, text_column
from tonnage.report.published import ceph_snapshots, summit_tiers
from tonnage.report.sections import tiers
from tonnage.units import BANDWIDTH

NOTHING = units.NOT_MEASURED
MIB_PER_S = 1 << 20
_KIB_THOUSAND = 1024 * 1000
"""Bytes per second of what was computed as KiB/s ÷ 1000 and printed as MB/s."""
_MBIT_BYTES = 125_000
"""Bytes per second of a Mbit/s."""
_WRITES, _READS = ("write", "create"), ("read",)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published table with a row or a column of ours, and what to keep in mind."""

    title: str
    table: Table
    notes: tuple[str, ...] = ()


def comparisons(analysis: Analysis) -> list[Comparison]:
    """Those of the figures that the campaign names; none where it names none, or nothing was measured."""
    make = _EXPERIMENTS.get(analysis.published or "")
    if make is None or not analysis.points:
        return []
    found = make(analysis)
    notes = [*found[-1].notes, *(f"Published: {doubt}." for doubt in published.doubts(analysis.published or ""))]
    if analysis.scale != 1.0:
        times = f"This run did {analysis.scale:g} times the work of its file: compare rates, not times."
        notes.insert(0, times)
    return [*found[:-1], Comparison(found[-1].title, found[-1].table, tuple(notes))]


def _of(analysis: Analysis, workload: str, phases: tuple[str, ...] = ()) -> list[Point]:
    """The points of a workload, by its name in the campaign file."""
    points = [point for point in analysis.points if point.workload == workload]
    return [point for point in points if not phases or point.op in phases]


def _seconds(ns: int) -> str:
    return units.duration(ns)


def _knox(analysis: Analysis) -> list[Comparison]:
    """The whole experiment: the tables of its parts."""
    parts = [make for name, make in _EXPERIMENTS.items() if name.startswith("knox-epouta-")]
    return [comparison for make in parts for comparison in make(analysis)]


def _sob(analysis: Analysis) -> list[Comparison]:
    """A row a host, a column a test and phase: seconds, and MB/s of 10⁶ bytes; below them ours of all together."""
    tests = [(test, op) for test in "1234" for op in ("write", "read") if (test, op) != ("2", "read")]
    theirs: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    layouts: dict[str, str] = {}
    for row in published.figures("knox-epouta-sob")["knox-epouta-sob"]:
        cell = f"{row['elapsed_s']} s, {units.rate(float(row['bandwidth_MB_per_s']) * MIB_PER_S)}"
        theirs.setdefault((row["layout"], row["host"]), {})[row["test"], row["op"]] = cell
        layouts[row["hosts"]] = row["layout"]
    ours: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for test, op in tests:
        # The random reads of test 3 are a workload of their own: they follow another one's writes.
        names = (f"test-{test}", f"test-{test}-reads")
        points = [p for name in names for p in _of(analysis, name, _WRITES if op == "write" else _READS)]
        for point in sorted(points, key=lambda point: point.tasks):
            moved = point.median if point.metric == BANDWIDTH else point.bandwidth_bytes_per_s
            cell = f"{_seconds(point.elapsed_ns)}, {units.rate(moved)}"
            ours.setdefault(_whose(point, layouts), {})[test, op] = cell
    # Ours of hosts that they used stand below theirs; any other come last.
    rows = sorted([*theirs.items(), *ours.items()], key=lambda row: row[0][0])
    found = tuple((*whose, *(cells.get(test, NOTHING) for test in tests)) for whose, cells in rows)
    notes = (
        "sob's MB is 2²⁰ bytes; all rates here are MB/s of 10⁶ bytes. Its random reads (test 3) were never reported.",
        "Our figures are those of all tasks together, first start to last end; fsync where `sync` asks for it.",
    )
    columns: tuple[str | Column, ...] = (
        text_column("hosts"),
        text_column("host"),
        *(f"test {test} {op}" for test, op in tests),
    )
    return [Comparison("sob on NFS between Knox and ePouta", Table.of(columns, found), notes)]


def _whose(point: Point, layouts: Mapping[str, str]) -> tuple[str, str]:
    """The first two cells of a row of ours: a published set of hosts, another one, or a number of tasks."""
    if hosts := "+".join(point.setting.get("hosts") or ()):
        return (layouts[hosts], "this run, together") if hosts in layouts else ("this run", hosts)
    return "this run", "1 task" if point.tasks == 1 else f"{point.tasks} tasks together"


def _workflows(analysis: Analysis) -> list[Comparison]:
    """A row a workflow and partition: one run of theirs, and the median of ours."""
    theirs = {
        (row["workflow"], row["partition"]): row
        for row in published.figures("knox-epouta-workflows")["knox-epouta-workflows"]
    }
    names = dict.fromkeys(workflow for workflow, _ in theirs)
    ours = {(point.workload, str(point.setting.get("partition") or "")): point for point in analysis.points}
    keys = dict.fromkeys([*theirs, *(key for key in ours if key[0] in names)])
    rows = []
    for workflow, partition in sorted(keys, key=lambda key: list(names).index(key[0])):
        row, point = theirs.get((workflow, partition)), ours.get((workflow, partition))
        nodes = f"{row['nodes_knox']} + {row['nodes_epouta']}" if row else NOTHING
        said = f"{row['elapsed_s']} s" if row else NOTHING
        found = (_seconds(point.elapsed_ns), str(point.repetitions)) if point else (NOTHING, NOTHING)
        rows.append((workflow, partition or NOTHING, nodes, said, *found))
    columns = (text_column("what"), text_column("where"), "nodes of Knox + ePouta", "published", "this run", "n")
    return [Comparison("Workflows over six partitions", Table.of(columns, tuple(rows)))]


def _ffb(analysis: Analysis) -> list[Comparison]:
    return [_ffb_limits(analysis), _ffb_readers(analysis)]


def _ffb_limits(analysis: Analysis) -> Comparison:
    """One writer and many on one OST, theirs beside ours; then our writers × devices."""
    points = _of(analysis, "writers", ("write",))
    devices = sorted({_devices(point) for point in points})
    single = [point for point in points if _devices(point) == 1]
    one = [point for point in single if point.tasks == 1]
    limits = {row["what"]: row for row in published.figures("lcls-ffb")["lcls-ffb-limits"]}
    rows = [
        (name, f"{limits[what]['value']} {limits[what]['unit']}", best, *([""] * len(devices)))
        for name, what, best in (
            ("one writer, one OST", "single process to one OST", _best(one)),
            ("many writers, one OST", "many processes to one OST", _best(single)),
        )
    ]
    for tasks in sorted({point.tasks for point in points}):
        cells = [_best([p for p in points if p.tasks == tasks and _devices(p) == number]) for number in devices]
        rows.append((f"{tasks} {'writer' if tasks == 1 else 'writers'}", NOTHING, "", *cells))
    columns: tuple[str | Column, ...] = (
        text_column(""),
        "published",
        "this run",
        *(f"{n} {'device' if n == 1 else 'devices'}" for n in devices),
    )
    return Comparison("LCLS fast feedback: writers and OSTs", Table.of(columns, tuple(rows)))


def _devices(point: Point) -> int:
    return point.setting.get("devices") or 1


def _best(points: list[Point]) -> str:
    return units.rate(max((point.median for point in points), default=None))


def _ffb_readers(analysis: Analysis) -> Comparison:
    """Write rate against readers: as printed, as it is, and ours; each also relative to no reader."""
    printed = {
        int(row["readers"]): int(row["write_rate_MB_per_s"])
        for row in published.figures("lcls-ffb")["lcls-ffb-read-while-write"]
    }
    points = _of(analysis, "tail")
    groups = list(dict.fromkeys(point.group for point in points)) or [""]
    ours = {(point.group, point.tasks - 1): point for point in points}
    rows = []
    for readers in sorted({*printed, *(readers for _, readers in ours)}):
        said = printed.get(readers)
        cells = [str(readers), f"{said} MB/s" if said else NOTHING]
        cells += [units.rate(said * _KIB_THOUSAND), units.share(said / printed[0])] if said else [NOTHING] * 2
        for group in groups:
            # Without readers there is nothing that they could do one way or another: all groups share it.
            none = next((one for (_, number), one in ours.items() if number == 0), None)
            point, alone = ours.get((group, readers), none if readers == 0 else None), ours.get((group, 0), none)
            cells.append(units.rate(point.median if point else None))
            cells.append(units.share(point.median / alone.median if point and alone else None))
            cells.append(phrases.waits(point)[1] if point else NOTHING)
        rows.append(tuple(cells))
    names = [name for group in groups for name in (_named(group, groups), "of that alone", "write p99")]
    columns: tuple[str | Column, ...] = ("readers", "printed", "really", "of that alone", *names)
    notes = ("Printed as MB/s, computed as KiB/s ÷ 1000: the column “really” holds MB/s of 10⁶ bytes.",)
    return Comparison("LCLS fast feedback: write rate while others read", Table.of(columns, tuple(rows)), notes)


def _named(group: str, groups: list[str]) -> str:
    return "this run" if len(groups) < 2 else f"this run: {group}"


_ALONE = "three pairs, one at a time"


def _iperf3(analysis: Analysis) -> list[Comparison]:
    """A row a pair, theirs and then ours, and of pairs at once the sum; in the link's unit."""
    rows: list[tuple[str, ...]] = []
    names: dict[tuple[str, str, str], str] = {}
    for row in published.figures("knox-epouta-iperf3")["knox-epouta-iperf3"]:
        got = units.link(float(row["receiver_Mbit_per_s"]) * _MBIT_BYTES)
        rows.append((row["experiment"], "published", row["client"], row["server"], row["streams"], got, NOTHING))
        names[row["client"], row["server"], row["streams"]] = row["experiment"]
        names[row["server"], row["client"], row["streams"]] = row["experiment"]
    across, three = rows[0][0], rows[-1][0]
    for link in [link for link in analysis.links if link.point.workload in ("ten-streams", "three-pairs")]:
        streams = str(link.point.setting["streams"])
        for flow in link.flows:
            what = names.get((flow.sender, flow.receiver, streams), across)
            if link.point.workload == "three-pairs":
                what = _ALONE if link.alone else three
            part = units.share(flow.window_bytes_per_s / link.point.median)
            ours = (flow.sender, flow.receiver, streams, units.link(flow.window_bytes_per_s), part)
            rows.append((what, "this run", *ours))
        if len(link.flows) > 1:
            rows.append(
                (three, "this run", "all", "together", streams, units.link(link.point.median), units.share(1.0))
            )
    order = [*dict.fromkeys(names.values()), _ALONE]
    rows.sort(key=lambda row: order.index(row[0]))
    columns = (
        text_column("what"),
        text_column("whose"),
        text_column("from"),
        text_column("to"),
        "streams",
        "received",
        "share",
    )
    notes = (
        "Published: each pair's own rate over its own 60 s; the three add up to 0.997 Gbit/s.",
        "Ours are rates of the time in which all pairs ran.",
    )
    return [Comparison("iperf3 between Knox and ePouta", Table.of(columns, tuple(rows)), notes)]


_METADATA = ("open-write-close", "open-write-close-slow", "open-write-close-fast")


def _summit(analysis: Analysis) -> list[Comparison]:
    """Elapsed time of opening, writing and closing one file again and again."""
    rows = []
    for row in published.figures("summit-metadata")["summit-metadata"]:
        tasks, each, elapsed = int(row["processes"]), int(row["files_per_process"]), float(row["elapsed_s"])
        rate = units.operations(tasks * each / elapsed)
        rows.append((row["tier"].upper(), str(tasks), f"{each:,}", f"{row['elapsed_s']} s", rate, "rank 0 alone"))
    for point in [point for name in _METADATA for point in _of(analysis, name)]:
        each = point.latency.get("count", 0) // (point.repetitions * point.tasks)
        rate = units.operations(point.median)
        seconds = _seconds(point.elapsed_ns)
        whose = point.workload.replace("open-write-close", "this run").replace("-", ", ")
        rows.append((whose, str(point.tasks), f"{each:,}", seconds, rate, "all tasks, first start to last end"))
    columns = (
        text_column("tier"),
        "processes",
        "operations each",
        "elapsed",
        "operations/s",
        text_column("whose time"),
    )
    notes = ("The published rates are computed here, as if both processes had ended with rank 0.",)
    return [Comparison("Summit: open, write, close", Table.of(columns, tuple(rows)), notes)]


def _summit_nvme(analysis: Analysis) -> list[Comparison]:
    """Rates of both tiers, from how many nodes on the fast one wins, ways to the slow one, and the metadata part."""
    ways = [_summit_paths(analysis)] if analysis.tiers and analysis.tiers.ways else []
    return [_summit_tiers(analysis), _summit_crossover(analysis), *ways, *_summit(analysis)]


_TIERS = {"gpfs": "slow", "nvme": "fast"}


def _summit_tiers(analysis: Analysis) -> Comparison:
    theirs = {}
    for row in published.figures("summit-nvme")["summit-ior"]:
        theirs[_TIERS[row["tier"]], row["op"], int(row["nodes"])] = float(row["MB_per_s"]) * 1e6
    names = {name: tier.upper() for tier, name in _TIERS.items()}
    rows = [
        (names[name], str(nodes), op, units.rate(total), units.rate(total / nodes), NOTHING)
        for (name, op, nodes), total in theirs.items()
    ]
    for name, op, nodes, median in _by_nodes(analysis, {nodes for _, _, nodes in theirs}):
        said = theirs.get((name, op, nodes))
        against = f"{round(100 * (median / said - 1), 1) + 0.0:+.1f} %" if said else NOTHING  # no "-0.0"
        rows.append(
            (f"this run, {name}", phrases.number(nodes), op, units.rate(median), units.rate(median / nodes), against)
        )
    columns = (text_column("tier"), "nodes", "op", "all", "a node", "against published")
    return Comparison("Summit: IOR on both tiers", Table.of(columns, tuple(rows)))


def _by_nodes(analysis: Analysis, published_at: set[int]) -> list[tuple[str, str, int, float]]:
    """Tier, operation, nodes and rate of this run's points; of a long sweep its ends and what was published."""
    hosts = {(found.op, found.group, found.tasks): len(found.parts) for found in analysis.hosts}
    found = [
        (name, point.op, hosts.get((point.op, point.group, point.tasks), 1), point.median)
        for name in _TIERS.values()
        for point in _of(analysis, name, ("write", "read"))
    ]
    swept = {nodes for _, _, nodes, _ in found}
    shown = swept if len(swept) < 4 else {min(swept), max(swept), *published_at}
    return [row for row in found if row[2] in shown]


def _summit_crossover(analysis: Analysis) -> Comparison:
    low, high = summit_tiers.claimed()
    rows = [("published claim", "writes and reads", NOTHING, NOTHING, f"{low} to {high}", NOTHING)]
    theirs = summit_tiers.crossovers()
    named = [("published ceilings", found) for found in theirs.values()]
    named += [("this run", found) for found in (analysis.tiers.crossovers if analysis.tiers else ())]
    columns = (
        text_column("whose"),
        text_column("what"),
        "fast tier, a node",
        "slow tier, all nodes",
        "fast tier wins from",
        "interval",
    )
    notes = [
        "Nodes at which as many fast tiers are as fast as the one that all share: its measured rate ÷ that of a node.",
        summit_tiers.nominal(theirs["write"]),
    ]
    if not analysis.hosts:
        notes.append(
            "More nodes than one may get more out of the shared tier than this run did: then the fast tier wins later."
        )
    return Comparison(
        "Summit: from how many nodes on", Table.of(columns, (*rows, *tiers.crossover_rows(named))), tuple(notes)
    )


def _summit_paths(analysis: Analysis) -> Comparison:
    """Until all is on the slow tier: straight there, or over the fast one; elapsed times, and against straight."""
    limits = summit_tiers.elapsed_s()
    rows = [
        ("published, 2 nodes", name, NOTHING, f"{limits[what]} s", f"{limits[what] / limits['straight']:.2g}")
        for name, what in ((tiers.NAMES["straight"], "straight"), ("fast tier, with the copy-out", "copy"))
    ]
    ways = analysis.tiers.ways if analysis.tiers else ()
    straight = {way.tasks: way.total_ns for way in ways if way.by == "straight"}
    for way in ways:
        against = f"{way.total_ns / straight[way.tasks]:.2g}" if straight.get(way.tasks) else NOTHING
        times = (_seconds(way.application_ns), _seconds(way.total_ns))
        rows.append((f"this run, {phrases.tasks(way.tasks)}", tiers.NAMES[way.by], *times, against))
    notes = ("Theirs are whole runs of IOR; ours are from the first write on, without its reads.",)
    columns = (
        text_column("whose"),
        text_column("way"),
        "application writes",
        "until all is on the slow tier",
        "against straight",
    )
    return Comparison("Summit: until all is on the slow tier", Table.of(columns, tuple(rows)), notes)


def _iobsub(analysis: Analysis) -> list[Comparison]:
    """Elapsed seconds of a job over NFS and on the file server, and of ours by concurrency."""
    columns = (text_column("job"), text_column("where"), "at once", "real", "user and system", "jobs/s")
    rows: list[tuple[str, ...]] = []
    for workload, job, copies in (("gzip", "gzip 1 GB", 1), ("copies", "50 x bwa", 50)):
        for row in published.figures("iobsub")["iobsub-runs"]:
            if row["job"] == job:
                used = f"{float(row['user_s']) + float(row['sys_s']):.1f} s" if row["user_s"] else NOTHING
                rate = units.operations(copies / float(row["real_s"]))
                rows.append((job, row["placement"], row["concurrency"], f"{row['real_s']} s", used, rate))
        for point in _of(analysis, workload):
            spent = point.copies.cpu_ns if point.copies else None
            used = NOTHING if spent is None else units.duration(spent / point.repetitions)
            rate = units.operations(point.median)
            rows.append((workload, "this run", str(point.tasks), _seconds(point.elapsed_ns), used, rate))
        # One command that runs them all: the scheduler has their account, and the cap was its own.
        for point in _of(analysis, f"{workload}-placed"):
            rate = units.operations(copies * point.median)
            at_once = "1" if copies == 1 else "its load line"
            rows.append((workload, "this run, placed", at_once, _seconds(point.elapsed_ns), NOTHING, rate))
    return [Comparison("iobsub: jobs over NFS and at the file server", Table.of(columns, tuple(rows)))]


def _ceph(analysis: Analysis) -> list[Comparison]:
    """Rates, seconds a snapshot, and both divided by what carried them."""
    return [Comparison(*told) for told in ceph_snapshots.compared(analysis)]


_EXPERIMENTS: dict[str, Callable[[Analysis], list[Comparison]]] = {
    "knox-epouta": _knox,
    "knox-epouta-sob": _sob,
    "knox-epouta-iperf3": _iperf3,
    "knox-epouta-workflows": _workflows,
    "lcls-ffb": _ffb,
    "summit-metadata": _summit,
    "summit-nvme": _summit_nvme,
    "iobsub": _iobsub,
    "ceph-snapshots": _ceph,
}
