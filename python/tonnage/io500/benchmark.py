"""Carries out the benchmark: every phase of every repetition, in order, and what is left of it where it goes on."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tonnage.analysis.io500 import Benchmark, PhaseFigure
from tonnage.campaign.observer import Observer
from tonnage.compat.measure import Ranks
from tonnage.errors import RequestError
from tonnage.io500 import data_directory
from tonnage.io500.benchmark_progress import Kept
from tonnage.io500.config import Config, parse_config
from tonnage.io500.measure import PhaseOutcome, arguments_of, check, drop_caches, files_of, measure
from tonnage.io500.phase_commands import RepetitionPaths, Step, directories, steps_of
from tonnage.io500.result_directory import ResultDirectory, now
from tonnage.io500.values import check_values, refusal
from tonnage.program_places import working_directory
from tonnage.records import Run

Say = Callable[[str], None]
_CLOCKS_NS = 10 * 10**9


@dataclass(frozen=True, slots=True)
class Ended:
    """How a benchmark ended."""

    found: Benchmark
    results: Path
    is_interrupted: bool
    problems: tuple[str, ...]
    """What could not be removed."""


def plan(config: Config, *, mode: str, tasks: int, repeat: int, timestamp: str | None) -> Kept:
    """A new benchmark, of which nothing is made yet. RequestError where a phase cannot be done, or a place is taken."""
    check_values(config)
    stamp = timestamp or datetime.now().strftime("%Y.%m.%d-%H.%M.%S")
    if "/" in stamp or stamp in ("", ".", ".."):
        raise RequestError(f"--timestamp {stamp!r} is no name of a directory; hint: write one like 2026.07.31-12.00.00")
    data, results = (
        f"{config.text('global', key)}/{stamp}"
        if config.flag("global", f"timestamp-{key}")
        else config.text("global", key)
        for key in ("datadir", "resultdir")
    )
    kept = Kept(config.original, mode, tasks, repeat, stamp, data, results, working_directory())
    if mode == "extended" and config.flag("mdworkbench", "run"):
        complaint = (
            "the extended phases of md-workbench are not carried out here",
            "write run = FALSE, or --mode standard",
        )
        raise refusal(config, "mdworkbench", "run", complaint)
    for step in _steps(config, mode):
        check(step, config, directories_of(kept, 1), tasks)
        _check_searchers(step, config, tasks)
    root, out = Path(kept.here, data), Path(kept.here, results)
    _apart(root, out)
    for key, path in (("datadir", root), ("resultdir", out)):
        if why := data_directory.why_not_made(path):
            raise refusal(config, "global", key, why)
    data_directory.refuse_content(root)
    data_directory.refuse_results(out)
    return kept


def _check_searchers(step: Step, config: Config, tasks: int) -> None:
    searchers = config.number_if(step.name, "nproc") if step.program == "find" else None
    if searchers is not None and searchers > tasks:
        complaint = (
            f"there {'is one task' if tasks == 1 else f'are {tasks} tasks'}",
            f"start {searchers}, or leave nproc out: then all of them search",
        )
        raise refusal(config, step.name, "nproc", complaint)


def begin(kept: Kept) -> None:
    """Makes the directories of a benchmark that was planned."""
    root, out = Path(kept.here, kept.data), Path(kept.here, kept.results)
    kept.made = data_directory.make([root, out])
    kept.save(out)


def command_lines(kept: Kept) -> Iterator[str]:
    """What each phase of the first repetition does."""
    config, place = parse_config(kept.config, "config-orig.ini"), directories_of(kept, 1)
    for step in _steps(config, kept.mode):
        if step.program == "find" and (script := config.text_if(step.name, "external-script")):
            yield f"{step.name}: {' '.join([script, *step.words(config, place)])}"
        elif step.program != "timestamp":
            yield f"{step.name}: {step.program} {' '.join(arguments_of(step, config, place, kept.tasks))}"


def clean(kept: Kept) -> list[str]:
    """Removes what a benchmark that was cut left in its data directory; what stays, and why. It cannot go on then."""
    out = Path(kept.here, kept.results)
    problems = [problem for number in range(1, kept.repeat + 1) for problem in _remove(kept, number)]
    problems += _remove_made(kept, out, problems)
    kept.is_complete = True
    kept.save(out)
    return problems


def _remove_made(kept: Kept, out: Path, told: Sequence[str]) -> list[str]:
    """Removes the directories that the benchmark made, where they are empty; a line for each of its data directory that
    stays, but for those in which something stays that was ``told``."""
    data_directory.remove_empty(path for path in kept.made if Path(path) not in (out, *out.parents))
    data = Path(kept.here, kept.data)
    lines: list[str] = []
    for path in sorted((path for path in kept.made if data in (Path(path), *Path(path).parents)), reverse=True):
        if not any(line.startswith(f"{path}/") for line in (*told, *lines)):
            lines += data_directory.holding(path)
    return lines


def _apart(data: Path, results: Path) -> None:
    """RequestError where one of the two directories is in the other: the phases would measure the results."""
    one, other = (Path(*path.resolve().parts) for path in (data, results))
    if one == other or one in other.parents or other in one.parents:
        raise RequestError("datadir and resultdir lie in each other; hint: give two directories beside each other")


def directories_of(kept: Kept, repetition: int) -> RepetitionPaths:
    """Of a repetition, from 1: the only one has the directories themselves."""
    below = "" if kept.repeat == 1 else f"/repetition-{repetition}"
    return RepetitionPaths(f"{kept.data}{below}", f"{kept.results}{below}", kept.timestamp)


def _steps(config: Config, mode: str) -> Iterator[Step]:
    return (step for step in steps_of(mode) if step.is_on(config))


def problems_of(config: Config) -> tuple[str, ...]:
    """What the rules do not accept, whatever is measured."""
    found = []
    if config.stonewall_s != config.least_s:
        found.append(f"stonewall-time is {config.stonewall_s} s, and the rules say {config.least_s} s")
    if config.text_if("debug", "pause-dir"):
        found.append("pause-dir lets the benchmark wait between phases")
    if config.number_if("mdtest-hard", "files-per-dir"):
        found.append("files-per-dir is set, and the rules say one directory")
    return tuple(found)


def carry_out(kept: Kept, observer: Observer, say: Say, tell: Say) -> Ended:
    """Every phase that is not done. ``say``: the benchmark's own lines; ``tell``: everything else."""
    config = parse_config(kept.config, "config-orig.ini")
    out, problems = Path(kept.here, kept.results), problems_of(config)
    for problem in problems if not kept.done else ():
        tell(f"io500: not by the rules, and marked so: {problem}")
    left: list[str] = []
    interrupted = False
    for repetition in range(1, kept.repeat + 1):
        if len(kept.done) < repetition:
            kept.done.append([])
        steps = list(_steps(config, kept.mode))
        # The last one that began may lack its score; those before it are whole.
        if repetition == len(kept.done):
            interrupted = _repetition(kept, config, repetition, steps, observer, say, tell)
            if interrupted:
                break
            left += _remove(kept, repetition)
    if not interrupted:
        # An interrupt may have come between the end of a repetition and what is removed after it.
        left += [problem for one in range(1, kept.repeat) for problem in _remove(kept, one)]
        kept.is_complete = True
        kept.save(out)
        left += _remove_made(kept, out, left)
    return Ended(said_of(kept, config), out, interrupted, tuple(left))


