"""The score of IO500 with its interval, what carries it, and what the benchmark's own output does not say."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tonnage import units
from tonnage.analysis.io500 import Benchmark, PhaseFigure, Spread, carried
from tonnage.report.answer import Answer, Statement
from tonnage.report.figures.figure import Column, Exhibit, Table, Variant, text_column
from tonnage.report.figures.forest import Row, forest

NO_SUBMISSION = (
    "It was measured by Tonnage, not by the benchmark's own programs: it is no official submission to IO500."
)
_RAISES, _LOWERS = "raises it", "lowers it"
_STRAGGLING = 0.1
"""Share of a phase from which the page says that few tasks still worked."""
_COLD = 0.95
_NOTES = (
    NO_SUBMISSION,
    "Bandwidth and metadata are the geometric means of their phases; the score is that of the two.",
    "A repetition that lacks a phase has no score.",
    "After the stonewall the tasks that were slower catch up; all of it is in the time and in the figure.",
    "An interval is of the median over the repetitions, at 95 %.",
)


def answer(found: Benchmark) -> Answer:
    """What there is to say of a result directory."""
    facts = (
        ("results", found.name),
        ("tasks", str(found.tasks)),
        ("mode", found.mode),
        ("stonewall", f"{found.stonewall_s} s"),
        ("repetitions", str(len(found.repetitions))),
    )
    told = (_score(found), *_statements(found))
    return Answer("IO500", facts, told, tuple(_exhibits(found)), (("Phases", _table(found)),), _NOTES)


def _score(found: Benchmark) -> Statement:
    doubts = _doubts(found)
    score = found.score
    if score is None:
        lacking = f"Phases that count are missing: {', '.join(found.missing)}."
        return Statement("score", "none.", (lacking,), sure=False, doubts=doubts)
    text = f"{units.significant(score.median)}{_between(score)}."
    metadata = Spread.of([one.metadata for one in found.scores])
    bandwidth = Spread.of([one.bandwidth for one in found.scores])
    of_both = f"Bandwidth {units.significant(bandwidth.median)} GiB/s{_between(bandwidth)}"
    why = [f"{of_both}, metadata {units.significant(metadata.median)} kIOPS{_between(metadata)}."]
    if not score.has_interval:
        why.append("One repetition has no interval: --repeat 6 gives one.")
    if found.missing:
        whole, every = len(score.values), len(found.repetitions)
        why.append(f"It is of {whole} of {every} repetitions; the others lack {', '.join(found.missing)}.")
    return Statement("score", text, tuple(why), not doubts, doubts)


def _doubts(found: Benchmark) -> tuple[str, ...]:
    doubts = [*found.problems]
    if bad := sorted({figure.name for one in found.repetitions for figure in one if not figure.is_valid}):
        doubts.append(f"not valid by the benchmark's rules: {', '.join(bad)}")
    return tuple(doubts)


def _between(spread: Spread) -> str:
    if not spread.has_interval:
        return ""
    return f" [{units.interval(spread.low, spread.high, units.significant, ', ')}]"


def _statements(found: Benchmark) -> Iterator[Statement]:
    """A sentence for what is worth one."""
    means = {name: _carrying(found, name) for name in found.names()}
    known = {name: value for name, value in means.items() if value is not None}
    if known:
        most, least = max(known, key=lambda name: known[name]), min(known, key=lambda name: known[name])
        yield Statement(
            "what carries it",
            f"{most} raises the score most ({units.ratio(known[most])} of what it is without), {least} lowers it most "
            f"({units.ratio(known[least])}).",
        )
    if bound := [name for name in found.names() if any(one.is_bound_by_generator for one in found.of(name))]:
        yield Statement(
            "bound by the generator",
            f"{', '.join(bound)}: these figures are of this host's processors; more nodes would show more.",
        )
    warm = [(name, share) for name in found.names() if (share := _least(found, name)) is not None and share < _COLD]
    if warm:
        told = ", ".join(f"{name} {units.share(share)}" for name, share in warm)
        yield Statement("read from memory", f"Of what was read, so much came from a device: {told}.")
    late = [(name, part) for name in found.names() if (part := _most(found, name)) >= _STRAGGLING]
    if late:
        told = ", ".join(f"{name} {units.share(part)}" for name, part in late)
        yield Statement("stragglers", f"Fewer than half of the tasks worked in this share of the time: {told}.")


def _carrying(found: Benchmark, name: str) -> float | None:
    values = [
        value for one in found.repetitions for figure in one if figure.name == name and (value := carried(one, figure))
    ]
    return statistics.median(values) if values else None


def _least(found: Benchmark, name: str) -> float | None:
    return min((one.from_device for one in found.of(name) if one.from_device is not None), default=None)


def _most(found: Benchmark, name: str) -> float:
    return max((one.straggling for one in found.of(name) if one.straggling is not None), default=0.0)


def _exhibits(found: Benchmark) -> Iterator[Exhibit]:
    rows = []
    for name in found.names():
        values = [
            value
            for one in found.repetitions
            for figure in one
            if figure.name == name and (value := carried(one, figure)) is not None
        ]
        if values:
            spread = Spread.of(values)
            told = (
                f"{units.significant(Spread.of([one.value for one in found.of(name)]).median)} {found.of(name)[0].unit}"
            )
            rows.append(Row(name, spread.median, spread.low, spread.high, _verdict(spread.median), told))
    if not rows:
        return
    table = Table.of(
        (text_column("phase"), "score ÷ score without it"), tuple((one.name, units.ratio(one.ratio)) for one in rows)
    )
    figure = forest(
        rows,
        title="Which phases carry the score",
        axis="score ÷ score without the phase",
        unit="times the score without it",
        caption="Right of 1: the phase raises the score; left of it: the phase lowers it.",
        table=table,
    )
    yield Exhibit(
        "carrying", "What carries the score", "The score, divided by what it would be without each phase.", "Phases",
        (Variant("all", (figure,)),),
    )  # fmt: skip


def _verdict(ratio: float) -> str:
    return _RAISES if ratio > 1 else _LOWERS


def _table(found: Benchmark) -> Table:
    columns: tuple[str | Column, ...] = (
        text_column("phase"), "figure", "interval", Column("time", "s"), "until stonewall", Column("after it", "s"),
        "stragglers", "from device", "carries", text_column("bound by"), text_column("by the rules"),
    )  # fmt: skip
    return Table.of(columns, tuple(_row(found, name) for name in found.names() if name != "timestamp"))


def _row(found: Benchmark, name: str) -> tuple[str, ...]:
    figures = found.of(name)
    first, spread = figures[0], Spread.of([figure.value for figure in figures])
    interval = f"{units.interval(spread.low, spread.high, units.significant)}" if spread.has_interval else ""
    carrying = _carrying(found, name)
    return (
        name,
        f"{units.significant(spread.median)} {first.unit}" if spread.median else "not measured",
        interval,
        _median(figures, "elapsed_s", units.significant),
        _median(figures, "at_stonewall", units.significant),
        _median(figures, "after_stonewall_s", units.significant),
        _median(figures, "straggling", units.share),
        _median(figures, "from_device", units.share),
        units.ratio(carrying) if carrying is not None else "",
        "generator" if any(figure.is_bound_by_generator for figure in figures) else "",
        "valid" if all(figure.is_valid for figure in figures) else "INVALID: " + _problems(figures),
    )


def _problems(figures: Sequence[PhaseFigure]) -> str:
    """Those of the first repetition that has any; all say the same with other numbers."""
    broken = [figure for figure in figures if not figure.is_valid]
    told = "; ".join(broken[0].problems)
    return told if len(figures) == 1 else f"{told} (so in {len(broken)} of {len(figures)} repetitions)"


def _median(figures: Sequence[PhaseFigure], key: str, text: object) -> str:
    values = [value for figure in figures if (value := getattr(figure, key)) is not None]
    return text(statistics.median(values)) if values and callable(text) else ""
