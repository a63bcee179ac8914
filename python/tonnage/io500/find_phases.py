"""The find phases: a search of ours, or the program that the configuration names."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tonnage.analysis.io500 import PhaseFigure
from tonnage.campaign.observer import Observer
from tonnage.compat.front_end import Voice
from tonnage.compat.measure import conclude, measure
from tonnage.errors import MeasurementError
from tonnage.io500.config import Config
from tonnage.io500.phase_commands import RepetitionPaths, Step
from tonnage.records.line_types import TaskLine, TrialLine

_COUNT = re.compile(r"MATCHED ([0-9]{1,18})/([0-9]{1,18})")
"""The last line of a program: files that match, and files that it looked at."""
_LONGEST_LINE = 1 << 16


def script_of(step: Step, config: Config) -> str | None:
    """Returns the program of the configuration; None for the search of Tonnage."""
    return config.text_if(step.name, "external-script")


def tasks_of(step: Step, config: Config, tasks: int) -> int:
    """Returns how many tasks search: ``nproc`` of the configuration, or all."""
    given = config.number_if(step.name, "nproc") if step.program == "find" else None
    return tasks if given is None else given


def run(
    step: Step, config: Config, place: RepetitionPaths, tasks: int, observer: Observer, voice: Voice, out: str
) -> int:
    """A search of ours, with its records in ``out``; the exit code, as of a front end."""
    criteria = _criteria(step.words(config, place))
    root = criteria.pop("root")
    workload = {"kind": "find", "tasks": tasks_of(step, config, tasks), **criteria}
    campaign = {"target": root, "workload": workload, "on_error": "stop"}
    outcome, lines, found = measure("find", campaign, step.words(config, place), observer, out)
    if any(line["status"] == "ok" for line in lines):
        Path(place.results, f"{step.name}.csv").write_text("".join(_table(lines[-1], found)), encoding="utf-8")
    for line in lines:
        if line["status"] == "ok":
            voice.say(f"MATCHED {line.get('found', 0)}/{line['operations']}")
    return conclude("find", outcome, (), voice)


def _table(line: TrialLine, tasks: Sequence[TaskLine]) -> Iterator[str]:
    """The original's table of what each process found. Its columns on stolen work are missing: here tasks share a pile
    of directories. ``unknown`` is 0: a name whose kind cannot be told is an error."""
    seconds = (line["elapsed_ns"] or 0) / 1e9
    yield f"runtime: {seconds:f} rate: {line['operations'] / seconds if seconds else 0:f}\n"
    yield "rank, errors, unknown, found, total\n"
    for task in tasks:
        if task["record"] == line["record"]:
            yield f"{task['task']}, {task['errors']}, 0, {task['found']}, {task['operations']}\n"


def _criteria(words: list[str]) -> dict[str, object]:
    """Of the words of a command line: where, and what matches."""
    found: dict[str, object] = {"root": words[0]}
    for option, value in zip(words[1::2], words[2::2], strict=True):
        key = {"-name": "pattern"}.get(option, option.removeprefix("-"))
        found[key] = int(value.removesuffix("c")) if key == "size" else value
    return found


def run_script(step: Step, config: Config, place: RepetitionPaths) -> PhaseFigure:
    """The program of the configuration, which gets the same arguments; MeasurementError where it fails. Its last line
    says ``MATCHED a/b``."""
    words = [
        *shlex.split(config.text_if(step.name, "external-mpi-args") or ""),
        str(script_of(step, config)),
        *shlex.split(config.text_if(step.name, "external-extra-args") or ""),
        *step.words(config, place),
    ]
    began = time.monotonic()
    last = ""
    try:
        with (
            Path(place.results, f"{step.name}.txt").open("w", encoding="utf-8") as file,
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
            ) as child,
        ):
            assert child.stdout is not None
            while line := child.stdout.readline(_LONGEST_LINE):
                last = line.rstrip("\n")
                file.write(line)
            code = child.wait()
    except OSError as error:
        raise MeasurementError(f"{words[0]} cannot be started: {error.strerror}") from None
    seconds = time.monotonic() - began
    if code:
        raise MeasurementError(f"external-script ended with {code}")
    if (counts := _COUNT.fullmatch(last)) is None:
        raise MeasurementError(f"the last line of external-script is {last[:80]!r}, not MATCHED FOUND/LOOKED-AT")
    found, examined = int(counts[1]), int(counts[2])
    rate = examined / seconds / 1000
    return PhaseFigure(step.name, step.group, step.unit, rate, seconds, found=found, examined=examined)