def said_of(kept: Kept, config: Config) -> Benchmark:
    """What was measured so far; a repetition that was cut short is part of it only where it is the only one."""
    whole = len(list(_steps(config, kept.mode)))
    full = [tuple(figures) for figures in kept.done if len(figures) == whole]
    repetitions = tuple(full) or (tuple(kept.done[0] if kept.done else ()),)
    return Benchmark(kept.results, kept.tasks, kept.mode, config.stonewall_s, repetitions, problems_of(config))


def _repetition(
    kept: Kept, config: Config, repetition: int, steps: list[Step], observer: Observer, say: Say, tell: Say
) -> bool:
    """Whether it was interrupted."""
    place = directories_of(kept, repetition)
    spelled = RepetitionPaths(str(Path(kept.here, place.data)), str(Path(kept.here, place.results)), place.timestamp)
    files = ResultDirectory(Path(spelled.results), place.results)
    done, save_at = kept.done[repetition - 1], Path(kept.here, kept.results)
    if not done and kept.begun is None:
        kept.made += data_directory.make([*directories(Path(spelled.data)), Path(spelled.results, "tonnage")])
        for line in files.begin(config, kept.tasks, kept.mode, problems_of(config)):
            say(line)
        kept.sizes = files.sizes()
    else:
        # A kill may have come between the lines of a phase and what says that it is done.
        files.cut_to(kept.sizes)
    for step in steps[len(done) :]:
        again, kept.begun = kept.begun == step.name, step.name
        kept.save(save_at)
        _wait(config, step, tell)
        began = now()
        measured = _again(step, spelled, kept.trees) if again else None
        names = [] if measured else files_of(step, config, spelled, kept.tasks)
        before = {name for name in names if os.path.lexists(name)}
        measured = measured or _step(step, config, spelled, kept.tasks, observer)
        # A phase that ended well wrote all of its files; of one that did not, those are its own that were not there.
        ended_well = not measured.is_interrupted and measured.figure.value > 0
        kept.written |= data_directory.identities(name for name in names if ended_well or name not in before)
        if step.program == "mdtest" and step.is_write:
            found = data_directory.trees(Path(spelled.data, step.section), _runs(spelled))
            kept.trees |= {path: left_ns + _clocks_ns(kept.tasks) for path, left_ns in found.items()}
        if measured.is_interrupted:
            kept.save(save_at)
            return True
        for line in files.phase(step, measured.figure, began, measured.lines):
            say(line)
        for problem in measured.figure.problems:
            tell(f"io500: {step.name}: {problem}")
        done.append(measured.figure)
        kept.begun, kept.sizes = None, files.sizes()
        kept.save(save_at)
    for line in files.conclude(done, kept.mode, problems_of(config)):
        say(line)
    return False


