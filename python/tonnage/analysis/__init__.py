"""Analyses a run: points with intervals, load lines, models, findings, promises. Reads records only, never the engine,
so that an imported or a ten-year-old result can be analysed again.

numpy is imported inside the functions that need it: ``--help`` and ``--version`` do not wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from tonnage.analysis.applications import applications_of
from tonnage.analysis.balance import Balance, balances_of
from tonnage.analysis.hosts import devices_of, hosts_of
from tonnage.analysis.links import ceilings_of, links_of
from tonnage.analysis.load_line.accelerators import trained_of
from tonnage.analysis.load_line.estimate import SUSTAIN, Estimate, estimate, load_line, sustained, without_plateau
from tonnage.analysis.load_line.latency_line import latency_lines, plateau_of
from tonnage.analysis.load_line.search import Search
from tonnage.analysis.load_line.trial_checks import Steady, halves_apart, too_short
from tonnage.analysis.load_line.users import served_of
from tonnage.analysis.points import points_of
from tonnage.analysis.results import Finding, LoadLine, Model, Point, Promise, Surface
from tonnage.analysis.run_analysis import Analysis
from tonnage.records import Run, Tasks, Trials, loop_rate, loop_rates
from tonnage.records.line_types import TaskLine, TrialLine

_WITHOUT_LINE = ("tail", "stage", "network", "checkpoint", "application", "training", "kv-cache")
"""Kinds of workload that have no load line."""
_UNSTEADY = ("command", "network", "checkpoint", "application", "training", "kv-cache")
"""Kinds of workload without a steady window: copies are few and long, rounds pause, accelerators are read ahead for,
and users think."""
_MOST_IDLE = 0.01
"""Trials are long against an operation; where they are not, their rate is that of short trials and no more is said."""

__all__ = [
    "Analysis", "Estimate", "Finding", "LoadLine", "Model", "Point", "Promise", "Search", "analyse", "measured_points",
]  # fmt: skip


def measured_points(run: Run) -> list[Point]:
    """The points measured so far: what :class:`Search` decides on."""
    return points_of(run, run.each_trial())


def analyse(run: Run, trials: Trials | None = None, tasks: Tasks | None = None) -> Analysis:
    """Everything that can be said about ``run``, whose lines may be read already. RecordError if it cannot be read."""
    from tonnage.analysis.compare.divisors import bases_of, divide
    from tonnage.analysis.compare.rate_ratio import compare_points
    from tonnage.analysis.findings import Evidence, judge, undoing, within_trial
    from tonnage.analysis.method_promises import promises_of
    from tonnage.analysis.snapshots import rounds_in, snapshots_of
    from tonnage.analysis.tiers.crossover import tiers_of

    trials, tasks = run.each_trial() if trials is None else trials, run.each_task() if tasks is None else tasks
    measured, bases, long = points_of(run, trials), bases_of(run.manifest), _long_trials(trials)
    estimates = _corrected(run, searched := _estimates(run, curves := _curves(run, measured), trials), long, curves)
    campaign, (surfaces, lines) = run.manifest.get("campaign") or {}, _surfaces(run, measured, trials)
    lines += (_load_line(run, key, curve, estimates[key], long, trials) for key, curve in curves.items())
    evidence = Evidence(
        run=run,
        trials=trials,
        events=run.events(),
        points=measured,
        load_lines=lines,
        estimates=estimates,
        searched=searched,
        long=long,
        steady=_steady(run, measured, tasks),
        tasks=tasks,
        links=links_of(measured, trials.where_set("network")),
        snapshots=snapshots_of(rounds_in(trials)),
        balances=_balances(run, measured, trials),
    )
    findings, hosts = tuple(judge(evidence)), hosts_of(measured, trials, tasks)
    return Analysis(
        run=str(run.path),
        points=tuple(measured),
        load_lines=tuple(lines),
        models=_models(curves),
        findings=findings,
        promises=promises_of(evidence, findings),
        ceilings=(*(run.manifest.get("ceilings") or ()), *ceilings_of(evidence.links)),
        cost=run.manifest.get("cost"),
        stalls=tuple(within_trial.stalls_of(evidence.events)),
        published=campaign.get("published"),
        scale=campaign.get("scale") or 1.0,
        tiers=tiers_of(measured, trials, hosts),
        hosts=hosts,
        devices=devices_of(measured, trials, tasks, run.devices()),
        links=evidence.links,
        comparisons=compare_points(measured, trials, campaign),
        snapshots=evidence.snapshots,
        bases=bases,
        divided=divide(measured, bases),
        balances=evidence.balances,
        applications=applications_of(measured, trials),
        surfaces=surfaces,
        without_surface=_without_surface(run, measured, surfaces),
        trained=trained_of(run.manifest, measured, trials),
        served=served_of(run.manifest, measured, trials),
        company=evidence.company,
        doubts=undoing.doubts(findings, measured, lines, trials),
        state=run.state,
    )


def _curves(run: Run, points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """Those of which a load line was asked for."""
    curves: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point in points:
        curves[point.op, point.group].append(point)
    return {key: curve for key, curve in curves.items() if _has_line(run, curve)}


def _estimates(
    run: Run, curves: Mapping[tuple[str, str], Sequence[Point]], trials: Trials
) -> dict[tuple[str, str], Estimate]:
    """What a search found, of each curve."""
    return {key: _estimate(run, curve, trials) for key, curve in curves.items()}


def _estimate(run: Run, curve: Sequence[Point], trials: Trials) -> Estimate:
    """The load line of a curve, with the order in which its trials ran."""
    lines = {point.tasks: trials.named(point.records) for point in curve}
    order = {tasks: own.floats("trial").tolist() for tasks, own in lines.items()}
    searched = bool(run.manifest.get("search"))
    rates = {point.tasks: loop_rates(lines[point.tasks], point.values) for point in curve}
    estimated = estimate(rates, order=order, searched=searched)
    why = too_short(lines) if searched else ""
    if why:
        return replace(estimated, reached=False, knee=None, why=why)
    if not any(own.where_unset("loop_bytes_per_s") for own in lines.values()):
        return estimated
    return replace(estimated, plateau_high=estimated.plateau_high * (1 + _idle_at_end(curve, estimated)))


def _idle_at_end(curve: Sequence[Point], estimated: Estimate) -> float:
    """Share of a trial with a time limit in which, at its end, tasks wait for others that finish the operation they
    have in hand: a job that goes on loses nothing there. At most one operation of each task."""
    on = [point for point in curve if point.tasks >= estimated.knee_low and point.setting.get("time_limit_ns")]
    lost = [point.latency["p50_ns"] / point.elapsed_ns for point in on if point.latency.get("p50_ns")]
    return min(fmean(lost), _MOST_IDLE) if lost else 0.0


def _long_trials(trials: Trials) -> dict[str, list[TrialLine]]:
    """The long trials on the plateau that ended well, by operation."""
    by_operation: dict[str, list[TrialLine]] = defaultdict(list)
    for line in trials.where("purpose", SUSTAIN).where("status", "ok"):
        by_operation[line["phase"]].append(line)
    return by_operation


def _corrected(
    run: Run,
    searched: Mapping[tuple[str, str], Estimate],
    long: Mapping[str, Sequence[TrialLine]],
    curves: Mapping[tuple[str, str], Sequence[Point]],
) -> dict[tuple[str, str], Estimate]:
    """What a search found, beside the long trials where there are some."""

    def corrected(key: tuple[str, str], estimated: Estimate, lines: Sequence[TrialLine]) -> Estimate:
        for line in lines:
            in_flight = line["setting"]["tasks"] * (line["setting"].get("queue_depth") or 1)
            changed = halves_apart(run.series(line["record"]) or {}, estimated.noise, line["operations"] / in_flight)
            if changed is not None:
                return without_plateau(estimated, *changed, line["setting"]["tasks"], line["elapsed_ns"] or 0)
        tasks = lines[0]["setting"]["tasks"]
        longer = median(line["elapsed_ns"] or 0 for line in lines) / _usual_ns(curves[key], tasks)
        return sustained(estimated, [loop_rate(line) or 0 for line in lines], longer, tasks)

    return {
        key: corrected(key, estimated, lines) if (lines := long.get(key[0])) else estimated
        for key, estimated in searched.items()
    }


def _load_line(
    run: Run,
    key: tuple[str, str],
    curve: Sequence[Point],
    estimated: Estimate,
    long: Mapping[str, Sequence[TrialLine]],
    trials: Trials,
) -> LoadLine:
    """The load line of a curve, with an answer for each latency objective."""
    line = load_line(*key, curve, estimated, long.get(key[0], ()))
    search = run.manifest.get("search") or {}
    return replace(line, latency_lines=latency_lines(search, curve, trials, plateau_of(line)))


def _usual_ns(curve: Sequence[Point], tasks: int) -> float:
    """How long a short trial with ``tasks`` took, or any other where none had as many."""
    same = [point.elapsed_ns for point in curve if point.tasks == tasks]
    return max(median(same or [point.elapsed_ns for point in curve]), 1)


def _models(curves: Mapping[tuple[str, str], Sequence[Point]]) -> tuple[Model, ...]:
    from tonnage.analysis.load_line.projection import fit

    return tuple(
        model
        for (op, group), curve in curves.items()
        for model in fit(op, group, [point.tasks for point in curve], [point.median for point in curve])
    )


def _has_line(run: Run, curve: Sequence[Point]) -> bool:
    """Whether a load line was asked for: by a search, or by a sweep over three numbers of tasks or more. The tasks of a
    ``tail`` are a writer and readers, of a ``stage`` only the application's, those of a ``checkpoint`` pause and
    meet, those of a ``training`` read for accelerators and those of a
    ``kv-cache`` think: there is no load line of these. Of a surface all sizes are
    estimated together."""
    if _is_surface(run):
        return False
    tried = len({point.tasks for point in curve if any(point.values)})
    return curve[0].kind not in _WITHOUT_LINE and tried > (0 if run.manifest.get("search") else 2)


def _surfaces(run: Run, points: Sequence[Point], trials: Trials) -> tuple[tuple[Surface, ...], list[LoadLine]]:
    """The surfaces of a search over transfer sizes, and the load line of each size; nothing of another run."""
    if not _is_surface(run):
        return (), []
    from tonnage.analysis.load_line.surface import lines_of, surfaces_of

    surfaces = surfaces_of(run.manifest["search"], points, trials)
    return surfaces, [line for surface in surfaces for line in lines_of(surface, points)]


def _without_surface(run: Run, points: Sequence[Point], surfaces: Sequence[Surface]) -> tuple[str, ...]:
    known = {surface.op for surface in surfaces}
    return (
        tuple(op for op in dict.fromkeys(point.op for point in points) if op not in known) if _is_surface(run) else ()
    )


def _is_surface(run: Run) -> bool:
    return bool((run.manifest.get("search") or {}).get("surface"))


def _steady(run: Run, points: Sequence[Point], tasks: Mapping[str, Sequence[TaskLine]]) -> dict[str, Steady]:
    """Steady windows by record, of kinds of workload that have any."""
    from tonnage.analysis.load_line.trial_checks import of_tasks, steady_window
    from tonnage.units import BANDWIDTH

    windows, kept = {}, run.kept("series")
    if not kept:
        return {}
    for point in (point for point in points if point.kind not in _UNSTEADY):
        for record in filter(kept.__contains__, point.records):
            series = run.series(record)
            if series and point.kind == "tail":
                series = of_tasks(
                    series, {task["task"] for task in tasks.get(record, ()) if task.get("role") != "follow"}
                )
            window = steady_window(series, "bytes" if point.metric == BANDWIDTH else "operations") if series else None
            if window:
                windows[record] = window
    return windows


def _balances(run: Run, points: Sequence[Point], trials: Trials) -> tuple[Balance, ...]:
    return balances_of(points, trials, run.objects(), (run.manifest.get("target") or {}).get("pool"))
