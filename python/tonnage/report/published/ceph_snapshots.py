"""The published checkpoints on Ceph with and without a snapshot, beside ours: rates, seconds, and per disk and link."""

from __future__ import annotations

from tonnage import published, units
from tonnage.analysis.compare.divisors import OSD, contradiction
from tonnage.analysis.compare.normalise import normalise, parse_link, parse_per
from tonnage.analysis.results import Point
from tonnage.analysis.run_analysis import Analysis
from tonnage.analysis.snapshots import Rounds, SnapshotCost
from tonnage.analysis.statistics.fixed_cost import Pair, estimate
from tonnage.report.figures.figure import Column, Table, text_column
from tonnage.report.sections import snapshots
from tonnage.units import size_text

NAME = "ceph-snapshots"
_MIB = 1 << 20
_TRANSFERS = 100
"""Of a task in a round: the only size of which the figures were published."""
_LINK = "1Gbit/s"
_OPS = ("write", "write with snapshot", "read", "read of the last snapshot")

Exhibit = tuple[str, Table, tuple[str, ...]]
"""Title, table and notes."""
Cell = tuple[str, int, int]
"""Operation, transfer size, tasks."""


def compared(analysis: Analysis) -> list[Exhibit]:
    """Three tables in the shape in which the figures were published."""
    return [_rates(analysis), _costs(analysis), _normalised(analysis)]


def _theirs() -> dict[Cell, float]:
    """Bytes per second."""
    rows = published.figures(NAME)["ceph-mode4-ior"]
    return {
        (row["op"], int(row["transfer_size_bytes"]), int(row["tasks"])): float(row["mean_MiB_per_s"]) * _MIB
        for row in rows
    }


def _rates(analysis: Analysis) -> Exhibit:
    """A row an operation and transfer size, theirs and ours; a column a number of tasks."""
    theirs, ours = _theirs(), _ours(analysis)
    tasks = sorted({number for _, _, number in (*theirs, *ours)})
    rows = []
    for op in _OPS:
        for transfer in sorted({size for of, size, _ in (*theirs, *ours) if of == op}):
            for whose, cells in (("published", theirs), ("this run", ours)):
                if any((op, transfer, number) in cells for number in tasks):
                    rates = (units.rate(cells.get((op, transfer, number))) for number in tasks)
                    rows.append((op, units.size(transfer), whose, *rates))
    columns: tuple[str | Column, ...] = (
        text_column("operation"),
        "transfer",
        text_column("whose"),
        *(units.plural(n, "task") for n in tasks),
    )
    notes = (
        f"A task writes {_TRANSFERS} transfers in a round; published in MiB/s, here in MB/s of 10⁶ bytes.",
        "Ours are all bytes over the time of all rounds, first begin to last end, in the median repetition."
        if ours
        else f"This run has no round of {_TRANSFERS} transfers of a task: nothing of it stands beside. A scale below 1 "
        "makes rounds smaller.",
    )
    return "Checkpoints on Ceph: rates", Table.of(columns, tuple(rows)), notes


def _ours(analysis: Analysis) -> dict[Cell, float]:
    """Medians of the rounds of the published size."""
    found: dict[Cell, float] = {}
    for point in analysis.points:
        op = _op(point)
        transfer = point.transfer_size
        if op and transfer and point.setting["block_size"] == _TRANSFERS * transfer:
            found.setdefault((op, transfer, point.tasks), point.median)
    return found


def _op(point: Point) -> str | None:
    if point.kind != "checkpoint":
        return None
    taken = point.setting["snapshot"] != "none"
    names = {"checkpoint": ("write", "write with snapshot"), "restart": ("read", "read of the last snapshot")}
    return names[point.op][taken] if point.op in names else None


def published_cost() -> SnapshotCost:
    """Estimates what a published snapshot cost, by the same estimator; without repetitions, from the spread of the
    cells."""
    theirs = _theirs()
    cells = sorted((transfer, tasks) for op, transfer, tasks in theirs if op == "write")
    pairs = []
    for transfer, tasks in cells:
        moved = tasks * transfer * _TRANSFERS
        without, with_ = (1e9 * moved / theirs[op, transfer, tasks] for op in _OPS[:2])
        pairs.append(Pair(tasks, moved, (without,), (with_,)))
    found = estimate(pairs)
    rounds = (
        Rounds(tasks, transfer, pair.bytes, pair.without_ns[0], pair.with_ns[0], cost)
        for (transfer, tasks), pair, cost in zip(cells, pairs, found.each, strict=True)
    )
    return SnapshotCost(
        "published", "", found.cost, tuple(rounds), (), found.with_tasks, found.with_bytes, found.from_scatter
    )


