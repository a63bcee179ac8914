"""A run that a scheduler's jobs carry out: one at a time, each a stretch of the order of trials, until none is left."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.jobs.job_reader import Ending, JobReader
from tonnage.campaign.jobs.trial_batch import (
    DIRECTORY,
    Batch,
    Entry,
    Ledger,
    allocations_of,
    check_programs,
    check_site,
    describe_jobs,
    job_request,
    output_file,
    write_order,
)
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Observer, Step
from tonnage.campaign.plan import make_plan
from tonnage.campaign.run_lifecycle import Outcome, begin_run
from tonnage.campaign.schedule import Schedule, Sweep, Trial
from tonnage.campaign.stop_signals import Interrupts
from tonnage.campaign.trial_loop import failures, run_directory, spent_on
from tonnage.cluster.scheduler import JobRequest, Scheduler, SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers import scheduler_here
from tonnage.errors import MeasurementError, RecordError, RequestError
from tonnage.printable_text import typed
from tonnage.records import Run, RunWriter, event_lines
from tonnage.records.file_names import TRIALS
from tonnage.records.line_types import SettingValues, TrialLine
from tonnage.units import utc_text

ANSWER_S = 20.0
"""How long one of the scheduler's tools may take."""
SETTLE_S = 20.0
"""How long to search for the job of a submission without an answer, before it counts as never made."""
FRUITLESS = 3
"""Jobs in a row that end before their first trial, after which no more are submitted: the next would end so too."""
_AGAIN_S = 0.5


def submit_run(
    campaign: Campaign,
    *,
    text: str | None,
    command_line: Sequence[str],
    out: str | None,
    observer: Observer,
    detach: bool = False,
) -> Outcome:
    """Carries the campaign out by jobs of ``campaign.job.on`` in a new run directory. RequestError before anything is
    submitted; the jobs examine the target where they measure it."""
    if campaign.seed is None:
        campaign = campaign.model_copy(update={"seed": secrets.randbelow(2**32)})
    scheduler = _scheduler(campaign)
    check_site(campaign, scheduler)
    check_programs(campaign)
    run_id = secrets.token_hex(4)
    path = run_directory(out, campaign.name, run_id).absolute()
    writer = begin_run(campaign, make_plan(campaign), path, text=text, command_line=command_line, run_id=run_id)
    writer.update_manifest(on={"scheduler": scheduler.name, "host": writer.manifest["host"]["hostname"]})
    return _carry_out(Run.open(path), campaign, scheduler, observer, detach=detach)


def resume_jobs(path: str, *, on: str | None, observer: Observer, detach: bool = False) -> Outcome:
    """Takes up a run that was submitted: follows the job that is there, and submits what is left."""
    try:
        run = Run.open(Path(path).absolute())
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None
    submitted = run.manifest.get("on")
    if submitted is None:
        raise RequestError(f"{path} was not submitted to a scheduler; hint: resume it without --on")
    if on not in (None, submitted["scheduler"]):
        raise RequestError(f"{path} was submitted to {submitted['scheduler']}, not to {on}; hint: leave --on out")
    if run.manifest["state"] == "complete":
        raise RequestError(
            f"{path} is complete: there is nothing to resume; hint: read it with `tonnage report {typed(path)}`"
        )
    campaign = build_campaign(run.manifest["campaign"], f"{path}/manifest.json", stored=True)
    scheduler = scheduler_here(submitted["scheduler"], timeout_s=ANSWER_S)
    return _carry_out(run, campaign, scheduler, observer, detach=detach)


def planned_jobs(campaign: Campaign) -> list[str]:
    """The jobs that ``submit_run`` would submit, as lines of text, after the checks that it would make."""
    scheduler = _scheduler(campaign)
    check_site(campaign, scheduler)
    check_programs(campaign)
    return describe_jobs(campaign, scheduler)


def was_submitted(path: str) -> bool:
    """Returns whether jobs of a scheduler carry out the run."""
    try:
        return Run.open(path).manifest.get("on") is not None
    except RecordError:
        return False


def refuse_here(campaign: Campaign) -> None:
    """RequestError where only a scheduler can say where trials run."""
    if partition := next(
        (allocation.partition for allocation in allocations_of(campaign) if allocation.partition), None
    ):
        raise RequestError(
            f"partition {partition} is a scheduler's, and the run would be on this host; "
            "hint: submit it with --on slurm (or lsf, pbs, flux), or leave partition out"
        )


def _scheduler(campaign: Campaign) -> Scheduler:
    found = scheduler_here(campaign.job.on or "auto", timeout_s=ANSWER_S)
    if found.name == "local" and campaign.job.on == "auto":
        raise RequestError("no scheduler is set up on this host; hint: name one, or use --on local for this host alone")
    return found


