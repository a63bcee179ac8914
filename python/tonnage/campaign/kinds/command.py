"""``command``: copies of any command line, so many at once as there are tasks."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tonnage.campaign.kinds.kind import Factors, Setting, WorkloadSection, scaled
from tonnage.field_types import Count, EngineName, Flag, Sweep, Tasks, Time
from tonnage.toml_documents import refuse, time_field

PHASE = "command"
COPY_BYTES = 3 << 10
"""Of memory, for what the record of a trial says of each copy."""
PLACE = "{copy}"
"""Becomes the copy's number in an argument."""
PARTITION = "{partition}"
"""Becomes the trial's partition, in an argument or a variable."""
OURSELVES = "{tonnage}"
"""As the program: this Tonnage, wherever it is installed."""
_SCALED = re.compile(r"\{scale:(\d{1,18})\}")


def _arguments(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError(f"a command is a list of arguments, no shell sees it; hint: write {_as_list(value)}")
    return value


def _as_list(line: str) -> str:
    """The list that the user may have meant; a shell's where only a shell would understand the line."""
    if set(line) & set("|&;<>$`*?~\n"):
        return json.dumps(["sh", "-c", line])
    try:
        return json.dumps(shlex.split(line))
    except ValueError:
        return '["program", "argument", …]'


def _starts_with_a_program(arguments: tuple[str, ...]) -> tuple[str, ...]:
    if not arguments or not arguments[0]:
        raise ValueError('it names no program; hint: write ["program", "argument", …]')
    if any("\0" in argument for argument in arguments):
        raise ValueError("an argument cannot hold a null character; hint: leave it out")
    return arguments


def _plain(environment: dict[str, str]) -> dict[str, str]:
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name:
            raise ValueError(f"{name!r} is no name of a variable; hint: use letters, digits and '_'")
        if "\0" in value:
            raise ValueError(f"the value of {name!r} holds a null character; hint: leave it out")
    return environment


def _below(pattern: str) -> str:
    if not pattern or pattern.startswith("/") or "\0" in pattern:
        raise ValueError("it is no file below the directory in which copies run; hint: write it relative to that")
    return pattern


Argv = Annotated[tuple[str, ...], BeforeValidator(_arguments), AfterValidator(_starts_with_a_program)]
"""A program and its arguments; nothing passes through a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSetting(Setting):
    """Every factor of a command. ``environment`` is a list of ``NAME=value``."""

    kind: str = "command"
    storage: str = "null"
    argv: tuple[str, ...]
    copies: int
    directory: str | None
    environment: tuple[str, ...]
    keep_output: bool
    setup: tuple[str, ...] | None
    prepare: tuple[str, ...] | None
    cleanup: tuple[str, ...] | None
    teardown: tuple[str, ...] | None
    trace: str | None = None
    trace_file: str | None = None

    def __post_init__(self) -> None:
        # A line of trials.jsonl has lists.
        for name in ("argv", "environment", "setup", "prepare", "cleanup", "teardown"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def takes_jobs_itself(self) -> bool:
        """Whether the program gets the name of the partition: then it submits its jobs there itself."""
        return any(PARTITION in text for text in (*self.argv, *self.environment))

    @property
    def job_partition(self) -> str | None:
        return None if self.takes_jobs_itself else self.partition

    @property
    def needs_scratch(self) -> bool:
        return False

    @property
    def memory_bytes(self) -> int:
        return self.copies * COPY_BYTES

    def describe(self) -> str:
        words = [shlex.join(self.argv)]
        hooks = [name for name in ("setup", "prepare", "cleanup", "teardown") if getattr(self, name)]
        return f"{self.copies} × {words[0]}" + (f"  with {', '.join(hooks)}" if hooks else "")

    def memory_shortage(self, needed: str, available: str) -> str:
        return (
            f"{self.copies} copies of a command need about {needed} of memory for their records, and this host has "
            f"{available} available; hint: use fewer copies, and more repetitions"
        )


class Command(WorkloadSection):
    """Copies of a command."""

    SETTING = CommandSetting

    kind: Literal["command"] = Field(description="copies of any command line, so many at once as there are tasks")
    argv: Argv = Field(
        description=f"the program and its arguments, as a list; {PLACE} becomes the copy's number, {PARTITION} the "
        f"partition, a program {OURSELVES} is this one"
    )
    copies: Count = Field(
        description="how many copies a trial runs; scale multiplies it where no argument does {scale:N}"
    )
    tasks: Sweep[Tasks] = Field((1, 2, 4, 8), description="copies that run at once")
    directory: str | None = Field(None, description="where they run; the target")
    environment: Annotated[dict[str, str], AfterValidator(_plain)] = Field(
        {}, description=f"variables added to the environment; {PARTITION} becomes the partition"
    )
    keep_output: Flag = Field(False, description="keep what each copy says in output/ of the run directory")
    trace: EngineName | None = Field(
        None, description="the workflow engine that each copy starts, whose trace of its tasks is read afterwards"
    )
    trace_file: Annotated[str, AfterValidator(_below)] | None = Field(
        None, description=f"pattern of the trace's name, in the directory; {PLACE} becomes the copy's number"
    )
    time_limit_ns: Time | None = time_field("time_limit", None, "no copy starts later than this after the start line")
    setup: Argv | None = Field(None, description="run once before the first trial, outside the clock")
    prepare: Argv | None = Field(
        None, description="run before each trial, outside the clock; if it fails, so does the trial"
    )
    cleanup: Argv | None = Field(None, description="run after each trial, outside the clock")
    teardown: Argv | None = Field(None, description="run once after the last trial, outside the clock")

    @model_validator(mode="after")
    def _traces_can_be_told_apart(self) -> Command:
        if self.trace is None and self.trace_file is not None:
            refuse(
                "trace_file", "it says where a trace is, and nothing whose", 'add trace = "nextflow", or leave it out'
            )
        if self.trace is not None and self.copies > 1 and PLACE not in (self.trace_file or ""):
            refuse(
                "trace_file", f"{self.copies} copies would have one trace", f"put {PLACE} in trace_file, and in argv"
            )
        return self

    def knobs(self, factors: Factors, scale: float) -> Factors:
        found = super().knobs(factors, scale) | {
            "copies": self.copies if self._scales_itself() else scaled(self.copies, scale),
            "environment": tuple(f"{name}={value}" for name, value in sorted(self.environment.items())),
        }
        if self.trace is not None and self.trace_file is None:
            found["trace_file"] = usual_trace(self.trace)
        return found | {key: _sized(found[key], scale) for key in ("argv", "setup", "prepare", "cleanup", "teardown")}

    def _scales_itself(self) -> bool:
        """Whether the command says what scales: then each copy has less to do. Of any other there are fewer copies."""
        return any(map(_SCALED.search, (*self.argv, *(self.setup or ()), *(self.prepare or ()))))


def _sized(argv: tuple[str, ...] | None, scale: float) -> tuple[str, ...] | None:
    """The command with each ``{scale:N}`` in its arguments replaced by N times ``scale``, at least 1."""
    if argv is None:
        return None
    return tuple(_SCALED.sub(lambda number: str(scaled(int(number[1]), scale)), argument) for argument in argv)


_TRACES = {"nextflow": "trace*.txt", "snakemake": ".snakemake/log/*.snakemake.log"}


def usual_trace(engine: str) -> str:
    """Returns the pattern of the trace files that an engine writes by default in its working directory."""
    return _TRACES.get(engine, f"{engine}*.trace")
