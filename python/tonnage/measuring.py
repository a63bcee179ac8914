"""Measurements from Python: ``tonnage.probe``, ``tonnage.run`` and ``tonnage.resume``. Each does what the command does,
in this process, with the same records, report and kept load line, and returns what ``tonnage.read`` returns. Nothing
here prints: an :class:`~tonnage.campaign.observer.Observer` gets its progress.
"""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from tonnage.errors import MeasurementError, RequestError, TonnageError
from tonnage.option_names import in_keywords, reworded, reworded_errors
from tonnage.python_values import path_text, truth
from tonnage.records import Run, RunWriter
from tonnage.units import is_factor, read_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from tonnage.analysis import Analysis
    from tonnage.campaign.campaign_file import ProbeOptions
    from tonnage.campaign.observer import Observer
    from tonnage.campaign.run_lifecycle import Outcome
    from tonnage.notebook import MeasuredRun
    from tonnage.placement.server_load_lines import KeepPlan

PathLike = str | os.PathLike[str]
Time = str | float | timedelta
"""``"30s"``, seconds, or a timedelta."""


class Options(TypedDict, total=False):
    """Keywords of :func:`probe`: the options of ``tonnage probe``, dashes as underscores."""

    op: str | Sequence[str] | None
    """``"write"``, ``"read"`` or both, which is the default."""
    budget: Time | None
    """For the whole search; by default 60 s."""
    max_tasks: int | None
    transfer: int | str | None
    """Bytes, or ``"1MiB"``."""
    direct: str | None
    storage: str | None
    access: str | None
    queue_depth: int | None
    verify: bool | None
    p99: Time | None
    p999: Time | None
    open_loop: bool | None
    surface: bool | None
    """The load line of every transfer size from 4 KiB to 16 MiB, in 300 s by default."""
    training: str | None
    """``"unet3d-h100"``: the most accelerators that are fed with its samples, in 300 s by default."""
    utilisation: float | str | None
    """With ``training``: the share of the time that counts as fed."""
    accelerators: int | None
    """With ``training``: the largest number tried."""
    kv_cache: str | None
    """``"llama3.1-8b"``: the most users of an inference server that keeps its cache there, in 300 s by default."""
    p95: Time | None
    """With ``kv_cache``: of 100 turns, 95 end so long after their intended start at the latest; 200 ms by default."""
    users: int | None
    """With ``kv_cache``: the largest number tried."""
    scale: float | None
    """With ``training`` or ``kv_cache``: samples, or tokens, of so many times their size."""
    checkpoint_every: int | None
    """With ``training``: a checkpoint after so many steps, whose time is not in the utilisation."""
    checkpoint_size: int | str | None
    """Its bytes, or a published one (``"llama3-8b"``); the model's own unless given."""
    beside: str | None
    """A workload that runs meanwhile: ``"metadata-storm@50%"``."""
    space: int | str | None
    """Bytes of files at once, at most."""
    seed: int | None


def probe(
    target: PathLike,
    *,
    out: PathLike | None = None,
    report: bool = True,
    keep: bool = True,
    observer: Observer | None = None,
    **options: Unpack[Options],
) -> MeasuredRun:
    """Finds the load line of a storage: a directory, or a target such as ``rados:POOL``.

    The result has ``load_lines`` (a row an operation: ``tasks``, its interval, ``plateau_bytes_per_s``), ``points``,
    ``findings`` and ``sentences``. Keywords are the options of ``tonnage probe`` (:class:`Options`); None is an option
    that is not given. ``out``: the run directory (by default a new one below ``tonnage-runs``). ``keep``:
    the load line is kept for placement.

    RequestError: the request is wrong; nothing was written. MeasurementError: trials failed, or it was interrupted; the
    message names the run directory, which ``tonnage.read`` reads.

    >>> found = tonnage.probe("/scratch", budget="30s")  # doctest: +SKIP
    >>> found.load_lines[["op", "tasks", "plateau_bytes_per_s"]]  # doctest: +SKIP
    """
    from tonnage.campaign.campaign_file import in_options, probe_campaign
    from tonnage.campaign.run_lifecycle import run_campaign

    if unknown := [name for name in options if name not in Options.__annotations__]:
        raise TypeError(f"probe() got an unexpected keyword argument {unknown[0]!r}")
    listening = _checked(report=report, keep=keep, observer=observer)
    place, directory = _path("target", target), _text("out", out)
    _require_alone()
    words = [f"tonnage.probe({', '.join([repr(place), *(f'{k}={v!r}' for k, v in options.items())])})"]
    help_here = {"see `tonnage probe --help`": "see help(tonnage.probe)"}
    with reworded_errors(help_here), in_keywords({"out", *Options.__annotations__}), in_options():
        campaign = probe_campaign(place, _asked(options))
        outcome = run_campaign(campaign, text=None, command_line=words, out=directory, observer=listening)
    return _finished(outcome, listening, report=report, keep=keep)


