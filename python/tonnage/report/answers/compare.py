"""Compares runs with runs: what got faster or slower, with intervals, and what else differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tonnage import __version__, units
from tonnage.analysis.compare.added_time import AddedTime
from tonnage.analysis.compare.comparable import UNKNOWN
from tonnage.analysis.compare.differences import Difference
from tonnage.analysis.compare.rate_ratio import DAYS_APART, FASTER, LEAST_RUNS, SLOWER, UNCHANGED, UNDECIDED
from tonnage.analysis.compare.runs import RUNS, SYSTEM, Between, Cell, named
from tonnage.analysis.compare.search_answers import FEWER, MORE, SearchAnswer
from tonnage.analysis.points import campaign_name
from tonnage.report import phrases
from tonnage.report.answer import Answer, Statement
from tonnage.report.figures import hover
from tonnage.report.figures.figure import Exhibit, Figure, Table, Variant, text_column
from tonnage.report.figures.forest import Row, forest
from tonnage.report.sections.divided_rates import beyond as doubts

_RATIO = (
    "A ratio is the throughput of the other side ÷ that of the base, by the medians of their runs; a point right of "
    "the line is faster."
)
_UNCHANGED = (
    "“No change shown” does not say that nothing changed, and “too few to tell” says nothing at all: "
    "“to decide” tells how many runs a side (or repetitions, "
    "where two runs alone are judged) would show a change such as the one seen."
)
_OF_SYSTEM = (
    "A verdict is of the system and stands on runs, three a side at least: runs of one system on different days differ "
    "by more than the repetitions of each show."
)
_OF_RUNS = "Verdicts are of these two runs alone. They say nothing of the systems on another day."


def answer(found: Sequence[Between], threshold: float) -> Answer:
    """Runs against a first one: a sentence for each, the pictures, what else is different."""
    facts = (("base", found[0].base), ("Tonnage", __version__))
    headlines = tuple(replace(headline(one), name=one.other, why=(*why(one), *beyond(one))) for one in found)
    tables = tuple((f"What else is different: {one.other}", differences(one)) for one in found)
    searched = tuple((f"{SEARCHED}: {one.other}", searches(one)) for one in found if one.answers)
    rule = (
        "A change is shown where the whole interval lies on one side of 1 and the ratio is at least "
        f"{units.share(threshold)} away from it. The intervals of a table hold together at 95 %."
    )
    notes = (_RATIO, rule, _OF_RUNS if found[0].of == RUNS else _OF_SYSTEM, _UNCHANGED)
    return Answer("Faster or slower", facts, headlines, tuple(exhibits(found)), (*searched, *tables), notes)


def headline(between: Between) -> Statement:
    """The verdicts in one sentence, with what undoes them."""
    undone = phrases.undone(between.undone_by)
    return Statement("", sentence(between), sure=bool(between.judged) and not undone, doubts=undone)


def why(between: Between) -> list[str]:
    """Sentences on what only one side has, and that nothing is different where nothing is."""
    reasons = [*mixed(between), *unlike_kinds(between), *failures(between), *unpaired(between)]
    if not reasons and not between.differences:
        reasons = ["Nothing else is different but what differs between any two runs."]
    return [*reasons, *_unknown(between), *longer(between), *needed(between)]


def longer(between: Between) -> list[str]:
    """Of files of other tools how many seconds longer a trial takes: what an event adds to each shows in no ratio."""
    if UNKNOWN not in (*between.base_storages, *between.other_storages):
        return []
    return [f"{_named(cell)}: {_seconds(cell.time)}." for cell in between.cells if cell.time is not None]


def _seconds(time: AddedTime) -> str:
    """``a trial takes 2.00 s longer, 3.35 s against 1.35 s (95 % interval 1.84 s to 2.16 s)``."""
    way = "longer" if time.added_ns >= 0 else "less"
    cost_text = f"a trial takes {units.duration(abs(time.added_ns))} {way}, {units.duration(time.other_ns)} against "
    sure = f"{units.share(time.confidence)} interval"
    bounds = " to ".join(f"{'−' if end < 0 else ''}{units.duration(abs(end))}" for end in (time.low_ns, time.high_ns))
    return f"{cost_text}{units.duration(time.base_ns)}" + (
        f" ({sure} of what it adds: {bounds})" if time.confidence else ""
    )


def _unknown(between: Between) -> list[str]:
    """How much the files of an imported side do not say."""
    counts = [(len(between.unknown(side)), name) for side, name in (("base", between.base), ("other", between.other))]
    things = [(count, name, "thing is" if count == 1 else "things are") for count, name in counts if count]
    return [f"{count} {are} not known of {name}, whose files do not say." for count, name, are in things]


def unlike_kinds(between: Between) -> list[str]:
    """Notes that the sides measured different kinds of workload, which are never paired."""
    base, other = between.base_kinds, between.other_kinds
    if base == other:
        return []
    return [f"The kinds of workload are unlike: {_listed(base)} in the base, {_listed(other)} in the other."]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "none"


def sentence(between: Between) -> str:
    """Returns text such as ``4 equal settings: 3 faster, 0 slower, 1 with no change shown; all verdicts together hold
    at 95 %.``"""
    cells, judged = between.cells, between.judged
    if not cells:
        unlike = f", {_listed(between.base_kinds)} against {_listed(between.other_kinds)}"
        of = unlike if unlike_kinds(between) else ""
        return f"The runs have no setting in common{of}: there is nothing to compare."
    of = _settings(between)
    if not judged:
        return f"{of}: {UNDECIDED}; {_missing(between)}{_storages(between)}."
    verdict = (
        f"{between.count(FASTER)} faster, {between.count(SLOWER)} slower, {between.count(UNCHANGED)} with {UNCHANGED}"
    )
    sure = units.share(max(cell.confidence for cell in judged))
    rest = (
        f"of these two runs alone; within them all verdicts together hold at {sure}"
        if between.of == RUNS
        else f"all verdicts together hold at {sure}"
    )
    left = len(cells) - len(judged)
    few = f"; {left} cannot be judged: {_missing(between)}" if left else ""
    return f"{of}: {verdict}; {rest}{few}{_storages(between)}."


def _settings(between: Between) -> str:
    """``4 equal settings``, or what of the workload is not equal: ``4 settings, equal but for transfer_size (…)``."""
    many, unlike = len(between.cells), between.unlike
    noun = "setting" if many == 1 else "settings"
    if not unlike:
        return f"{many} equal {noun}"
    texts = [against(one) for one in unlike if one in between.common_keys]
    if left := len(unlike) - len(texts):
        texts.append(f"{units.plural(left, 'factor')} not known of an imported side")
    return f"{many} {noun}, equal but for {', '.join(texts)}"


def against(one: Difference) -> str:
    """Returns the heading of a comparison, such as ``transfer_size (64 KiB against 1 MiB)``."""
    values = f"{value_text(one.base, one.key)} against {value_text(one.other, one.key)}"
    return f"{campaign_name(one.key.removeprefix('workload.'))} ({values})"


def _storages(between: Between) -> str:
    """Notes on the storages of both sides, where they differ, and where the runs of one side are of several."""
    base, other = (", ".join(side) for side in (between.base_storages, between.other_storages))
    if base == other and len(between.base_storages) < 2:
        return ""
    return f"; of two storages, {base} against {other}" if _each_of_one(between) else f"; of {base} against {other}"


def _each_of_one(between: Between) -> bool:
    return len(between.base_storages) == len(between.other_storages) == 1


def mixed(between: Between) -> list[str]:
    """Notes that a side has runs of unlike things."""
    found = [
        f"The runs of {name} were measured on {len(side)} storages: {', '.join(side)}. Its figures are of all of them."
        for name, side in ((between.base, between.base_storages), (between.other, between.other_storages))
        if len(side) > 1
    ]
    if between.mixed:
        factors = ", ".join(map(campaign_name, between.mixed))
        found.append(f"The runs of a side differ in {factors}: settings are kept apart by it.")
    return found


def _missing(between: Between) -> str:
    """Why there is no verdict."""
    if between.of == RUNS:
        return "single repetitions have no interval, 2 in each run would"
    single = len(between.base_runs) == len(between.other_runs) == 1
    within = ", and the intervals hold within these two runs only" if single else ""
    return f"a verdict about the system takes {LEAST_RUNS} runs a side{within}"


def needed(between: Between) -> list[str]:
    """How many runs a side would show what was seen, where too few runs were compared."""
    open_ = [cell for cell in between.cells if cell not in between.judged and cell.runs_to_decide is not None]
    if between.of != SYSTEM or not open_:
        return []
    counts = [cell.runs_to_decide for cell in open_ if cell.runs_to_decide is not None]
    low, high = min(counts), max(counts)
    many = f"{low}" if low == high else f"{low} to {high}, by setting,"
    apart = f"If runs lie {units.share(DAYS_APART)} apart from day to day"
    return [f"{apart}, {many} runs a side would show ratios such as these four times of five."]


def table(between: Between) -> Table:
    """Makes a row for each cell."""
    bounds = "interval" if all(cell.holds_for == SYSTEM for cell in between.cells) else "interval within these runs"
    columns = (text_column("what"), "base", "n", "other", "its n", "ratio", bounds, text_column("verdict"), "to decide")
    rows = tuple(
        (
            _named(cell),
            units.rated(cell.base, cell.metric, cell.unit),
            _count(cell.base_runs, cell.base_repetitions),
            units.rated(cell.other, cell.metric, cell.unit),
            _count(cell.runs, cell.repetitions),
            units.ratio(cell.ratio),
            units.interval(cell.low, cell.high, units.ratio) if cell.confidence else units.NOT_MEASURED,
            _verdict(between, cell),
            _to_decide(cell),
        )
        for cell in between.cells
    )
    return Table.of(columns, rows)


SEARCHED = "What the searches found (intervals within each run)"


def searches(between: Between) -> Table:
    """Makes a row for each search that both sides made."""
    columns = (text_column("what"), "base", "interval", "other", "its interval", text_column("verdict"))
    rows = tuple(
        (
            _asked(one),
            *_number(one.base, one.base_low, one.base_high),
            *_number(one.other, one.low, one.high),
            f"{one.verdict} {one.counted}" if one.verdict in (MORE, FEWER) else one.verdict,
        )
        for one in between.answers
    )
    return Table.of(columns, rows)


def _asked(one: SearchAnswer) -> str:
    of = f", {one.model}" if one.model else ""
    if one.p95_ns is not None:
        return f"{one.counted} within {units.time_text(one.p95_ns)} at p95{of}"
    if one.utilisation is not None:
        return f"{one.counted} at {units.share(one.utilisation)}{of}"
    return f"{one.op}, {units.size_text(one.transfer_size or 0)}"


def _number(number: int | None, low: int | None, high: int | None) -> tuple[str, str]:
    if number is None:
        return "not reached", units.NOT_MEASURED
    return str(number), f"{low} – {high}" if high is not None else f"{low} or more"


def divided(between: Between) -> str:
    """What the rates were divided by; empty where they were not."""
    return f"Rates are divided: the base's by {between.per[0]}, the other's by {between.per[1]}." if between.per else ""


def _count(runs: int, repetitions: int) -> str:
    """``8`` repetitions of one run; ``15 in 3`` runs."""
    return f"{repetitions} in {runs}" if runs > 1 else str(repetitions)


def _to_decide(cell: Cell) -> str:
    """``9 each, 5 more`` repetitions, or ``5 runs, 2 more``, that would decide; empty: it is decided, or not known."""
    if cell.runs_to_decide is not None:
        return _with_more(f"{cell.runs_to_decide} runs", cell.runs_to_decide, (cell.base_runs, cell.runs))
    if cell.repetitions_to_decide is not None:
        done = cell.base_repetitions, cell.repetitions
        return _with_more(f"{cell.repetitions_to_decide} each", cell.repetitions_to_decide, done)
    return ""


def _with_more(said: str, needed: int, done: tuple[int, int]) -> str:
    more = [max(0, needed - count) for count in done]
    return said + (f", {' and '.join(map(str, dict.fromkeys(more)))} more" if any(more) else "")


def beyond(between: Between) -> list[str]:
    """Returns the notes on rates above that of their link."""
    over = [_named(cell) for cell in between.cells if cell.unit.startswith("of ") and max(cell.base, cell.other) > 1]
    return doubts("the link", over)


def _named(cell: Cell) -> str:
    return named(cell.op, cell.group, cell.tasks)


def differences(between: Between) -> Table:
    """Differences of values that both sides have; first the storages."""
    storages = between.base_storages, between.other_storages
    rows = [
        (campaign_name(one.key), value_text(one.base, one.key), value_text(one.other, one.key))
        for one in between.common_keys
        if one.key != "target.name" or storages[0] == storages[1]
    ]
    if storages[0] != storages[1]:
        base, other = (", ".join(side) for side in storages)
        rows.insert(0, ("storage", base, other))
    return Table.of((text_column("what"), "in the base", "in the other"), tuple(rows))


def failures(between: Between) -> list[str]:
    """Returns sentences about settings that have no figure because their trials failed."""
    found = []
    paired = set(map(_named, between.cells))
    for where, names in ((between.base, between.failed_base), (between.other, between.failed_other)):
        whole = [name for name in names if name not in paired]
        some = [name for name in names if name in paired]
        found += [f"Failed in {where}: {'; '.join(whole)}."] if whole else []
        found += [f"Failed in some runs of {where}: {'; '.join(some)}."] if some else []
    return found


def unpaired(between: Between) -> list[str]:
    """Sentences on what only one side has."""
    found = []
    for where, names in ((between.base, between.only_base), (between.other, between.only_other)):
        if names:
            found.append(f"Only in {where}: {'; '.join(names)}.")
    return found


def value_text(value: object, key: str = "") -> str:
    """Of a manifest, with its unit by the end of the key; a dash where it is not there."""
    if value is None:
        return units.NOT_MEASURED
    if isinstance(value, list):
        return ", ".join(value_text(one, key) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and key.endswith("_bytes_per_s"):
        return units.rate(value)
    if isinstance(value, int) and key.endswith(("_size", "_bytes")):
        return units.size(value) if value % 1024 == 0 else f"{value:,} B"
    if isinstance(value, int) and key.endswith("_ns"):
        return units.duration(value)
    return str(value)


def exhibits(found: Sequence[Between]) -> list[Exhibit]:
    """One section, with a choice where several runs are compared with the base."""
    rows = [row for one in found for row in _rows(one)]
    variants = tuple(Variant(one.other, (figure(one, rows),)) for one in found if one.cells)
    if not variants:
        return []
    introduction = (
        "Equal settings of both sides. A change of the system is shown where three runs a side were compared and the "
        "whole interval lies on one side of 1."
        if found[0].of == SYSTEM
        else "Equal settings of two runs, judged alone. A change is shown where the whole interval is on one side of 1."
    )
    return [Exhibit("between", "Setting by setting", introduction, "Run", variants)]


def _rows(between: Between) -> list[Row]:
    return [
        Row(_named(cell), cell.ratio, cell.low, cell.high, _verdict(between, cell), _hover_text(cell))
        for cell in between.cells
    ]


def _verdict(between: Between, cell: Cell) -> str:
    return cell.verdict if cell in between.judged else UNDECIDED


def figure(between: Between, beside: Sequence[Row] = ()) -> Figure:
    """Draws each cell's ratio with its interval beside a line at 1, on the axis of the rows of other sides
    ``beside``."""
    return forest(
        _rows(between),
        beside=beside,
        title=f"{between.other} against {between.base}",
        axis="Throughput ÷ that of the base",
        unit="times the base's throughput",
        caption=" ".join(filter(None, (sentence(between), divided(between)))),
        table=table(between),
    )


def _hover_text(cell: Cell) -> str:
    return "<br>".join(
        f"{name} {units.rated(value, cell.metric, cell.unit)}, {hover.records(records)}"
        for name, value, records in (("base", cell.base, cell.base_records), ("other", cell.other, cell.records))
    )
