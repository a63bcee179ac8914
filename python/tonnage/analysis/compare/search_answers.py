"""Compares what the searches of two sides found, which no rate of one number of tasks tells: the load line at each
transfer size of a surface, the users that are served, the accelerators that are fed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from tonnage.analysis.compare.rate_ratio import UNCHANGED, UNDECIDED
from tonnage.analysis.load_line.accelerators import trained_of
from tonnage.analysis.load_line.surface import surfaces_of
from tonnage.analysis.load_line.users import served_of
from tonnage.analysis.results import Point
from tonnage.records import Run, Trials

Counted = Literal["tasks", "users", "accelerators"]
MORE, FEWER = "more", "fewer"


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What a search looked for: answers to the same question are compared."""

    op: str
    group: str
    counted: Counted
    transfer_size: int | None = None
    """Of a load line."""
    model: str | None = None
    """The published one, of users and accelerators."""
    p95_ns: int | None = None
    """Objective of users."""
    utilisation: float | None = None
    """Objective of accelerators."""
    demand: tuple[float | None, ...] = ()
    """What else one user, or accelerator, asks of the storage."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a side found: a number, and its interval."""

    number: int
    low: int
    high: int | None
    """None: the search shows no end."""

    @property
    def end(self) -> float:
        """``high``, infinite where there is no end."""
        return inf if self.high is None else self.high


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answers of both sides to one question; of several runs the interval spans theirs."""

    op: str
    group: str
    counted: Counted
    transfer_size: int | None
    model: str | None
    p95_ns: int | None
    utilisation: float | None
    base: int | None
    """None, and so its interval, where a run has no answer."""
    base_low: int | None
    base_high: int | None
    """None: the search shows no end."""
    other: int | None
    low: int | None
    high: int | None
    verdict: str
    """``more`` or ``fewer`` where the intervals have no number in common, else ``no change shown``; ``too few to tell``
    where a side has no answer."""


_Answers = Iterator[tuple[SearchQuestion, Found | None]]


def search_answers(
    base: Sequence[Run], other: Sequence[Run], points: Mapping[int, Sequence[Point]]
) -> list[SearchAnswer]:
    """Of each question that both sides were asked. ``points``: of each run, by its ``id``."""
    sides = [_answers(runs, points) for runs in (base, other)]
    return [_compared(asked, sides[0][asked], sides[1][asked]) for asked in sides[0] if asked in sides[1]]


def _answers(runs: Sequence[Run], points: Mapping[int, Sequence[Point]]) -> dict[SearchQuestion, Found | None]:
    """What all of these runs found; None where one has no answer."""
    found: dict[SearchQuestion, list[Found | None]] = {}
    for run in runs:
        trials = run.each_trial()
        for of_kind in _KINDS:
            for asked, answer in of_kind(run, points[id(run)], trials):
                found.setdefault(asked, []).append(answer)
    return {asked: _of_all(answers) for asked, answers in found.items() if len(answers) == len(runs)}


def _surfaces(run: Run, points: Sequence[Point], trials: Trials) -> _Answers:
    for surface in surfaces_of(run.manifest.get("search") or {}, points, trials):
        for size in surface.sizes:
            is_found = size.reached and size.tasks_high is not None
            answer = Found(size.tasks, size.tasks_low, size.tasks_high) if is_found else None
            yield SearchQuestion(surface.op, "", "tasks", transfer_size=size.transfer_size), answer


def _users(run: Run, points: Sequence[Point], trials: Trials) -> _Answers:
    for served in served_of(run.manifest, points, trials):
        if (answer := served.answer) is not None:
            demand = (served.scale, served.token_bytes, served.conversation_bytes, served.think_ns)
            asked = SearchQuestion(
                "serve", served.group, "users", model=served.model, p95_ns=answer.p95_ns, demand=demand
            )
            yield asked, Found(answer.users, answer.low, answer.high)


def _accelerators(run: Run, points: Sequence[Point], trials: Trials) -> _Answers:
    for trained in trained_of(run.manifest, points, trials):
        if (answer := trained.answer) is not None:
            setting = next(point.setting for point in points if (point.op, point.group) == ("train", trained.group))
            saved = (setting.get("checkpoint_every"), setting.get("checkpoint_bytes"))
            asked = SearchQuestion(
                "train",
                trained.group,
                "accelerators",
                model=trained.model,
                utilisation=answer.utilisation,
                demand=(trained.scale, trained.demand_bytes_per_s, trained.readers, *saved),
            )
            yield asked, Found(answer.accelerators, answer.low, answer.high)


_KINDS: tuple[Callable[[Run, Sequence[Point], Trials], _Answers], ...] = (_surfaces, _users, _accelerators)


def _of_all(answers: Sequence[Found | None]) -> Found | None:
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        return None
    numbers = sorted(answer.number for answer in known)
    furthest = max(known, key=lambda answer: answer.end)
    return Found(numbers[(len(numbers) - 1) // 2], min(answer.low for answer in known), furthest.high)


def _compared(asked: SearchQuestion, base: Found | None, other: Found | None) -> SearchAnswer:
    verdict = UNDECIDED
    if base is not None and other is not None:
        verdict = MORE if other.low > base.end else FEWER if other.end < base.low else UNCHANGED
    base_number, base_low, base_high = _parts(base)
    number, low, high = _parts(other)
    return SearchAnswer(
        asked.op,
        asked.group,
        asked.counted,
        asked.transfer_size,
        asked.model,
        asked.p95_ns,
        asked.utilisation,
        base=base_number,
        base_low=base_low,
        base_high=base_high,
        other=number,
        low=low,
        high=high,
        verdict=verdict,
    )


def _parts(found: Found | None) -> tuple[int | None, int | None, int | None]:
    return (None, None, None) if found is None else (found.number, found.low, found.high)