def run(
    campaign: PathLike | Mapping[str, Any],
    *,
    out: PathLike | None = None,
    scale: float | None = None,
    target: PathLike | None = None,
    report: bool = True,
    keep: bool = True,
    observer: Observer | None = None,
) -> MeasuredRun:
    """Carries out a campaign: a file, or its tables as a dictionary (``tonnage explain campaign`` has the keys).

    ``scale`` and ``target`` replace the campaign's own. All else, and what it raises, is as of :func:`probe`.

    >>> tonnage.run({"target": "/scratch", "workload": {"tasks": [1, 2, 4]}})  # doctest: +SKIP
    """
    from tonnage.campaign.campaign_file import build_campaign, load_campaign, on_target
    from tonnage.campaign.jobs.run_by_jobs import refuse_here, submit_run
    from tonnage.campaign.run_lifecycle import run_campaign

    listening = _checked(report=report, keep=keep, observer=observer)
    asked = campaign if isinstance(campaign, Mapping) else _path("campaign", campaign)
    directory, elsewhere = _text("out", out), _text("target", target)
    _require_alone()
    if scale is not None and not (isinstance(scale, int | float) and is_factor(scale)):
        raise RequestError(f"scale: {scale!r} is not a factor above 0; hint: write it like 0.01")
    text: str | None = None
    words = [f"tonnage.run({asked!r})"]
    with reworded(_of_tables if isinstance(asked, Mapping) else str), in_keywords(("out", "scale", "target")):
        if isinstance(asked, Mapping):
            given = {} if elsewhere is None else {"target": elsewhere}
            told = on_target(build_campaign({**asked, **given}), scale=scale)
        else:
            told, text = load_campaign(asked, scale=scale, target=elsewhere)
        if told.job.on is None:
            refuse_here(told)
            outcome = run_campaign(told, text=text, command_line=words, out=directory, observer=listening)
        else:
            outcome = submit_run(told, text=text, command_line=words, out=directory, observer=listening, detach=False)
    return _finished(outcome, listening, report=report, keep=keep)


def resume(run: PathLike, *, report: bool = True, keep: bool = True, observer: Observer | None = None) -> MeasuredRun:
    """Goes on with a run that was interrupted, to its end. What it raises is as of :func:`probe`."""
    from tonnage.campaign.jobs.run_by_jobs import resume_jobs, was_submitted
    from tonnage.campaign.run_lifecycle import resume_run

    listening, path = _checked(report=report, keep=keep, observer=observer), _path("run", run)
    _require_alone()
    if was_submitted(path):
        outcome = resume_jobs(path, on=None, observer=listening, detach=False)
    else:
        outcome = resume_run(path, observer=listening)
    return _finished(outcome, listening, report=report, keep=keep)


def _of_tables(text: str) -> str:
    """A campaign that is a dictionary is not written in TOML."""
    text = text.replace("hint: see `tonnage explain campaign`", "hint: see help(tonnage.run)")
    return re.sub(r"hint: add (\w+) = …", r'hint: add "\1": …', text)


def _asked(options: Options) -> ProbeOptions:
    given: dict[str, Any] = {name: value for name, value in dict(options).items() if value is not None}
    for name in ("max_tasks", "queue_depth", "seed", "accelerators", "users", "checkpoint_every"):
        if not isinstance(given.get(name, 1), int) or isinstance(given.get(name), bool):
            raise RequestError(f"{name}: {given[name]!r} is not a whole number; hint: give an int")
    for name in ("budget", "p95", "p99", "p999"):
        if not isinstance(given.get(name, 1), str | int | float | timedelta) or isinstance(given.get(name), bool):
            raise RequestError(f'{name}: {given[name]!r} is not a time; hint: give seconds, "30s" or a timedelta')
    names = {"transfer": "transfer_size", "budget": "budget_ns", "p95": "p95_ns", "p99": "p99_ns", "p999": "p999_ns"}
    found: dict[str, Any] = {}
    for name, value in given.items():
        found[names.get(name, name)] = _time(name, value) if names.get(name, "").endswith("_ns") else value
    return found  # type: ignore[return-value]


def _time(name: str, value: Time) -> int:
    with reworded(lambda text: f"{name}: {text}"):
        return read_time(value)


@dataclass(frozen=True, slots=True)
class Analysed:
    """Holds the analysis of a run, and where its report is."""

    analysis: Analysis
    report: Path | None
    """None: no report was asked for, or there is none."""
    is_report_missing: bool = False
    """Whether the report could not be written. Where the package that draws charts is not installed, none is missed."""


