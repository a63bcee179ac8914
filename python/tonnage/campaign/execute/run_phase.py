"""Runs a phase from its start line to its record; the executors of all kinds of workload use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from tonnage.campaign.execute.hooks import RunHooks
from tonnage.campaign.kinds import Setting
from tonnage.campaign.observer import Live, Observer, Step
from tonnage.campaign.phase_facts import FileLayout, NfsCounts
from tonnage.campaign.schedule import Trial
from tonnage.campaign.stop_signals import Interrupts
from tonnage.campaign.target import Target
from tonnage.campaign.workspace import Workspace
from tonnage.cluster import launcher
from tonnage.cluster.launcher import ProcessLost
from tonnage.errors import MeasurementError, RequestError
from tonnage.machine.host_events import HostCounters
from tonnage.records import (
    RunWriter,
    copy_lines,
    device_lines,
    event_lines,
    object_lines,
    record_name,
    task_lines,
    trial_line,
    workflow_lines,
)
from tonnage.records.file_names import promised
from tonnage.records.line_types import DeviceItem, EventLine, HostEvents, TaskLine, TrialLine, WorkflowTask
from tonnage.records.phase_results import PhaseResult
from tonnage.records.phase_specs import PhaseSpec
from tonnage.units import utc_text

TICK_S = 0.1
_BESIDE = ("measure", "sustain", "offered")
"""Purposes of the phases that company runs beside."""

Status = Literal["ok", "failed", "interrupted"]
Acted = tuple[PhaseResult | None, str | None]
"""What came of something beside the engine, or None, and why it failed, or None."""


@dataclass(frozen=True, slots=True)
class Harvest:
    """Holds what a phase left besides its result."""

    workflow: list[WorkflowTask]
    """As ``workflow_lines`` takes them."""
    problems: list[str]
    reason: str | None
    """Why the phase failed for want of it, or None."""


CompanyRecords = tuple[TrialLine, Sequence[TaskLine], Sequence[EventLine]]
"""A company's line, those of its tasks, and its events."""


class Company(Protocol):
    """What runs beside a phase (``company_phase.py``)."""

    @property
    def step(self) -> launcher.Step:
        """Of both."""

    def lines(self) -> CompanyRecords:
        """Its records, once the step has told its result."""


class Companions(Protocol):
    """What may run beside the phases of a run (``company_phase.py``)."""

    def prepare(self, runner: PhaseRunner, number: int, trial: Trial, setting: Setting, spec: PhaseSpec) -> Company:
        """Leaves the tasks of both at their start lines. MeasurementError or RequestError where company cannot run."""


Harvester = Callable[[PhaseResult, Callable[[], int], Callable[[], int]], Harvest]
"""Collects it, given the result, the clock of other programs, and the run's own; both in ns."""


@dataclass(frozen=True, slots=True)
class PhaseOutcome:
    """The outcome of a phase."""

    status: Status
    line: TrialLine = field(default_factory=lambda: TrialLine())
    """Its record; empty where an interrupt left none."""
    tasks: Sequence[TaskLine] = ()

    @property
    def operations(self) -> list[int]:
        """Of each task, by number."""
        return [task["operations"] for task in self.tasks]


class RunClock:
    """The run's clock, which the storage of one setting keeps, and the time used on it."""

    def __init__(self, workspace: Workspace, setting: Setting, spent_before_ns: int = 0) -> None:
        self._workspace = workspace
        self._setting = setting
        self._spent_before_ns = spent_before_ns
        self._began_ns = 0

    def begin(self) -> None:
        """Time counts from now on."""
        self._began_ns = self.now_ns()

    def end(self) -> None:
        """Time does not count until it begins again."""
        self._spent_before_ns = self.spent_ns

    def now_ns(self) -> int:
        """The instant that records are written in."""
        return self._workspace.ensemble(self._setting).now_ns()

    @property
    def spent_ns(self) -> int:
        """Time used, also before a resume."""
        return self._spent_before_ns + self.now_ns() - self._began_ns

    @property
    def host(self) -> str:
        """Where it is kept."""
        return self._workspace.ensemble(self._setting).host


