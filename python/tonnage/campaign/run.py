"""The run loop: one way through the house for files, ``probe`` and resumed runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tonnage.campaign.execute.traces import Harvest, Traces
from tonnage.campaign.file_layout import NfsCounts, Placement
from tonnage.campaign.interrupts import Interrupts
from tonnage.campaign.kinds import Setting
from tonnage.campaign.kinds.stream import StreamSetting, phase_spec
from tonnage.campaign.observer import Observer, Step
from tonnage.campaign.schedule import Schedule, Trial
from tonnage.campaign.workspace import Workspace
from tonnage.cluster import launcher
from tonnage.cluster.lost import ProcessLost
from tonnage.errors import MeasurementError
from tonnage.machine.meanwhile import Meanwhile
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
from tonnage.records.promised import promised

_TICK_S = 0.1


@dataclass(slots=True)
class Loop:
    """Everything that a run in progress holds."""

    writer: RunWriter
    room: Workspace
    schedule: Schedule
    observer: Observer
    interrupts: Interrupts
    seed: int
    on_error: str
    trials: int | None
    budget_ns: int | None
    lines: list[dict[str, Any]]
    """All lines of the run, those before a resume included."""
    clock: Setting
    """A setting whose storage keeps the run's clock."""
    keep_operations: int = 0
    """Operations of each task that are kept one by one."""
    spent_before_ns: int = 0
    pause_ns: int = 0
    """Wait before each trial."""
    last_tasks: list[dict[str, Any]] = field(default_factory=list)
    """The task lines of the phase that ended last."""
    _began_ns: int = 0
    _noted: set[str] = field(default_factory=set)
    """Codes of fallbacks that the user was told of."""
    task_operations: list[int] = field(default_factory=list)
    """Operations of each task in the latest phase, by number."""
    _begun: dict[str, str | None] = field(default_factory=dict)
    """What was done once, and why it failed."""
    _endings: dict[str, Callable[[], str | None]] = field(default_factory=dict)
    _lost: bool = False
    """Whether a process was lost: there is no going on without it."""
    _placement: Placement = field(init=False)
    _nfs: NfsCounts = field(init=False)

    def __post_init__(self) -> None:
        self._placement = Placement(self.room)
        self._nfs = NfsCounts(self.room.target.paths)

    def run(self) -> str:
        """Measures until nothing is left to do; the run's ``state``: ``complete``, ``interrupted`` or ``failed``."""
        try:
            return self._run()
        finally:
            for ending in self._endings.values():
                if reason := ending():
                    self.complain(reason)

    def _run(self) -> str:
        self._began_ns = self.room.ensemble(self.clock).now_ns()
        number = max((line["trial"] for line in self.lines), default=-1) + 1
        while not self.interrupts:
            trial = self.schedule.next(self.lines, self.spent_ns)
            if trial is None:
                return "complete"
            self._pause()
            if self.interrupts:
                break
            status = self.trial(number, trial)
            if self._lost or (status == "failed" and self.on_error == "stop"):
                return "failed"
            number += 1
        return "interrupted"

    def _pause(self) -> None:
        end = time.monotonic_ns() + self.pause_ns
        # A signal does not end a sleep; what it asks for should not wait for the whole of it.
        while not self.interrupts and (left := end - time.monotonic_ns()) > 0:
            time.sleep(min(left / 1e9, _TICK_S))

    @property
    def spent_ns(self) -> int:
        """Time used on the run's clock, also before a resume."""
        return self.spent_before_ns + self.room.ensemble(self.clock).now_ns() - self._began_ns

    def once(self, name: str, begin: Callable[[], str | None]) -> str | None:
        """What ``begin`` returned, which is called the first time only: why it failed, or None."""
        if name not in self._begun:
            self._begun[name] = begin()
        return self._begun[name]

    def at_end(self, name: str, ending: Callable[[], str | None]) -> None:
        """Has ``ending`` called when the run ends, however it does; once for each name."""
        self._endings.setdefault(name, ending)

    def complain(self, reason: str) -> None:
        """Takes down what went wrong outside the phases, and tells the user."""
        now = self.room.ensemble(self.clock).now_ns()
        event = {"trial": None, "record": None, "time_ns": now, "kind": "hook-failed", "task": None, "message": reason}
        self.writer.append_events([event])
        self.observer.note(f"note: {reason}")

    def took(self, record: str, trial: int, name: str, duration_ns: int) -> None:
        """Takes down how long a user's command took that belongs to a phase but is in none of its times."""
        event = {"trial": trial, "record": record, "time_ns": self.room.ensemble(self.clock).now_ns(), "kind": "hook"}
        self.writer.append_events([{**event, "task": None, "name": name, "duration_ns": duration_ns}])

    def trial(self, number: int, trial: Trial) -> str:
        """Measures all phases of a trial and returns its status. The kind of workload knows how."""
        try:
            return trial.setting.measure(self, number, trial)
        except ProcessLost as error:
            # Between two phases: those that were still to come have their records as well.
            self._lost = True
            recorded = {line["phase"] for line in self.lines if line["trial"] == number}
            for phase in trial.setting.phases:
                if phase not in recorded:
                    self.without(number, trial, phase, str(error))
            return "failed"
        except MeasurementError:
            if not self.interrupts:
                raise
            # What could not be removed is told when the run ends, which it does.
            return "interrupted"

    def lay_out(self, number: int, trial: Trial, setting: StreamSetting) -> str | None:
        """Has the files of ``setting`` written where they are not there; the trial's status where that failed."""
        fill = self.room.fill_for(setting)
        if fill is None:
            return None
        spec = phase_spec(fill[0], f"{number:04d}-write", self.seed, first_task=fill[1])
        status = self.phase(number, trial, fill[0], "write", spec, purpose="fill")
        if status == "ok":
            self.room.wrote(fill[0])
            return None
        self.room.clear()
        if status == "failed":
            return self.without(number, trial, setting.op, "the files it reads could not be laid out")
        return status

    def pilot(self, setting: StreamSetting) -> None:
        """A write before the first trial that is recorded but never analysed."""
        number = max((line["trial"] for line in self.lines), default=-1) + 1
        self._began_ns = self.room.ensemble(self.clock).now_ns()
        spec = phase_spec(setting, f"{number:04d}-write", self.seed)
        self.phase(number, Trial(setting, 0, 0), setting, "write", spec, purpose="fill")
        self.room.clear()
        self.spent_before_ns = self.spent_ns

    def without(self, number: int, trial: Trial, phase: str, reason: str) -> str:
        """Records a phase that could not be measured: a requested phase without a record would be a blank."""
        return self.outside(number, trial, phase, lambda: (None, reason))

    def outside(
        self,
        number: int,
        trial: Trial,
        phase: str,
        act: Callable[[], tuple[dict[str, Any] | None, str | None]],
        hosts: Sequence[str] = (),
    ) -> str:
        """Records what happens beside the engine: ``act`` gives a PhaseResult, or None, and why it failed, or None.

        ``hosts``, filled by then: of each task, where it is not this one.
        """
        started = _now()
        result, reason = act()
        line = trial.line(number, phase, started=started, result=result, reason=reason)
        here = [self.room.ensemble(self.clock).host] * len(result["tasks"]) if result else []
        return self._record(line, result, hosts or here)

    def announce(self, number: int, trial: Trial, setting: Setting, phase: str, purpose: str | None = None) -> None:
        """Tells the user which phase is about to cross the start line."""
        purpose = purpose or trial.purpose
        left_ns = None if self.budget_ns is None else max(self.budget_ns - self.spent_ns, 0)
        self.observer.step(Step(number, self.trials, setting, phase, trial.repetition, purpose, self.spent_ns, left_ns))

    def phase(
        self,
        number: int,
        trial: Trial,
        setting: Setting,
        phase: str,
        spec: dict[str, Any],
        *,
        purpose: str | None = None,
        traces: Traces | None = None,
    ) -> str:
        """Runs one PhaseSpec on the storage of ``setting`` and records it under the name ``phase``; its status.

        ``traces``: what workflow engines leave meanwhile, which is then part of the record.
        """
        purpose = purpose or trial.purpose
        started = _now()
        self.announce(number, trial, setting, phase, purpose)
        ensemble = self.room.ensemble(setting)
        result, reason = None, None
        hosts: Sequence[str] = ()
        gathering, left, meanwhile = None, None, None
        try:
            kept = {"operation_log": self.keep_operations} if self.keep_operations else {}
            running = ensemble.prepare(spec | kept, setting.placing)
            meanwhile = self._until_done(running)
            result = running.result()
            hosts = running.hosts()
            gathering = running.gathering()
            self.task_operations = [task["operations"] for task in result["tasks"]]
            if traces is not None:
                left = traces.harvest(result, time.time_ns, ensemble.now_ns)
                reason = left.reason
        except ProcessLost as error:
            reason, self._lost = str(error), True
        except OSError as error:
            if self.interrupts.again:
                return "interrupted"
            reason = error.strerror or str(error)
        except (ValueError, MemoryError) as error:
            reason = str(error)
        moved = result is not None and any(task["bytes"] for task in result["tasks"])
        devices, items = self._placement.after(setting, phase, record_name(number, phase), moved=moved)
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
            meanwhile=meanwhile,
            devices=devices,
            nfs=self._nfs.take() if result else None,
        )
        return self._record(line, result, hosts if result else (), left, items)

    def _until_done(self, running: launcher.Step) -> dict[str, int | None] | None:
        """Opens the start line and stays until the last task is done; ``meanwhile`` of the trial line."""
        self._nfs.begin()
        # A model has a time of its own, in which nothing happens to this host.
        before = None if self.room.target.scheme == "sim" else Meanwhile.now()
        running.go()
        while not running.wait(_TICK_S):
            if self.interrupts:
                running.stop()
            self.observer.tick(running.live())
        meanwhile = None if before is None else Meanwhile.now().since(before)
        self._nfs.end()
        return meanwhile

    def _record(
        self,
        line: dict[str, Any],
        result: Mapping[str, Any] | None,
        hosts: Sequence[str],
        left: Harvest | None = None,
        items: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        self.last_tasks = task_lines(line, result, hosts)
        events = event_lines(line, result)
        for problem in left.problems if left else ():
            head = {"trial": line["trial"], "record": line["record"], "time_ns": line["last_done_ns"]}
            events.append({**head, "kind": "trace", "task": None, "message": problem})
            self.observer.note(f"note: {problem}")
        workflow = workflow_lines(line, left.workflow) if left else []
        held = device_lines(line, items)
        objects = object_lines(line, result)
        copies = copy_lines(line, result)
        if line["purpose"] != "fill":
            # What lays files out names its own otherwise, and no figure stands on them.
            self.writer.require_files(promised(self.writer.manifest, line, self.last_tasks, copies))
        self.writer.append_trial(line, self.last_tasks, events, copies, workflow, held, objects)
        self.lines.append(line)
        self.observer.recorded(line)
        for note in line["notes"]:
            if note["code"] not in self._noted:
                self._noted.add(note["code"])
                self.observer.note(f"note: {note['message']}")
        status: str = line["status"]
        return status


def spent_on(lines: Sequence[Mapping[str, Any]]) -> int:
    """Time that recorded phases took: what a resumed run has already used of its budget."""
    return sum(line["elapsed_ns"] or 0 for line in lines)


def clock_of(lines: Sequence[Mapping[str, Any]], device: int | None) -> int:
    """What a model's clock shows after these phases, in ns; ``device``: only those on it."""
    own = (line for line in lines if device is None or line["setting"].get("device") == device)
    return max((line["last_done_ns"] or 0 for line in own), default=0)


def failures(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The requested phases that failed."""
    return [line for line in lines if line["status"] == "failed" and line["purpose"] in ("measure", "check", "offered")]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def run_directory(out: str | None, name: str, run_id: str) -> Path:
    """Where a new run goes: ``out``, or a directory of its own below ``./tonnage-runs``."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return Path(out) if out else Path("tonnage-runs", f"{stamp}-{name}-{run_id}")