def _carry_out(run: Run, campaign: Campaign, scheduler: Scheduler, observer: Observer, *, detach: bool) -> Outcome:
    with Ledger(run.path) as ledger, Interrupts() as interrupts:
        follower = JobReader(run.path, scheduler, observer, interrupts)
        submitter = _Submitter(run, campaign, scheduler, ledger, follower, observer, interrupts)
        observer.started(run.path, run.manifest["target"]["name"], campaign.name)
        try:
            state = submitter.detach() if detach else submitter.carry_out()
        finally:
            observer.ended()
    failed = tuple(f"{line['record']}: {line['reason']}" for line in failures(Run.open(run.path).trials()))
    return Outcome(run.path, state, () if detach else failed)


@dataclass(frozen=True, slots=True)
class _Submitter:
    """One submitter's work on one run."""

    run: Run
    campaign: Campaign
    scheduler: Scheduler
    ledger: Ledger
    follower: JobReader
    observer: Observer
    interrupts: Interrupts

    def carry_out(self) -> str:
        """Until nothing is left to do; the run's ``state``."""
        entry, fruitless = self._taken_up(), 0
        while not self.interrupts:
            if entry is None:
                entry = self._next()
            if entry is None:
                return self._settled("complete")
            if entry.job is None:
                raise MeasurementError(f"nobody knows whether job {entry.key} was submitted; {self._again}")
            ending = self.follower.wait_for_end(entry.batch.job, entry.job, entry.where(), key=entry.key)
            self.ledger.ended(entry, ending.state, ending.reason, ending.hosts)
            if ending.cancelled:
                return self._settled("interrupted")
            is_done = self._stands(entry, ending)
            state = str(Run.open(self.run.path).manifest["state"])
            if state == "complete" or self.campaign.decides_as_it_goes:
                return state
            # A run that goes on after a failure does so too where the job could not: it lost a process, say.
            if self.campaign.on_error == "stop" and (state == "failed" or not is_done):
                return self._settled("failed")
            began = ending.progress is not None and ending.progress.step is not None
            fruitless = 0 if is_done or began else fruitless + 1
            if fruitless == FRUITLESS:
                self.observer.note(f"note: {FRUITLESS} jobs in a row ended before their first trial; {self._again}")
                return self._settled("failed")
            entry = None
        return self._settled("interrupted")

    def detach(self) -> str:
        """Submits one job and leaves it to itself."""
        entry = self._taken_up() or self._next()
        if entry is not None:
            self.observer.note(f"job {entry.job} ({entry.where()}) is submitted; {self._again}")
        return "running"

    @property
    def _again(self) -> str:
        return f"hint: take the run up with `tonnage run --resume {typed(self.run.path)}`"

    def _taken_up(self) -> Entry | None:
        """The job that an earlier submitter left, waiting, running or ended without a word in the ledger."""
        entry = self.ledger.latest()
        if entry is None or entry.ended is not None:
            return None
        if entry.job is None:
            receipt = self._found(entry.key)
            if receipt is None:
                self.ledger.ended(entry, "lost", "it never reached the scheduler")
                return None
            entry = self.ledger.submitted(entry, receipt)
        self.observer.note(f"taking up job {entry.job} ({entry.where()})")
        return entry

    def _next(self) -> Entry | None:
        """Submits the next stretch; None where nothing is left."""
        lines = Run.open(self.run.path).trials()
        trial = None
        if not self.campaign.decides_as_it_goes:
            trial = self._schedule().next(lines, spent_on(lines))
            if trial is None:
                return None
        before = self.ledger.latest()
        number = 0 if before is None else before.batch.job + 1
        batch = Batch.of(number, trial, allocations_of(self.campaign))
        manifest = self.run.manifest
        request = job_request(self.campaign, self.run.path, manifest["run_id"], batch, manifest["directory"])
        (self.run.path / DIRECTORY).mkdir(exist_ok=True)
        write_order(request)
        entry = self.ledger.want(batch, request)
        return self.ledger.submitted(entry, self._submit(entry, request))

    def _submit(self, entry: Entry, request: JobRequest) -> str:
        try:
            return self.scheduler.submit(request).job
        except SubmissionUnknown as error:
            found = self._found(request.key)
            if found is None:
                raise SubmissionUnknown(f"{error}; {self._again}") from None
            return found
        except (SchedulerError, RequestError) as error:
            self.ledger.ended(entry, "refused", str(error))
            self._settled("failed")
            raise

    def _found(self, key: str) -> str | None:
        """Asks until the job is there or the time is over; a scheduler that does not answer is asked again."""
        until = time.monotonic() + SETTLE_S
        while True:
            with suppress(SchedulerError):
                if (receipt := self.scheduler.find(key)) is not None:
                    return receipt.job
            if time.monotonic() > until or self.interrupts:
                return None
            time.sleep(_AGAIN_S)

    def _schedule(self) -> Schedule:
        return Sweep(self.campaign, self.campaign.seed or 0)

    def _stands(self, entry: Entry, ending: Ending) -> bool:
        """Whether the job did its part; where not, the trial it did not finish is recorded. RequestError where the
        job found that the request was wrong."""
        measured = ending.progress is not None and ending.progress.step is not None
        if ending.code == 0 and (measured or Run.open(self.run.path).manifest["state"] == "complete"):
            return True
        problem = ending.progress.problem if ending.progress else None
        if ending.code == RequestError.exit_code and problem:
            self._settled("failed")
            raise RequestError(f"{problem} (job {entry.job} on {', '.join(ending.hosts) or 'an unknown host'})")
        self._refuse_unseen(entry, ending)
        why = problem or ": ".join(filter(None, (ending.reason, self._last_line(entry))))
        now = utc_text("seconds")
        who = f"job {entry.job} ({entry.where()})"
        on = f" on {', '.join(ending.hosts)}" if ending.hosts else ""
        reason = f"{who} {ending.state}{on} at {now}: {why or 'the scheduler does not say why'}"
        reason += self._down(ending.hosts)
        if self.campaign.decides_as_it_goes:
            self._settled("failed")
            raise MeasurementError(f"{reason}; {self._again}")
        step = ending.progress.step if ending.progress else None
        if not has_record(self.run.path, step, beyond_bytes=entry.recorded_bytes):
            record_lost(self.run.path, self._schedule(), reason)
        self.follower.poll(entry.batch.job)
        return False

    def _down(self, hosts: Sequence[str]) -> str:
        """Which of a job's hosts are gone, as the scheduler sees it now."""
        with suppress(SchedulerError):
            gone = [host.name for host in self.scheduler.hosts() if host.name in hosts and not host.up]
            return f"; {', '.join(gone)} {'is' if len(gone) == 1 else 'are'} down" if gone else ""
        return ""

    def _refuse_unseen(self, entry: Entry, ending: Ending) -> None:
        """RequestError where the first job left nothing at all here: then the next ones would not either."""
        if ending.progress is None and entry.batch.job == 0 and not output_file(self.run.path, 0).exists():
            self._settled("failed")
            hosts = ", ".join(ending.hosts) or "its hosts"
            why = f" ({ending.reason})" if ending.reason else ""
            raise RequestError(
                f"job {entry.job} left nothing in {self.run.path}{why}: is that directory on {hosts} too? "
                "hint: give a run directory that all hosts share"
            )

    def _last_line(self, entry: Entry) -> str | None:
        """The last line that the job printed."""
        try:
            text = output_file(self.run.path, entry.batch.job).read_text(errors="replace")
        except OSError:
            return None
        said = [line.strip() for line in text.splitlines() if line.strip()]
        return said[-1][:500] if said else None

    def _settled(self, state: str) -> str:
        """No job writes the run now: its state is this process's to write."""
        found = Run.open(self.run.path)
        if found.manifest["state"] != state or not found.is_sealed:
            RunWriter.reopen(self.run.path).seal(state=state)
        return state