def _costs(analysis: Analysis) -> Exhibit:
    """Seconds that a snapshot adds to a round: theirs, computed from their rates, and ours."""
    theirs = published_cost()
    ours = {
        (rounds.transfer_size, rounds.tasks): rounds
        for found in reversed(analysis.snapshots)
        for rounds in found.rounds
        if rounds.bytes == _TRANSFERS * rounds.transfer_size * rounds.tasks
    }
    rows = []
    for rounds in theirs.rounds:
        mine = ours.get((rounds.transfer_size, rounds.tasks))
        rows.append(
            (
                units.size(rounds.transfer_size),
                str(rounds.tasks),
                size_text(rounds.bytes),
                *_side(rounds),
                *(_side(mine) if mine else (units.NOT_MEASURED,) * 4),
            )
        )
    sides = [f"{whose} {what}" for whose in ("published", "ours") for what in ("without", "with", "adds", "of a round")]
    notes = (
        " ".join(snapshots.cost_sentences(theirs)),
        "Its authors said “not much impact”: true of the rounds that write much, whose noise is larger than the cost.",
    )
    columns: tuple[str | Column, ...] = ("transfer", "tasks", "a round", *sides)
    return "Checkpoints on Ceph: seconds that a snapshot adds", Table.of(columns, tuple(rows)), notes


def _side(rounds: Rounds) -> tuple[str, str, str, str]:
    times = (units.duration(rounds.without_ns), units.duration(rounds.with_ns))
    return (*times, snapshots.time(rounds.cost.cost_ns), snapshots.round_share(rounds.share))


def _normalised(analysis: Analysis) -> Exhibit:
    """Per disk, as its authors compared with another system; and of the links, which they did not. Ours by what the
    campaign says carried it."""
    link = parse_link(_LINK)
    rows: list[tuple[str, ...]] = [
        (
            row["system"],
            row["network"],
            *_divided(float(row["MiB_per_s"]) * _MIB, int(row["disks"])),
            units.NOT_MEASURED,
        )
        for row in published.figures(NAME)["ceph-mode4-comparison"]
        if row["disks"] == "50"
    ]
    for op, rate in _best(_theirs()).items():
        of_link = units.share(normalise(rate, "B/s", link).value)
        rows.append((f"Ceph, best {op}", "1 GigE", *_divided(rate, 10), of_link))
    rows += _ours_divided(analysis)
    columns = (text_column("what"), "network", "all", "disks", "a disk", "of one link")
    limit = (
        f"The limit drawn for 1 GigE was “1G/s”, 1000 in the unit of the rates. A link of {_LINK} carries "
        f"{units.rate(link.bytes_per_s)}, an eighth of that. The best rates are more than one link carries: they are "
        "those of four client hosts together."
    )
    unlike = (
        "Per disk compares disks behind unlike networks, and a share of a link is of the row's own: what the "
        "InfiniBand carries was not published, and its rate is divided by no other link."
    )
    ours = (
        "Ours are divided by what this campaign says carried it, under [normalise], or by the OSDs of the pool: the "
        "experiment had a disk for each. What nobody says is left out."
    )
    notes = (unlike, limit, ours, *filter(None, [contradiction(analysis.bases)]))
    return "Checkpoints on Ceph: divided by disks and by the link", Table.of(columns, tuple(rows)), notes


def _best(cells: dict[Cell, float]) -> dict[str, float]:
    """The best rate of writing and of reading, without snapshots, where there is one."""
    found: dict[str, float] = {}
    for (op, _, _), rate in cells.items():
        if op in ("write", "read"):
            found[op] = max(rate, found.get(op, 0.0))
    return found


def _ours_divided(analysis: Analysis) -> list[tuple[str, ...]]:
    """Rows of this run: never by the experiment's disks and link, which did not carry it."""
    counted = {basis.thing: basis for basis in analysis.bases}
    disks = counted.get("disk") or counted.get(OSD)
    link = next((basis for basis in analysis.bases if basis.bytes_per_s is not None), None)
    rows: list[tuple[str, ...]] = []
    for op, rate in _best(_ours(analysis)).items():
        network = units.link(link.bytes_per_s) if link and link.bytes_per_s else units.NOT_MEASURED
        each = units.rate(normalise(rate, "B/s", disks).value) if disks else units.NOT_MEASURED
        of_link = units.share(normalise(rate, "B/s", link).value) if link else units.NOT_MEASURED
        count = units.NOT_MEASURED if disks is None else str(disks) if disks.thing == OSD else f"{disks.count:g}"
        rows.append((f"this run, best {op}", network, units.rate(rate), count, each, of_link))
    return rows


def _divided(rate: float, disks: int) -> tuple[str, str, str]:
    each = normalise(rate, "B/s", parse_per(f"disk={disks}"))
    return units.rate(rate), str(disks), units.rate(each.value)