@dataclass(slots=True)
class PhaseRunner:
    """Runs phases one after another, and records each."""

    writer: RunWriter
    workspace: Workspace
    observer: Observer
    interrupts: Interrupts
    clock: RunClock
    lines: list[TrialLine]
    """All lines of the run, those before a resume included."""
    seed: int
    trials: int | None = None
    """How many there will be, for who watches; None where a search decides as it goes."""
    budget_ns: int | None = None
    company: Companions | None = None
    """None where nothing may run beside a phase."""
    keep_operations: int = 0
    """Operations of each task that are kept one by one."""
    lost: bool = False
    """Whether a process was lost: there is no going on without it."""
    hooks: RunHooks = field(default_factory=RunHooks)
    _noted: set[str] = field(default_factory=set)
    """Codes of fallbacks that the user was already told about."""
    _layout: FileLayout = field(init=False)
    _nfs: NfsCounts = field(init=False)

    def __post_init__(self) -> None:
        self._layout = FileLayout(self.workspace)
        self._nfs = NfsCounts(self.workspace.target.paths)

    def complain(self, reason: str) -> None:
        """Records a problem outside the phases, and tells the user."""
        event: EventLine = {"trial": None, "record": None, "time_ns": self.clock.now_ns(), "kind": "hook-failed"}
        self.writer.append_events([{**event, "task": None, "message": reason}])
        self.observer.note(f"note: {reason}")

    def announce(self, number: int, trial: Trial, setting: Setting, phase: str, purpose: str | None = None) -> None:
        """Tells the user which phase is about to cross the start line."""
        purpose = purpose or trial.purpose
        spent_ns = self.clock.spent_ns
        left_ns = None if self.budget_ns is None else max(self.budget_ns - spent_ns, 0)
        self.observer.step(Step(number, self.trials, setting, phase, trial.repetition, purpose, spent_ns, left_ns))

    def run(
        self,
        number: int,
        trial: Trial,
        setting: Setting,
        phase: str,
        spec: PhaseSpec,
        *,
        purpose: str | None = None,
        harvest: Harvester | None = None,
    ) -> PhaseOutcome:
        """Runs one PhaseSpec on the storage of ``setting`` and records it under the name ``phase``.

        ``harvest`` collects what programs left meanwhile, which is then part of the record.
        """
        purpose = purpose or trial.purpose
        started = utc_text()
        self.announce(number, trial, setting, phase, purpose)
        ensemble = self.workspace.ensemble(setting)
        result: PhaseResult | None = None
        reason, gathering, left, host_events = None, None, None, None
        company: Company | None = None
        hosts: Sequence[str] = ()
        try:
            running, company = self._at_start_line(number, trial, setting, spec, purpose)
            host_events = self._until_done(running)
            told: Any = running.result()
            result = told
            hosts = running.hosts()
            gathering = running.gathering()
            if harvest is not None:
                left = harvest(result, time.time_ns, ensemble.now_ns)
                reason = left.reason
        except ProcessLost as error:
            reason, self.lost = str(error), True
        except OSError as error:
            if self.interrupts.again:
                return PhaseOutcome("interrupted")
            reason = error.strerror or str(error)
        except (ValueError, MemoryError, RequestError, MeasurementError) as error:
            reason = str(error)
        beside = company.lines() if company is not None and result is not None else None
        reason = reason or _failed_company(beside)
        moved = result is not None and any(task["bytes"] for task in result["tasks"])
        devices, items = self._layout.after(setting, phase, record_name(number, phase), moved=moved)
        line = trial_line(
            trial=number,
            setting=setting.as_dict(),
            phase=phase,
            repetition=trial.repetition,
            block=trial.block,
            started=started,
            result=result,
            purpose=purpose,
            reason=reason,
            gathering=gathering,
            meanwhile=host_events,
            devices=devices,
            nfs=self._nfs.take() if result else None,
        )
        self._record_company(line, beside)
        return self._record(line, result, hosts if result else (), left, items)

    def _at_start_line(
        self, number: int, trial: Trial, setting: Setting, spec: PhaseSpec, purpose: str
    ) -> tuple[launcher.Step, Company | None]:
        """The phase with what the run asks of each, its tasks waiting to begin, and its company, where it has any."""
        if self.keep_operations:
            spec = {**spec, "operation_log": self.keep_operations}
        if not setting.is_checked(self.workspace.target):
            spec = {**spec, "limit": {**spec.get("limit", {}), "watch_space": True}}
        if self.company is None or setting.beside is None or purpose not in _BESIDE:
            return self.workspace.ensemble(setting).prepare(spec, setting.placing), None
        company = self.company.prepare(self, number, trial, setting, spec)
        return company.step, company

    def _record_company(self, line: TrialLine, beside: CompanyRecords | None) -> None:
        """The company's own record, and what the line of the measured phase says of it."""
        if beside is None:
            return
        own, tasks, events = beside
        line["company"] = own["company"]
        self.writer.require_files(promised(self.writer.manifest, own, tasks, ()))
        self.writer.append_trial(own, tasks, events)
        self.lines.append(own)

    def _keep_hints(self, hints: dict[str, str]) -> None:
        """The manifest has the hints of MPI that were in effect first; each trial line has its own."""
        kept = self.writer.manifest.get("mpiio")
        if kept is not None and "hints" not in kept and hints:
            self.writer.update_manifest(mpiio={**kept, "hints": hints})

    def run_outside_engine(
        self, number: int, trial: Trial, phase: str, act: Callable[[], Acted], hosts: Sequence[str] = ()
    ) -> PhaseOutcome:
        """Records what happens beside the engine: ``act`` gives a PhaseResult, or None, and why it failed, or None.

        ``hosts``, filled by then: of each task, where it is not this one.
        """
        started = utc_text()
        result, reason = act()
        line = trial.line(number, phase, started=started, result=result, reason=reason)
        here = [self.clock.host] * len(result["tasks"]) if result else []
        return self._record(line, result, hosts or here)

    def without(self, number: int, trial: Trial, phase: str, reason: str) -> PhaseOutcome:
        """Records a phase that could not be measured: a requested phase without a record would be a blank."""
        return self.run_outside_engine(number, trial, phase, lambda: (None, reason))

    def _until_done(self, running: launcher.Step) -> HostEvents | None:
        """Opens the start line and stays until the last task is done; ``meanwhile`` of the trial line."""
        self._nfs.begin()
        # A model has a time of its own, in which nothing happens to this host.
        before = None if self.workspace.target.scheme == "sim" else HostCounters.now()
        running.go()
        while not running.wait(TICK_S):
            if self.interrupts:
                running.stop()
            self.observer.tick(cast("Live", running.live()))
        events = None if before is None else HostCounters.now().since(before)
        self._nfs.end()
        return cast("HostEvents | None", events)

    def _record(
        self,
        line: TrialLine,
        result: PhaseResult | None,
        hosts: Sequence[str],
        left: Harvest | None = None,
        items: Sequence[DeviceItem] = (),
    ) -> PhaseOutcome:
        tasks = task_lines(line, result, hosts)
        events = event_lines(line, result)
        for problem in left.problems if left else ():
            event: EventLine = {"trial": line["trial"], "record": line["record"], "time_ns": line["last_done_ns"]}
            events.append({**event, "kind": "trace", "task": None, "message": problem})
            self.observer.note(f"note: {problem}")
        workflow = workflow_lines(line, left.workflow) if left else []
        copies = copy_lines(line, result)
        if line["purpose"] != "fill":
            # What lays files out names its own otherwise, and no figure stands on them.
            self.writer.require_files(promised(self.writer.manifest, line, tasks, copies))
        layout, objects = device_lines(line, items), object_lines(line, result)
        self.writer.append_trial(line, tasks, events, copies, workflow, layout, objects)
        self.lines.append(line)
        self._keep_hints(line["hints"])
        self.observer.recorded(line)
        for note in line["notes"]:
            if note["code"] not in self._noted:
                self._noted.add(note["code"])
                self.observer.note(f"note: {note['message']}")
        return PhaseOutcome(cast("Status", line["status"]), line, tasks)