def has_record(run: Path, step: Step | None, *, beyond_bytes: int) -> bool:
    """Whether the trial that a job was at has all its records, and the job made one of them: it ended between two
    trials, or recorded itself what went wrong. ``beyond_bytes``: size of the trials' file before the job."""
    if step is None or (run / TRIALS).stat().st_size <= beyond_bytes:
        return False
    mine = [line for line in Run.open(run).trials() if line["trial"] == step.trial and line["purpose"] != "fill"]
    interrupted = any(line["status"] == "interrupted" for line in mine)
    return not interrupted and {line["phase"] for line in mine} >= set(step.setting.phases)


def record_lost(run: Path, schedule: Schedule, reason: str) -> list[TrialLine]:
    """Records the trial that is next as failed for ``reason``: the one under way when its job ended, or, where that
    came between two trials, the one it did not come to. The new lines; none where nothing was left to do."""
    lines = Run.open(run).trials()
    trial = schedule.next(lines, spent_on(lines))
    if trial is None:
        return []
    writer = RunWriter.reopen(run)
    number, done = _under_way(lines, trial)
    now = utc_text()
    new = []
    for phase in trial.setting.phases:
        if phase in done:
            continue
        line = trial.line(number, phase, started=now, result=None, reason=reason)
        writer.append_trial(line, (), event_lines(line, None))
        new.append(line)
    return new


def _under_way(lines: Sequence[TrialLine], trial: Trial) -> tuple[int, set[str]]:
    """The trial's number, and those of its phases that have a record. One that was interrupted counts as a whole: its
    repetition has a number of its own."""
    last = max((line["trial"] for line in lines), default=-1)
    mine = [line for line in lines if line["trial"] == last and line["purpose"] != "fill"]
    same = all(
        line["setting"] == _plain(trial) and line["repetition"] == trial.repetition and line["status"] != "interrupted"
        for line in mine
    )
    phases = {line["phase"] for line in mine}
    if mine and same and not phases >= set(trial.setting.phases):
        return last, phases
    return last + 1, set()


def _plain(trial: Trial) -> SettingValues:
    """The setting as a record has it when it was read back."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in trial.setting.as_dict().items()}
