"""Findings that invalidate an answer: with one of them the headline is not the measured question, and the finding is
printed beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tonnage.analysis.findings.finding_rules import REGISTRY, Evidence, subject
from tonnage.analysis.links import links_of
from tonnage.analysis.points import Groups, valid_trials
from tonnage.analysis.results import Finding, LoadLine, Point
from tonnage.records import Run, Trials

OF_RUN = frozenset({"memory-backed", "same-device", "damaged-data"})
"""The device is memory, several devices are one, or the storage returned other bytes: no figure of the run is of what
was asked about."""
OF_CURVE = frozenset({"cache-read", "cache-unknown", "holes", "above-ceiling", "single-repetition"})
"""The figures of one curve are, or may be, of a cache, of nothing, of no path that exists, or of chance."""
FAILED = "trial-failed"
"""The figures of the curves of which trials failed are what that left of them."""

_IN_SEVERAL = (OF_RUN | OF_CURVE | {FAILED}) - {"single-repetition"}
"""An answer of several runs counts the repetitions of each itself."""
_STATES = {
    "running": "it has not ended, or its process died: later trials are missing",
    "ended-without-summary": "its process was killed: later trials are missing",
    "interrupted": "it was interrupted: later trials are missing",
    "failed": "it failed: trials are missing",
    "incomplete": "parts of its files cannot be read: trials may be missing",
}
Curve = tuple[str, str]
"""Operation and group."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A finding, and the curves whose answer it undoes; None: all of the run."""

    finding: Finding
    curves: frozenset[Curve] | None

    def is_about(self, curves: Iterable[Curve]) -> bool:
        """Whether one of these is among them."""
        return self.curves is None or not self.curves.isdisjoint(curves)


def doubts(
    findings: Sequence[Finding], points: Sequence[Point], load_lines: Sequence[LoadLine], trials: Trials
) -> tuple[Doubt, ...]:
    """Returns those of all findings that undo an answer, in their order."""
    found = []
    failed = _failed(trials)
    named: dict[str, set[Curve]] = {}
    for point in points:
        for name in (subject(point.op, point.group), subject(point.op, point.group, point.tasks)):
            named.setdefault(name, set()).add((point.op, point.group))
    for finding in findings:
        if finding.code in OF_RUN:
            found.append(Doubt(finding, None))
        elif finding.code == FAILED:
            # Of a setting that was lost whole there is no point.
            op, _, purpose = finding.subject.partition(" (")
            found.append(Doubt(finding, frozenset() if purpose == "fill)" else failed.get(op, frozenset())))
        elif finding.code in OF_CURVE:
            curves = frozenset(named.get(finding.subject, ()))
            if finding.code == "single-repetition":
                curves = frozenset(curve for curve in curves if _is_chance(curve, points, load_lines))
            if curves:
                found.append(Doubt(finding, curves))
    return tuple(found)


def _failed(trials: Trials) -> Mapping[str, frozenset[Curve]]:
    """Of each phase the curves of which trials failed; the failure of a fill phase shows in the phases that needed its
    files."""
    lines = [line for line in trials.where("status", "failed") if line["purpose"] != "fill"]
    # By the key that distinguishes the points.
    groups = Groups(same[0] for _, same in valid_trials(trials).by("phase", "setting")) if lines else Groups(())
    phases: dict[str, set[Curve]] = {}
    for line in lines:
        phases.setdefault(line["phase"], set()).add((line["phase"], groups.of(line["setting"])))
    return {phase: frozenset(curves) for phase, curves in phases.items()}


def _is_chance(curve: Curve, points: Sequence[Point], load_lines: Sequence[LoadLine]) -> bool:
    """Whether the error of its answer is unknown: a point beside the answer may have been measured once."""
    lines = [line for line in load_lines if (line.op, line.group) == curve]
    if lines:
        return not any(line.confidence for line in lines)
    return all(point.repetitions == 1 for point in points if (point.op, point.group) == curve)


def undone_by(found: Sequence[Doubt], op: str, group: str) -> tuple[Finding, ...]:
    """Returns the findings that undo the answer of one curve."""
    return tuple(doubt.finding for doubt in found if doubt.is_about([(op, group)]))


@dataclass(frozen=True, slots=True)
class Undone:
    """Why what one run says undoes an answer of several runs."""

    run: str
    code: str
    """Of the finding; or the state of a run that is not complete."""
    subject: str
    evidence: str


def undone_answers(
    run: Run, points: Sequence[Point], curves: Iterable[Curve], lost: Collection[str] = ()
) -> tuple[Undone, ...]:
    """What undoes an answer that rests on these ``curves`` of ``run``, of which ``points`` are all points, and in which
    settings of the operations ``lost`` are missing, for their trials failed. Evaluates only the findings that can
    invalidate an answer: a history has many runs. RecordError where the run cannot be read."""
    path, state = str(run.path), run.state
    found = [Undone(path, state, "run", why)] if (why := _STATES.get(state)) else []
    trials = run.each_trial()
    evidence = Evidence(
        run=run,
        trials=trials,
        events=(),
        points=points,
        load_lines=(),
        estimates={},
        searched={},
        long={},
        steady={},
        tasks=run.each_task(),
        links=links_of(points, trials.where_set("network")),
    )
    seen = [one for code, judge in REGISTRY.items() if code in _IN_SEVERAL for one in judge(evidence)]
    used = list(curves)
    for doubt in doubts(seen, points, (), trials):
        of_lost = doubt.finding.code == FAILED and any(op in lost for op, _ in doubt.curves or ())
        if of_lost or doubt.is_about(used):
            found.append(Undone(path, doubt.finding.code, doubt.finding.subject, doubt.finding.evidence))
    return tuple(found)
