"""Opens a run, hands it to the loop, and closes it whatever happened: scratch removed, manifest final."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage import __version__
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.company_place import check_company, companions, company_scratch
from tonnage.campaign.company_trials import WithCompany
from tonnage.campaign.execute.run_phase import Companions, PhaseRunner, RunClock
from tonnage.campaign.host_ceilings import measure_ceilings, sized
from tonnage.campaign.host_queries import check_hosts, host_facts_of, loads_of
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Observer, Snapshots
from tonnage.campaign.plan import Plan, check, make_plan
from tonnage.campaign.resource_needs import check_needs
from tonnage.campaign.schedule import Schedule
from tonnage.campaign.schedule_of_campaign import answer_basis, schedule_of
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.search_bounds import fit_search, frees_late
from tonnage.campaign.stop_signals import Interrupts
from tonnage.campaign.target import Target
from tonnage.campaign.target_facts import check_same_target, stripe_scratch, target_facts
from tonnage.campaign.trial_loop import Loop, clock_of, failures, run_directory, spent_on, try_out
from tonnage.campaign.workspace import Workspace
from tonnage.cluster.launcher import Launcher, ProcessLost
from tonnage.cluster.launcher_by_name import launcher
from tonnage.cluster.mpi.io_library import io_library
from tonnage.errors import MeasurementError, RecordError, RequestError
from tonnage.machine.host_facts import host_facts, load
from tonnage.printable_text import typed
from tonnage.program_places import working_directory
from tonnage.records import Run, RunWriter
from tonnage.records.line_types import Json, Manifest, StopReason, TrialLine, pack_stop_reasons
from tonnage.records.own_files import refuse_links
from tonnage.units import utc_text

if TYPE_CHECKING:
    from tonnage.campaign.jobs.trial_batch import Batch


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    path: Path
    state: str
    failed: tuple[str, ...]
    """The record and reason of each requested phase that failed."""
    troubles: tuple[str, ...] = ()
    """What else went wrong: why the run ended early, why something of it is still where it was measured."""

    @property
    def exit_code(self) -> int:
        if self.state == "interrupted":
            return 130
        return 1 if self.failed or self.troubles or self.state == "failed" else 0


def run_campaign(
    campaign: Campaign, *, text: str | None, command_line: Sequence[str], out: str | None, observer: Observer
) -> Outcome:
    """Carries the campaign out in a new run directory. RequestError before anything is written."""
    if campaign.seed is None:
        campaign = campaign.model_copy(update={"seed": secrets.randbelow(2**32)})
    start = launcher(campaign.launcher)
    campaign = campaign.on_hosts(lambda: start.host_group.hosts)
    plan = make_plan(campaign)
    check(campaign, plan)
    run_id = secrets.token_hex(4)
    path = run_directory(out, campaign.name, run_id)
    _check_out(path)
    campaign, note = fit_search(campaign, plan, path)
    if note is not None:
        observer.note(f"note: {note}")
    check_hosts(campaign, plan, start)
    check_needs(campaign, plan, start)
    check_company(campaign, plan, start)
    with Interrupts() as interrupts:
        # Before anything is made in the target: a kill leaves nothing there that no run names.
        writer = begin_run(campaign, plan, path, text=text, command_line=command_line, run_id=run_id, start=start)
        with (
            _made_or_discarded(writer, plan.target, campaign, run_id, start) as scratch,
            company_scratch(plan.target, campaign, run_id) as company,
        ):
            return _carry_out(campaign, plan, start, writer, (scratch, company), interrupts, observer, [])


@contextmanager
def _made_or_discarded(
    writer: RunWriter, target: Target, campaign: Campaign, run_id: str, start: Launcher
) -> Iterator[RunScratch]:
    """The scratch directories of a new run, tried out; where they are refused the run directory goes again."""
    with ExitStack() as made:
        try:
            scratch = made.enter_context(RunScratch(target, campaign, run_id, start))
            try_out(campaign, target, scratch, start)
        except BaseException:
            made.close()
            writer.discard()
            raise
        yield scratch


def begin_run(
    campaign: Campaign,
    plan: Plan,
    path: Path,
    *,
    text: str | None,
    command_line: Sequence[str],
    run_id: str,
    start: Launcher | None = None,
) -> RunWriter:
    """Makes the run directory with its manifest; RequestError where that is not possible. ``start``: None where others
    will carry it out."""
    _check_out(path)
    try:
        return RunWriter.create(path, _manifest(campaign, plan, text, command_line, run_id, start))
    except OSError as error:
        raise RequestError(
            f"cannot make the run directory {path}: {error.strerror}; hint: give another run directory"
        ) from None


def resume_run(path: str, *, observer: Observer, batch: Batch | None = None) -> Outcome:
    """Measures what an interrupted run still lacks, in the order of its own seed; ``batch``: only that of it, as one of
    the jobs that carry it out."""
    try:
        run = Run.open(path)
        lines = run.trials()
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None
    try:
        refuse_links(run.path)
    except RecordError as error:
        raise RequestError(str(error)) from None
    if run.manifest["state"] == "complete":
        raise RequestError(
            f"{path} is complete: there is nothing to resume; hint: read it with `tonnage report {typed(path)}`"
        )
    path = str(Path(path).resolve())
    _go_to(run.manifest.get("directory"))
    campaign = build_campaign(run.manifest["campaign"], f"{path}/manifest.json", stored=True)
    plan = make_plan(campaign)
    if batch is None or lines:
        # The first job describes what it finds; the manifest before it is of the host that submitted the run.
        check_same_target(run.manifest, plan.target, by_job=batch is not None)
    if batch is not None:
        from tonnage.campaign.jobs.trial_batch import settings_of

        plan = replace(plan, settings=settings_of(batch, campaign))
    start = launcher(campaign.launcher)
    check(campaign, plan)
    check_hosts(campaign, plan, start)
    check_needs(campaign, plan, start)
    check_company(campaign, plan, start)
    run_id = run.manifest["run_id"]
    job = batch is not None
    with (
        Interrupts() as interrupts,
        RunScratch(plan.target, campaign, run_id, start, alone=job) as scratch,
        company_scratch(plan.target, campaign, run_id) as company,
    ):
        try_out(campaign, plan.target, scratch, start)
        writer = RunWriter.reopen(path)
        if batch is not None:
            writer.update_manifest(**_facts_here(writer.manifest, campaign, plan, lines))
        # It may go on with other processes, on other hosts.
        known = writer.manifest.get("hosts", {})
        writer.update_manifest(launcher=start.facts(), hosts={**known, **host_facts_of(start)})
        return _carry_out(campaign, plan, start, writer, (scratch, company), interrupts, observer, lines, batch)


def _facts_here(manifest: Manifest, campaign: Campaign, plan: Plan, lines: Sequence[TrialLine]) -> Json:
    """Returns what a job adds to the manifest: the submitter described the run, and this host measures it."""
    host = host_facts()
    if not lines:
        return {"target": target_facts(campaign, plan.target), "host": host, "load_before": load()}
    if host["hostname"] == (manifest["host"] or {}).get("hostname"):
        return {}
    return {"hosts": {**manifest.get("hosts", {}), host["hostname"]: host}}


def _go_to(directory: str | None) -> None:
    """Works where the run was begun, for its target, files and commands may be named relative to that."""
    if directory is None:
        return  # a run of an older version does not say
    try:
        os.chdir(directory)
    except OSError as error:
        raise RequestError(
            f"the run was begun in {directory}: {error.strerror}; hint: make that directory reachable again"
        ) from None


def _carry_out(
    campaign: Campaign,
    plan: Plan,
    start: Launcher,
    writer: RunWriter,
    scratches: tuple[RunScratch, RunScratch | None],
    interrupts: Interrupts,
    observer: Observer,
    lines: list[TrialLine],
    batch: Batch | None = None,
) -> Outcome:
    seed = campaign.seed or 0
    scratch, company = scratches
    # The model of a job that has a part of the run has a clock of its own.
    workspace = _workspace(campaign, plan, start, writer, scratch, () if batch is not None else tuple(lines))
    every = campaign.settings()
    state, troubles = "failed", list[str]()
    schedule: Schedule | None = None
    if batch is None:
        observer = Snapshots(writer.path, None, observer)
    observer.started(writer.path, plan.target.name, campaign.name)
    began = time.monotonic_ns()
    try:
        target = {**writer.manifest["target"], "own_scratch": sorted(scratch.own)}
        writer.update_manifest(state="running", target=target)
        if plan.target.scheme == "path" and any(setting.storage == "mpiio" for setting in every):
            writer.update_manifest(mpiio=io_library().facts())
        workspace.pins = _stripe(campaign, plan.target, scratch, writer, observer)
        if plan.target.scheme != "sim" and not writer.manifest.get("ceilings"):
            _measure_ceilings(campaign, every, start, seed, writer)
        schedule, pilot = _schedule(campaign, plan, seed, batch, writer.path)
        used = spent_on(lines) + (0 if plan.target.scheme == "sim" else time.monotonic_ns() - began)
        beside = None if company is None else companions(campaign, plan, start, writer, company, lines)
        clock = RunClock(workspace, every[0], used)
        phases = _phases(campaign, plan, (writer, workspace, observer, interrupts, clock, lines, seed), beside)
        loop = Loop(phases, schedule, campaign.on_error, campaign.pause_ns or 0)
        if pilot is not None and not lines and not interrupts:
            loop.pilot(pilot)
        state = _state(loop.run(), schedule, batch)
    except MeasurementError as error:
        if batch is not None or isinstance(error, ProcessLost):
            raise  # the reason goes to the job's submitter
        troubles.append(str(error))
    finally:
        _finish_files(workspace, writer, observer)
        troubles += _leave(scratch, well=state == "complete" and not failures(lines))
        troubles += _leave(company, well=True) if company is not None else []
        state = _end(writer, state, start, observer, schedule, lines)
    failed = tuple(f"{line['record']}: {line['reason']}" for line in failures(lines))
    lost = (str(start.lost),) if start.lost is not None and not failed else ()
    return Outcome(writer.path, state, failed + lost, tuple(troubles))


def _phases(
    campaign: Campaign,
    plan: Plan,
    parts: tuple[RunWriter, Workspace, Observer, Interrupts, RunClock, list[TrialLine], int],
    company: Companions | None,
) -> PhaseRunner:
    """What runs the phases, made of its ``parts``."""
    return PhaseRunner(
        *parts,
        trials=plan.trials,
        budget_ns=plan.time_ns_most,
        company=company,
        keep_operations=campaign.keep_operations or 0,
    )


def _workspace(
    campaign: Campaign,
    plan: Plan,
    start: Launcher,
    writer: RunWriter,
    scratch: RunScratch,
    earlier: Sequence[TrialLine],
) -> Workspace:
    """Where the trials run; a model's clock goes on where ``earlier`` lines ended."""
    workspace = Workspace(
        plan.target,
        start,
        campaign.seed or 0,
        scratch.directories,
        writer.path,
        run_id=scratch.run_id,
        lay_out_tasks=campaign.search.max_tasks if campaign.search else 1,
        clock=lambda device: clock_of(earlier, device),
    )
    workspace.frees_late = tuple(filter(frees_late, scratch.directories)) if campaign.search else ()
    return workspace