@dataclass(frozen=True, slots=True)
class TrialRun:
    """One trial that is carried out now."""

    number: int
    trial: Trial
    phases: PhaseRunner

    @property
    def workspace(self) -> Workspace:
        """Where it works."""
        return self.phases.workspace

    @property
    def target(self) -> Target:
        """The target that it measures."""
        return self.phases.workspace.target

    @property
    def interrupts(self) -> Interrupts:
        """True once the user wants the run to end."""
        return self.phases.interrupts

    @property
    def seed(self) -> int:
        """Of the run."""
        return self.phases.seed

    def record(self, phase: str) -> str:
        """Returns the name of a phase's record."""
        return record_name(self.number, phase)

    def phase(
        self,
        setting: Setting,
        phase: str,
        spec: PhaseSpec,
        *,
        purpose: str | None = None,
        harvest: Harvester | None = None,
    ) -> PhaseOutcome:
        """Runs and records a phase (``PhaseRunner.run``)."""
        return self.phases.run(self.number, self.trial, setting, phase, spec, purpose=purpose, harvest=harvest)

    def run_outside_engine(self, phase: str, act: Callable[[], Acted], hosts: Sequence[str] = ()) -> Status:
        """Records a phase that no engine runs (``PhaseRunner.run_outside_engine``); its status."""
        return self.phases.run_outside_engine(self.number, self.trial, phase, act, hosts).status

    def without(self, phase: str, reason: str) -> Status:
        """Records a phase that could not be measured; its status."""
        return self.phases.without(self.number, self.trial, phase, reason).status

    def announce(self, phase: str) -> None:
        """Tells the user which phase is about to begin, where no engine runs it."""
        self.phases.announce(self.number, self.trial, self.trial.setting, phase)

    def hook_took(self, phase: str, name: str, duration_ns: int) -> None:
        """Takes down how long a user's command took that belongs to a phase but is in none of its times."""
        now_ns = self.phases.clock.now_ns()
        event: EventLine = {"trial": self.number, "record": self.record(phase), "time_ns": now_ns, "kind": "hook"}
        self.phases.writer.append_events([{**event, "task": None, "name": name, "duration_ns": duration_ns}])


def _failed_company(beside: CompanyRecords | None) -> str | None:
    """Why a phase counts for nothing whose company failed."""
    if beside is None or beside[0]["status"] != "failed":
        return None
    return f"the company failed: {beside[0]['reason']}"
