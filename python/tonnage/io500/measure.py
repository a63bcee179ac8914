"""One phase of the benchmark: its command line handed to the program's front end, and the figure of its records."""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from tonnage.analysis import analyse
from tonnage.analysis.io500 import PhaseFigure, figure_of
from tonnage.campaign.observer import Observer
from tonnage.compat.front_end import Voice, parse_arguments
from tonnage.compat.ior import command as ior
from tonnage.compat.ior.file_names import file_names
from tonnage.compat.ior.parse import parse
from tonnage.compat.ior.validate import validate
from tonnage.compat.mdtest import command as mdtest
from tonnage.compat.mdtest.options import MDTEST
from tonnage.compat.mdtest.request import understand
from tonnage.compat.measure import Ranks
from tonnage.errors import MeasurementError, RequestError
from tonnage.io500 import find_phases
from tonnage.io500.config import Config
from tonnage.io500.phase_commands import RepetitionPaths, Step
from tonnage.io500.result_directory import pair
from tonnage.io500.values import refused_by
from tonnage.records import Run

TOOL_S = 600
"""Seconds after which a command that drops caches has failed."""


@dataclass(frozen=True, slots=True)
class PhaseOutcome:
    """What became of a phase."""

    figure: PhaseFigure
    lines: tuple[str, ...]
    """Of ``result.txt``."""
    is_interrupted: bool = False


def arguments_of(step: Step, config: Config, place: RepetitionPaths, tasks: int) -> list[str]:
    """The command line of the front end: the benchmark's, and how many tasks there are."""
    count = {"ior": ["-N", str(tasks)], "mdtest": ["--tasks", str(tasks)]}
    return [*step.words(config, place), *count.get(step.program, [])]


def check(step: Step, config: Config, place: RepetitionPaths, tasks: int) -> None:
    """RequestError where the front end would refuse the phase, before anything is made."""

    def accepts(changed: Config) -> bool:
        with suppress(RequestError):
            _ask(step, changed, place, tasks)
            return True
        return False

    try:
        _ask(step, config, place, tasks)
    except RequestError as error:
        raise refused_by(config, (step.name, step.section, "global", "debug"), error, accepts) from None


def _ask(step: Step, config: Config, place: RepetitionPaths, tasks: int) -> None:
    words = arguments_of(step, config, place, tasks)
    if step.program == "ior":
        for test in parse(words):
            validate(test, Ranks.here())
    elif step.program == "mdtest":
        understand(parse_arguments(MDTEST, words), tuple(words))


def files_of(step: Step, config: Config, place: RepetitionPaths, tasks: int) -> list[str]:
    """Absolute names of the files that a phase of IOR writes."""
    found = []
    for test in parse(arguments_of(step, config, place, tasks)) if step.program == "ior" and step.is_write else ():
        validate(test, Ranks.here())
        found += file_names(test)
    return found


def measure(
    step: Step, config: Config, place: RepetitionPaths, tasks: int, out: Path, observer: Observer
) -> PhaseOutcome:
    """Runs one phase, with records of its own in ``out``. One that cannot be measured has a figure that says why."""
    if step.program == "timestamp":
        began = time.monotonic()
        (Path(place.results) / "timestampfile").write_bytes(b"")
        return PhaseOutcome(PhaseFigure(step.name, None, step.unit, 0.0, time.monotonic() - began), ())
    exe = pair("exe", f"./{'pfind' if step.program == 'find' else step.program} {' '.join(step.words(config, place))}")
    told, reason, code, figure = io.StringIO(), None, 0, None
    began = time.monotonic()
    try:
        if step.program == "find" and find_phases.script_of(step, config) is not None:
            figure = find_phases.run_script(step, config, place)
        else:
            code = _front_end(step, config, place, tasks, out, observer, told)
    except (RequestError, MeasurementError, OSError) as error:
        reason = str(error)
    seconds = time.monotonic() - began
    if code == 130:
        return PhaseOutcome(PhaseFigure(step.name, step.group, step.unit, 0.0, seconds), (exe,), is_interrupted=True)
    figure = figure or (None if reason else _figure(step, out, seconds))
    if figure is None:
        reason = reason or _reason(told.getvalue()) or "the phase was not measured"
        return PhaseOutcome(PhaseFigure(step.name, step.group, step.unit, 0.0, seconds, problems=(reason,)), (exe,))
    if code:
        figure = replace(figure, problems=(_reason(told.getvalue()) or "the phase failed",))
    return PhaseOutcome(
        _judged(step, config, figure), (exe, *_lines(step, figure, find_phases.tasks_of(step, config, tasks)))
    )


def _front_end(
    step: Step, config: Config, place: RepetitionPaths, tasks: int, out: Path, observer: Observer, told: TextIO
) -> int:
    """The exit code. What the program prints goes into the phase's file, what is ours to ``told``."""
    words = arguments_of(step, config, place, tasks)
    with (Path(place.results) / f"{step.name}.txt").open("w", encoding="utf-8") as file:
        voice = Voice(file, told)
        if step.program == "ior":
            return ior.run(words, voice, str(out))
        if step.program == "mdtest":
            return mdtest.run(words, observer, voice, str(out))
        return find_phases.run(step, config, place, tasks, observer, voice, str(out))


def _figure(step: Step, out: Path, seconds: float) -> PhaseFigure | None:
    if not (out / "manifest.json").is_file():
        return None
    found = analyse(run := Run.open(out))
    codes = tuple(dict.fromkeys(finding.code for finding in found.findings))
    return figure_of(run, step.name, step.group, step.unit, seconds, codes)


def _reason(told: str) -> str | None:
    """The first thing that went wrong, of what a front end says beside its output."""
    lines = [line.partition(": ")[2] for line in told.splitlines()]
    return next((line.removeprefix("failed: ") for line in lines if line.startswith("failed: ")), None)


def _judged(step: Step, config: Config, figure: PhaseFigure) -> PhaseFigure:
    """With what the rules say of it."""
    problems = list(figure.problems)
    elapsed_s = figure.seconds if figure.elapsed_s is None else figure.elapsed_s
    if step.is_write and elapsed_s < config.stonewall_s:
        problems.append(f"the phase ended after {elapsed_s:.3f} s, before the stonewall of {config.stonewall_s} s")
    if step.is_write and elapsed_s < config.least_s:
        problems.append(f"the phase took {elapsed_s:.3f} s, and the rules ask for at least {config.least_s} s")
    if figure.value == 0:
        problems.append("the figure is 0")
    if figure.found == 0:
        problems.append("find found nothing")
    return replace(figure, problems=tuple(problems))


def _lines(step: Step, figure: PhaseFigure, tasks: int) -> list[str]:
    """Those that the benchmark prints of a phase besides its score."""
    if step.program == "find":
        found = [pair("found", str(figure.found or 0)), pair("total-files", str(figure.examined or 0))]
        return [pair("nproc", str(tasks)), *found]
    if not step.is_write or figure.at_stonewall is None:
        return []
    if step.program == "ior":
        return [pair("throughput-stonewall", f"{figure.at_stonewall:.2f}")]
    return [pair("rate-stonewall", f"{figure.at_stonewall:f}")]


def drop_caches(command: Sequence[str]) -> str | None:
    """Runs the configuration's command outside every clock; why it failed, or None."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TOOL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"drop-caches-cmd: {error}"
    if done.returncode:
        return f"drop-caches-cmd ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return None