def _leave(scratch: RunScratch, *, well: bool) -> list[str]:
    """Removes what was made in the target; why it is still there, if it is: the run is over, and its records stand."""
    try:
        scratch.leave(well=well)
    except (OSError, ValueError, MeasurementError) as error:
        why = (getattr(error, "strerror", None) if isinstance(error, OSError) else None) or str(error)
        return [f"what the run made in the target is still there: {why}; hint: remove it with `tonnage clean`"]
    return []


def _end(
    writer: RunWriter,
    state: str,
    start: Launcher,
    observer: Observer,
    schedule: Schedule | None,
    lines: Sequence[TrialLine],
) -> str:
    """Writes the manifest's last words; the run's state. With the part of one job it goes on, and is not sealed."""
    # A launcher whose process died signals the others to end: no user asked for that.
    if state == "interrupted" and start.lost is not None:
        state = "failed"
    try:
        last = {"state": state, "load_after": load(), "hosts": _with_loads(writer, start)}
        if state == "running":
            writer.update_manifest(**last)
        else:
            cut: StopReason = "interrupted" if state == "interrupted" else "failed" if state == "failed" else "budget"
            reasons = schedule.stopped(lines, cut) if schedule is not None else {}
            writer.seal(**last, stopped=pack_stop_reasons(reasons))
    finally:
        observer.ended()
    return state


