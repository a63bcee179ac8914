"""Phases of an imported file as lines of a run, by the same rules as our own; instants on a clock of the import's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from tonnage.errors import RequestError
from tonnage.importers.imported_phases import Note, Phase, StatedRate
from tonnage.importers.rounded_numbers import Rounded
from tonnage.importers.trace import LARGEST
from tonnage.records import RunWriter, event_lines, setting_key, task_lines, trial_line, workflow_lines
from tonnage.records.line_types import CopyLine, ImportedLine, SettingValues, StatedRateLine, TrialLine, WorkflowTask
from tonnage.records.lines import untimed_task
from tonnage.records.phase_results import FlowResult, LatencySummary, NetworkResult, PhaseResult, TaskResult

_Instant = Literal["submit_ns", "start_ns", "end_ns", "complete_ns"]
_INSTANTS: tuple[_Instant, ...] = ("submit_ns", "start_ns", "end_ns", "complete_ns")
"""Of a workflow's task."""
_WRITING = ("write", "create")


@dataclass(frozen=True, slots=True)
class Placed:
    """A phase, which file it is of, and what that file is called."""

    file: int
    name: str
    phase: Phase
    factors: Mapping[str, str | int | bool] = field(default_factory=dict)
    """What its user states of the file."""


def write_phases(writer: RunWriter, phases: Sequence[tuple[int, Phase]]) -> int:
    """Appends each as a trial, with the number of its file; how many there were.

    Their order is that of the files; when one began after another is not known, so that they follow without a pause.
    """
    now_ns = 0
    repetitions: Counter[str] = Counter()
    keys: dict[tuple[str, int], str] = {}
    trial = 0
    with writer.gathering():
        for file, phase in phases:
            setting = phase.phase, id(phase.setting)
            equal = keys.get(setting) or keys.setdefault(setting, _equal(phase))
            _write(writer, trial, file, phase, repetitions[equal], now_ns)
            repetitions[equal] += 1
            now_ns += phase.elapsed_ns
            trial += 1
    return trial


def _setting(phase: Phase) -> SettingValues:
    """With what makes its writes durable, under the name that ours have: those with an fsync are not those without."""
    known = phase.durability is not None and phase.phase in _WRITING and phase.setting.get("sync") is None
    return {**phase.setting, "sync": phase.durability} if known else phase.setting


def with_distinct_settings(phases: Sequence[Placed]) -> list[tuple[int, Phase]]:
    """The phases with settings that distinguish all unequal trials, and the number of the file of each.

    An option that one file states and another does not is a factor of both, and trials whose settings are incomplete
    are kept apart from those that they might equal. RequestError where a user states something else than the file
    itself.
    """
    # Trials whose settings are one object are alike: what is said of the first of them holds for all.
    alike: dict[tuple[object, ...], Placed] = {}
    for found in phases:
        alike.setdefault(_likeness(found), found)
    made = dict(zip(alike, _distinct(list(alike.values())), strict=True))
    return [
        (found.file, _like(found.phase, alike[key].phase, made[key])) for found in phases for key in [_likeness(found)]
    ]


def with_others_noted(phases: Sequence[Placed]) -> list[Placed]:
    """The phases, with a note on each that is a part of a measurement of which others are among them."""
    tasks: dict[str, set[str]] = defaultdict(set)
    for found in phases:
        if found.phase.one_of:
            tasks[found.phase.one_of.measurement].add(found.phase.one_of.task)
    return [
        replace(found, phase=replace(found.phase, notes=(*found.phase.notes, one_of.others)))
        if (one_of := found.phase.one_of) and len(tasks[one_of.measurement]) > 1
        else found
        for found in phases
    ]


def _likeness(found: Placed) -> tuple[object, ...]:
    phase = found.phase
    return found.file, id(phase.setting), phase.phase, phase.durability, phase.unplaced


def _like(phase: Phase, first: Phase, made: Phase) -> Phase:
    """The phase with what was ``made`` of the ``first`` one of its likes."""
    added = made.notes[len(first.notes) :]
    return replace(phase, setting=made.setting, unplaced=made.unplaced, notes=(*phase.notes, *added))


def _distinct(phases: Sequence[Placed]) -> list[Phase]:
    """Of trials no two of which are alike."""
    stated = _stated(phases)
    keys: dict[str, dict[str, None]] = defaultdict(dict)
    for found in stated:
        keys[found.phase.phase] |= dict.fromkeys(found.phase.setting)
    whole = [_with_keys(found, keys[found.phase.phase]) for found in stated]
    among: dict[str, set[str | None]] = defaultdict(set)
    for found in whole:
        among[_equal(found.phase)].add(_unplaced_text(found))
    return [_apart(found) if len(among[_equal(found.phase)]) > 1 else found.phase for found in whole]


def _stated(phases: Sequence[Placed]) -> list[Placed]:
    """With what its user states of each file, in whatever its trials leave out."""
    open_ = {
        (found.file, name)
        for found in phases
        for name, value in found.factors.items()
        if _setting(found.phase).get(name) in (None, value)
    }
    for found in phases:
        for name in found.factors:
            if (found.file, name) not in open_:
                said = _setting(found.phase)[name]
                raise RequestError(f"{found.name} says of {name} {said!r} itself; hint: state another factor")
    return [_with_factors(found) for found in phases]


def _with_factors(found: Placed) -> Placed:
    """Who states all that a trial leaves out has placed it."""
    setting = {name: value for name, value in _setting(found.phase).items() if value is not None}
    phase = replace(found.phase, setting={**_setting(found.phase), **found.factors, **setting})
    if phase.unplaced and set(phase.unplaced.missing) <= found.factors.keys():
        phase = replace(phase, unplaced=None)
    return replace(found, phase=phase)


