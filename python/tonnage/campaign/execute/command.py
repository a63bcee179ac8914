"""Trials of ``command``: hooks, copies, hooks. A failing hook fails the trial, or is reported where the trial has
ended."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import cast

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.hooks import Hook
from tonnage.campaign.execute.run_phase import Harvest, Status, TrialRun
from tonnage.campaign.kinds import Setting
from tonnage.campaign.kinds.command import OURSELVES, PARTITION, PHASE, PLACE, CommandSetting
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.importers import TracedTask, read_trace
from tonnage.program_places import launcher
from tonnage.records.line_types import WorkflowTask
from tonnage.records.phase_results import PhaseResult
from tonnage.records.phase_specs import PhaseSpec


class CommandExecutor(Executor[CommandSetting]):
    """On a model no copy is a real one, and neither is what goes around it."""

    def check(self, setting: CommandSetting, target: Target) -> None:
        """RequestError where the directory or a program is not there."""
        if target.scheme == "sim":
            return
        if setting.partition is None and setting.takes_jobs_itself:
            raise RequestError(f'workload.argv says {PARTITION}, and there is none; hint: add partition = ["…"]')
        directory = directory_of(setting, target)
        if not directory.is_dir():
            raise RequestError(f"workload.directory: {directory} is not a directory; hint: give one in which to run")
        if (missing := missing_program(setting, target)) is not None:
            raise RequestError(f"{missing}; hint: give its path, or put it in PATH")

    def measure(self, setting: CommandSetting, trial: TrialRun) -> Status:
        target, record = trial.target, trial.record(PHASE)
        if target.scheme == "sim":
            return trial.phase(setting, PHASE, phase_spec(setting, target, record, trial.seed, None)).status
        variables = tuple(_placed(setting, variable) for variable in setting.environment)
        hook = Hook(directory_of(setting, target), variables, trial.interrupts)
        about = {
            "TONNAGE_TRIAL": str(trial.number),
            "TONNAGE_TASKS": str(setting.tasks),
            "TONNAGE_COPIES": str(setting.copies),
            **_where(setting),
        }
        hooks = trial.phases.hooks
        if setting.setup:
            reason = hooks.once(f"setup {setting.workload}", lambda: hook.run("setup", setting.setup, {}))
            if reason:
                return trial.without(PHASE, reason)
        if setting.teardown:
            hooks.at_end(f"teardown {setting.workload}", lambda: hook.run("teardown", setting.teardown, {}))
        reason = hook.run("prepare", setting.prepare, about)
        if trial.interrupts:
            return "interrupted"
        if reason:
            return trial.without(PHASE, reason)
        output = trial.phases.writer.output_directory(record) if setting.keep_output else None
        spec = phase_spec(setting, target, record, trial.seed, output)
        traces = _traces(setting, hook.directory)
        status = trial.phase(setting, PHASE, spec, harvest=traces.harvest if traces else None).status
        if reason := hook.run("cleanup", setting.cleanup, about):
            trial.phases.complain(reason)
        return status


def missing_program(setting: CommandSetting, target: Target, *, only_here: bool = False) -> str | None:
    """Which of a setting's programs is not there, as a sentence; None where all are. ``only_here``: of files in a
    directory that this host does not have nothing is said."""
    directory = directory_of(setting, target)
    path = dict(variable.split("=", 1) for variable in setting.environment).get("PATH", os.environ.get("PATH"))
    for key in ("argv", "setup", "prepare", "cleanup", "teardown"):
        argv = getattr(setting, key)
        if not argv or (key == "argv" and argv[0] == OURSELVES):
            continue
        program = argv[0].replace(PLACE, "0")
        if only_here and "/" in program and not (directory / program).parent.is_dir():
            continue
        if not _found(program, directory, path):
            return f"workload.{key}: there is no program {argv[0]!r}"
    return None


def missing_programs(settings: Iterable[Setting], target: Target) -> dict[str, str]:
    """Returns the message of :func:`missing_program` for each workload whose program is not on this host."""
    commands = [setting for setting in settings if isinstance(setting, CommandSetting)]
    return {one.workload: said for one in commands if (said := missing_program(one, target, only_here=True))}


def directory_of(setting: CommandSetting, target: Target) -> Path:
    """The directory in which copies and hooks run; absolute."""
    home = target.path or Path.cwd()
    return home / setting.directory if setting.directory else home


def phase_spec(setting: CommandSetting, target: Target, record: str, seed: int, output: Path | None) -> PhaseSpec:
    """The PhaseSpec (``crates/workload/src/command.rs``) that runs the copies."""
    environment = _where(setting)
    environment |= dict(_placed(setting, variable).split("=", 1) for variable in setting.environment)
    return {
        "record": record,
        "tasks": {"first": 0, "here": setting.tasks, "total": setting.tasks},
        "limit": {"time_ns": setting.time_limit_ns},
        "seed": seed,
        "work": {
            "kind": "command",
            "argv": _argv(setting),
            "copies": setting.copies,
            "directory": str(directory_of(setting, target)),
            "environment": environment,
            "output": None if output is None else str(output),
        },
    }


def _traces(setting: CommandSetting, directory: Path) -> Traces | None:
    """Returns where the workflow engine of each copy leaves its traces; None for a command that starts none."""
    if setting.trace is None:
        return None
    return Traces(setting.trace, directory, setting.trace_file or "", setting.copies)


def _placed(setting: CommandSetting, text: str) -> str:
    return text.replace(PARTITION, setting.partition or "")


def _where(setting: CommandSetting) -> dict[str, str]:
    """Variables that tell the program where the campaign runs it."""
    found = {} if setting.partition is None else {"TONNAGE_PARTITION": setting.partition}
    return found if setting.hosts is None else found | {"TONNAGE_HOSTS": ",".join(setting.hosts)}


def _argv(setting: CommandSetting) -> list[str]:
    """Returns the command's words, with those that start this program in the place of ``{tonnage}``."""
    argv = [_placed(setting, word) for word in setting.argv]
    return [*launcher(), *argv[1:]] if argv[0] == OURSELVES else argv