def _measure_ceilings(
    campaign: Campaign, every: Sequence[Setting], start: Launcher, seed: int, writer: RunWriter
) -> None:
    streams = sized(every)
    if streams:  # what only starts programs needs no ceilings of a storage
        budget_ns = campaign.search.budget_ns if campaign.search else campaign.budget.time_ns
        ceilings, costs = measure_ceilings(start, streams, seed, budget_ns)
        writer.update_manifest(ceilings=ceilings, cost=costs[0], costs=costs)


def _stripe(
    campaign: Campaign, target: Target, scratch: RunScratch, writer: RunWriter, observer: Observer
) -> tuple[str, ...]:
    """Stripes the scratch directories; what pins new files in each of them (``Workspace.pins``)."""
    striped = stripe_scratch(campaign, target, scratch)
    if striped is None:
        return ()
    writer.update_manifest(target={**writer.manifest["target"], "stripe": striped})
    for problem in striped["problems"]:
        observer.note(f"note: the files are not striped as asked: {problem}")
    pins = tuple(directory["pin"] for directory in striped["directories"])
    return pins if any(pins) and not target.names else ()


def _finish_files(workspace: Workspace, writer: RunWriter, observer: Observer) -> None:
    """Named files go or stay. Reports what cannot be removed; the run has ended and its records stay valid."""
    try:
        notes = workspace.finish()
    except (OSError, ValueError, ProcessLost) as error:
        notes = [("kept-foreign", getattr(error, "strerror", None) or str(error))]
    if notes:
        coded_notes = [{"code": code, "message": message} for code, message in notes]
        writer.update_manifest(target={**writer.manifest["target"], "notes": coded_notes})
        for _, message in notes:
            observer.note(f"note: {message}")