def _with_keys(found: Placed, keys: Mapping[str, None]) -> Placed:
    return replace(found, phase=replace(found.phase, setting={**keys, **found.phase.setting}))


def _equal(phase: Phase) -> str:
    return phase.phase + setting_key(phase.setting)


def _unplaced_text(found: Placed) -> str | None:
    """What a trial that cannot be placed is part of; None for those that can."""
    unplaced = found.phase.unplaced
    return f"{unplaced.among} of file {found.file + 1}, {found.name}" if unplaced else None


def _apart(found: Placed) -> Phase:
    unplaced, part = found.phase.unplaced, _unplaced_text(found)
    if unplaced is None:
        return replace(found.phase, setting={**found.phase.setting, "apart": None})
    advice = " ".join(f"--factor {name}=VALUE" for name in unplaced.missing)
    note = Note("kept-apart", f"{unplaced.why}: trials that may be unequal are no repetitions ({advice} places them)")
    return replace(found.phase, setting={**found.phase.setting, "apart": part}, notes=(*found.phase.notes, note))


def _write(writer: RunWriter, trial: int, file: int, phase: Phase, repetition: int, now_ns: int) -> None:
    result: PhaseResult = {
        "stop_reason": None,
        "tasks": _tasks(phase, now_ns),
        "facts": phase.facts,
        "notes": [{"code": note.code, "message": note.message} for note in phase.notes],
        "events": [],
        "latency": cast("LatencySummary | None", phase.latency),  # None for what the file does not say
        "cpu_user_ns": phase.cpu_user_ns,
        "cpu_system_ns": phase.cpu_system_ns,
        "direct": phase.direct,
        "cache": None,
        "verify": None,
        "first_error": None,
        "network": _moved(phase.network, now_ns),
    }
    line: ImportedLine = {
        **trial_line(
            trial=trial,
            setting=phase.setting,
            phase=phase.phase,
            repetition=repetition,
            block=0,
            started="",
            result=result,
            reason=phase.reason,
        ),
        "started": phase.started,
        "durability": phase.durability,
        "wrapped": None,
        "origin": {"file": file, "line": phase.line, "said": _stated_rate_line(phase.stated_rate)},
    }
    if phase.stated_training is not None:
        line["stated_training"] = phase.stated_training
    if phase.series:
        writer.write_series(trial, phase.phase, [(start, end, 0, moved) for start, end, moved in phase.series])
    # None where the file names none.
    hosts = cast("list[str]", [task.host for task in phase.tasks] or [None])
    workflow = workflow_lines(line, [_later(task, now_ns) for task in phase.workflow])
    copies = [_copy(line)] if phase.workflow else []
    writer.append_trial(line, task_lines(line, result, hosts), event_lines(line, result), copies, workflow)


def _tasks(phase: Phase, now_ns: int) -> list[TaskResult]:
    """A line for each task that the file lists; else one for all, without starts and ends of single tasks."""
    if phase.tasks:
        return [
            untimed_task(
                number, now_ns + task.start_ns, now_ns + task.end_ns, moved=task.bytes, operations=task.operations
            )
            for number, task in enumerate(phase.tasks)
        ]
    whole = untimed_task(0, now_ns, now_ns + phase.elapsed_ns, moved=phase.bytes, operations=phase.operations)
    return [{**whole, "tasks": phase.setting["tasks"], "together": phase.setting["tasks"] > 1}]


def _later(task: WorkflowTask, now_ns: int) -> WorkflowTask:
    """A workflow's task on the run's clock."""
    later = task.copy()
    for key in _INSTANTS:
        if (at_ns := task[key]) is not None:
            later[key] = at_ns + now_ns
    return later


def _copy(line: TrialLine) -> CopyLine:
    """The one copy of the command that a workflow's trace is of; how it ended, and what it used itself, is not said."""
    unknown = (
        "exit_code", "signal", "error", "cpu_user_ns", "cpu_system_ns", "run_delay_ns", "max_resident_bytes",
        "read_calls", "write_calls", "read_call_bytes", "write_call_bytes", "device_read_bytes", "device_write_bytes",
    )  # fmt: skip
    spans = {"start_ns": line["first_start_ns"], "end_ns": line["last_done_ns"]}
    head = {"trial": line["trial"], "record": line["record"], "copy": 0, "task": 0}
    return cast("CopyLine", {**head, **spans, **dict.fromkeys(unknown)})


def _moved(network: NetworkResult | None, now_ns: int) -> NetworkResult | None:
    """Its instants on the run's clock."""
    if network is None:
        return None
    flows: list[FlowResult] = [{**flow, "start_ns": flow["start_ns"] + now_ns} for flow in network["flows"]]
    start_ns, end_ns = network["window_start_ns"] + now_ns, network["window_end_ns"] + now_ns
    return {**network, "window_start_ns": start_ns, "window_end_ns": end_ns, "flows": flows}


def _stated_rate_line(said: StatedRate | None) -> StatedRateLine | None:
    """The rate and the time that the file states, as the whole numbers between which each lies."""
    if said is None:
        return None
    rate, time = _bounds(said.rate), _bounds(said.seconds.times(10**9))
    if rate is None or time is None:
        return None
    return {
        "text": said.text,
        "count": said.count,
        "rate_low_per_s": rate[0],
        "rate_high_per_s": rate[1],
        "elapsed_low_ns": time[0],
        "elapsed_high_ns": time[1],
    }


def _bounds(value: Rounded) -> tuple[int, int] | None:
    low, high = value.low_parts // value.parts, -(-value.high_parts // value.parts)
    return (low, high) if high < LARGEST else None