def _step(step: Step, config: Config, place: RepetitionPaths, tasks: int, observer: Observer) -> PhaseOutcome:
    problem = None
    if config.flag("global", "drop-caches") and step.program != "timestamp":
        problem = drop_caches(shlex.split(config.text("global", "drop-caches-cmd")))
    measured = measure(step, config, place, tasks, _records(place, step), observer)
    if problem is None:
        return measured
    return replace(measured, figure=replace(measured.figure, problems=(*measured.figure.problems, problem)))


def _clocks_ns(tasks: int) -> int:
    """How far the clocks of the hosts may be apart: some file systems take a client's time."""
    return 0 if Ranks.here().nodes(tasks) == 1 else _CLOCKS_NS


def _again(step: Step, place: RepetitionPaths, until: Mapping[str, int]) -> PhaseOutcome | None:
    """A phase that an interrupt cut: what it left is removed, and it is measured anew. A removal cannot be: what is
    left of its items is no longer what the others had."""
    if step.is_removal:
        reason = "an interrupt cut it, and half of a removal cannot be measured again"
        data_directory.remove_trees(Path(place.data, step.section), _runs(place), until)
        return PhaseOutcome(PhaseFigure(step.name, step.group, step.unit, 0.0, 0.0, problems=(reason,)), ())
    if step.program == "mdtest" and step.is_write:
        data_directory.remove_trees(Path(place.data, step.section), _runs(place), until)
    return None


def _runs(place: RepetitionPaths) -> set[str]:
    """The ids of the phases' runs, which are in the marks of what they made."""
    found = set()
    for run in Path(place.results, "tonnage").glob("*/manifest.json"):
        with suppress(OSError, ValueError, KeyError):
            found.add(str(Run.open(run.parent).manifest["run_id"]))
    return found


def _records(place: RepetitionPaths, step: Step) -> Path:
    """Where the records of a phase go; what an interrupt cut keeps its own."""
    base = Path(place.results, "tonnage", step.name)
    number = 2
    found = base
    while found.exists():
        found, number = base.with_name(f"{step.name}-{number}"), number + 1
    return found


def _wait(config: Config, step: Step, tell: Say) -> None:
    """While a file of the phase's name lies in the directory that the configuration names."""
    directory = config.text_if("debug", "pause-dir")
    if directory is None:
        return
    while Path(directory, step.name).exists():
        tell(f"io500: {step.name} waits while {directory}/{step.name} is there")
        time.sleep(1)


def _remove(kept: Kept, repetition: int) -> list[str]:
    """Removes the files and directories of a repetition; what could not be removed."""
    place = directories_of(kept, repetition)
    spelled = RepetitionPaths(str(Path(kept.here, place.data)), str(Path(kept.here, place.results)), place.timestamp)
    shared = {str(path) for path in directories(Path(spelled.data))}
    written = {name: kept.written[name] for name in kept.written if Path(spelled.data) in Path(name).parents}
    problems = data_directory.remove_files(written)
    # With uniqueDir each file has a directory of its own.
    data_directory.remove_empty(sorted({str(Path(name).parent) for name in written} - shared))
    for section in ("mdtest-easy", "mdtest-hard"):
        problems += data_directory.remove_trees(Path(spelled.data, section), _runs(spelled), kept.trees)
        problems += data_directory.remaining(Path(spelled.data, section))
    for section in ("ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard"):
        Path(spelled.results, f"{section}.stonewall").unlink(missing_ok=True)
    return problems


def resume(results: str) -> Kept:
    """The benchmark in a result directory. RequestError where it is over, or there is none."""
    kept = Kept.load(Path(results))
    if kept.is_complete:
        raise RequestError(f"{results} is complete; hint: begin a new benchmark with its configuration")
    here = Path(kept.here, kept.results)
    if here.resolve() != Path(results).resolve():
        raise RequestError(f"{results} was moved from {here}; hint: move it back, for its data lie beside it")
    return kept