def _with_loads(writer: RunWriter, start: Launcher) -> Json:
    """``hosts`` of the manifest, with how busy those are that took part to the end."""
    after = loads_of(start)
    known: dict[str, Json] = writer.manifest.get("hosts", {})
    return {host: {**facts, "load_after": after.get(host)} for host, facts in known.items()}


def _state(ended: str, schedule: Schedule, batch: Batch | None) -> str:
    """Returns the state of the run; it still runs after the part of one job."""
    if batch is None:
        return ended
    from tonnage.campaign.jobs.trial_batch import BatchSchedule

    is_more = isinstance(schedule, BatchSchedule) and schedule.is_more
    return "running" if is_more and ended == "complete" else ended


def _schedule(
    campaign: Campaign, plan: Plan, seed: int, batch: Batch | None, out: Path
) -> tuple[Schedule, StreamSetting | None]:
    schedule, pilot = schedule_of(campaign, plan, seed, out)
    if campaign.companies:
        schedule = WithCompany(schedule, campaign.company_length_ns)
    if batch is None:
        return schedule, pilot
    from tonnage.campaign.jobs.trial_batch import BatchSchedule, allocations_of

    return BatchSchedule(schedule, batch, allocations_of(campaign)), pilot


def _check_out(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise RequestError(f"{path} exists and is not an empty directory; hint: give another run directory")
    parent = Path(working_directory(), path)
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise RequestError(
            f"cannot make the run directory {path}: {parent} is not a writable directory; "
            "hint: give another run directory"
        )


def _manifest(
    campaign: Campaign, plan: Plan, text: str | None, command_line: Sequence[str], run_id: str, start: Launcher | None
) -> Manifest:
    search = campaign.search
    return {
        "tonnage_version": __version__,
        "run_id": run_id,
        "created": utc_text("seconds"),
        "state": "running",
        "command_line": list(command_line),
        "directory": working_directory(),
        "campaign": campaign.model_dump(mode="json"),
        "campaign_text": text,
        "seed": campaign.seed,
        "target": target_facts(campaign, plan.target),
        "host": host_facts(),
        "hosts": host_facts_of(start) if start else {},
        "launcher": start.facts() if start else None,
        "load_before": load(),
        "load_after": None,
        "ceilings": [],
        "cost": None,
        "search": None if search is None else search.model_dump(mode="json", exclude={"shares"}),
        **answer_basis(campaign),
    }