def _found(program: str, directory: Path, path: str | None) -> bool:
    if "/" in program:
        file = directory / program
        return file.is_file() and os.access(file, os.X_OK)
    return shutil.which(program, path=path) is not None


_INSTANTS = ("submit_ns", "start_ns", "end_ns", "complete_ns")

State = tuple[int, int, int]


class Traces:
    """The trace files of a phase's copies: which were there before it, and then what the new ones say."""

    def __init__(self, engine: str, directory: Path, pattern: str, copies: int) -> None:
        self._engine = engine
        self._directory = directory
        self._patterns = [pattern.replace("{copy}", str(copy)) for copy in range(copies)]
        self._before = {path: state for pattern in self._patterns for path, state in self._there(pattern).items()}

    def harvest(self, result: PhaseResult, wall_ns: Callable[[], int], now_ns: Callable[[], int]) -> Harvest:
        """The tasks of every copy that ran. ``wall_ns`` and ``now_ns``: the clock of traces, and the run's own."""
        offset_ns = wall_ns() - now_ns()
        lines: list[WorkflowTask] = []
        problems: list[str] = []
        reason = None
        for copy in result.get("copies", ()):
            number = copy["copy"]
            path = self._new(self._patterns[number])
            if path is None:
                if copy["exit_code"] == 0:
                    reason = reason or (
                        f"copy {number} left no trace: it wrote no file {self._patterns[number]} in {self._directory}"
                    )
                continue
            try:
                trace = read_trace(self._engine, path)
            except OSError as error:
                reason = reason or f"the trace of copy {number}, {path}, cannot be read: {error.strerror or error}"
                continue
            except RequestError as error:
                # A plug-in's failure is this trial's: what was measured before it stays, and the run goes on.
                reason = reason or f"the trace of copy {number}, {path}, cannot be read: {error}"
                continue
            problems += [f"{path}, {problem}" for problem in trace.problems]
            if not trace.tasks and copy["exit_code"] == 0:
                reason = reason or f"the trace of copy {number}, {path}, has no task"
            lines += [_line(number, self._engine, task, traced, offset_ns) for task, traced in enumerate(trace.tasks)]
        return Harvest(lines, problems, reason)

    def _there(self, pattern: str) -> dict[Path, State]:
        found = {}
        for name in glob.glob(pattern, root_dir=self._directory, recursive=True):  # noqa: PTH207  (never raises)
            path = self._directory / name
            try:
                facts = path.stat()
            except OSError:
                continue
            found[path] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        return found

    def _new(self, pattern: str) -> Path | None:
        """The file that came or changed since before; of several the one that was written last. No clock is asked:
        that of a file server may be another."""
        fresh = {path: state for path, state in self._there(pattern).items() if self._before.get(path) != state}
        return max(fresh, key=lambda path: fresh[path], default=None)


def _line(copy: int, engine: str, task: int, traced: TracedTask, offset_ns: int) -> WorkflowTask:
    """A task with its instants on the run's clock."""
    found = asdict(traced)
    for key in _INSTANTS:
        if found[key] is not None:
            found[key] -= offset_ns
    if found["after"] is not None:
        found["after"] = list(found["after"])
    return cast("WorkflowTask", {"copy": copy, "engine": engine, "task": task, **found})