def analysed(path: Path, *, with_report: bool, keep: bool, tell: Callable[[str], None]) -> Analysed:
    """Analyses a run and writes its report. Where that cannot be written, ``tell`` gets the reason, and the run stays
    valid. ``keep``: also stores the summary in the manifest, for ``tonnage verify``."""
    from tonnage.analysis import analyse
    from tonnage.analysis.summary import summary

    run = Run.open(path)
    trials, tasks = run.each_trial(), run.each_task()
    analysis = analyse(run, trials, tasks)
    report, is_missing = None, False
    if with_report:
        from tonnage.report.page import NoChartsError, write_page

        try:
            report = write_page(run, analysis, trials, tasks)
        except TonnageError as error:
            is_missing = not isinstance(error, NoChartsError)
            tell(f"no report: {error}")
        except OSError as error:
            is_missing = True
            tell(f"no report: cannot write it into {run.path}: {error.strerror}")
    if keep:
        # Not taken up again: it has just ended well, and reading all of it once more may take longer than the rest.
        RunWriter(run.path, run.manifest).update_manifest(summary=summary(analysis, report))
    return Analysed(analysis, report, is_missing)


def keep_load_line(plan: KeepPlan, tell: Callable[[str], None]) -> None:
    """Keeps the load line for placement, and tells where, or why not, and which of them is not used."""
    from tonnage.placement.server_load_lines import keep_planned

    kept = keep_planned(plan)
    for text in kept_texts(replace(plan, problem=kept.problem), kept.directory):
        tell(text)


def keep_company(run: Run, analysis: Analysis, tell: Callable[[str], None]) -> None:
    """Keeps what company costs for placement, where that was measured, and tells where, or why not."""
    if not analysis.company:
        return
    from tonnage.placement.kept_company import keep_company_results

    if (told := keep_company_results(run, analysis)) is not None:
        tell(told)


def kept_texts(plan: KeepPlan, directory: Path | None) -> list[str]:
    """Returns the messages about load lines that were, or will be, kept in ``directory``."""
    from tonnage.placement.server_load_lines import weaker_text

    if plan.problem:
        return [f"the load line was not kept: {plan.problem}"]
    if not plan.lines:
        return []
    if len({line.transfer_size for line in plan.lines}) > 1:
        texts = [f"kept {len(plan.lines)} load lines for placement, one a transfer size, in {directory}"]
    else:
        found = ", ".join(f"{line.operation} {line.tasks}" for line in plan.lines)
        texts = [f"kept the load line for placement ({found} tasks) in {directory}"]
    if plan.stronger:
        weaker = "; ".join(weaker_text(*pair) for pair in plan.stronger)
        texts.append(f"not in use for placement, being weaker evidence: {weaker}")
    return texts


def _finished(outcome: Outcome, observer: Observer, *, report: bool, keep: bool) -> MeasuredRun:
    """The run with its report, its summary and its kept load line, as the command leaves it."""
    run, analysis = Run.open(outcome.path), None
    if run.has_trials():
        analysis = analysed(outcome.path, with_report=report, keep=True, tell=observer.note).analysis
        if keep and outcome.state == "complete" and run.manifest.get("search"):
            from tonnage.placement.server_load_lines import plan_kept_lines

            keep_load_line(plan_kept_lines(run, analysis), observer.note)
        if keep and outcome.state == "complete":
            keep_company(run, analysis, observer.note)
    if outcome.state == "interrupted":
        raise MeasurementError(
            f"interrupted; the records so far are in {outcome.path}; hint: tonnage.resume({str(outcome.path)!r})"
        )
    if troubles := [*outcome.failed, *outcome.troubles]:
        raise MeasurementError(f"{'; '.join(troubles)}; the records are in {outcome.path}")
    from tonnage.notebook import MeasuredRun

    measured = MeasuredRun(Run.open(outcome.path))
    if analysis is not None:
        measured.analysis = analysis
    return measured


def _require_alone() -> None:
    """RequestError where a run cannot be carried out from here."""
    from tonnage.cluster.mpi.launch_environment import started

    if threading.current_thread() is not threading.main_thread():
        raise RequestError("a run listens to signals, which only the main thread can; hint: call it from there")
    here = started()
    if here is not None and here.size > 1:
        raise RequestError(f"one of {here.size} processes of MPI asked; hint: start `tonnage` itself by the launcher")


def _checked(*, report: object, keep: object, observer: object) -> Observer:
    """The observer, or one that ignores all; RequestError where one of them is not what it must be."""
    from tonnage.campaign.observer import Observer

    truth("report", report)
    truth("keep", keep)
    if observer is not None and not isinstance(observer, Observer):
        raise RequestError(
            f"observer: {observer!r} is no Observer; hint: give an instance of a class made from "
            "tonnage.campaign.observer.Observer"
        )
    return observer or Observer()


def _path(name: str, path: object) -> str:
    """Of a text or a path; RequestError for anything else, and for none."""
    if not (text := path_text(name, path)):
        raise RequestError(f"{name}: {path!r} is no path; hint: give a str or a Path")
    return text


def _text(name: str, path: PathLike | None) -> str | None:
    return None if path is None else _path(name, path)


def _spell_out() -> None:
    """``help(tonnage.probe)`` and completion name every option of a probe."""
    written = inspect.signature(probe)
    given = [part for part in written.parameters.values() if part.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in Options.__annotations__.items()
    ]
    probe.__signature__ = written.replace(parameters=[*given, *options])  # type: ignore[attr-defined]


_spell_out()
