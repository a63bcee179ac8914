"""What a command is, and which there are: help, man pages, completions and ``docs/options.md`` come from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Protocol, cast

from tonnage.command_line import Command


class Arguments(SimpleNamespace):
    """What was asked for: ``command``, its ``action`` where it has some, the modules that it ``loads``, and the value
    of each option by its long name, with _ for -: False or None where it was not given. A stand-in for another program
    has its ``words`` untouched, a command that runs a user's program has that as ``program``."""


class CommandModule(Protocol):
    """The module of a command, ``tonnage.cli.commands.<name>``: quick to import, for ``tonnage --help`` imports all.
    What takes longer is imported in its functions."""

    COMMAND: Command

    def run(self, arguments: Arguments) -> int:
        """Runs the command and returns its exit code."""
        ...


FRONT_ENDS = {
    "ior": "ior.command",
    "mdtest": "mdtest.command",
    "sob": "sob.command",
    "spectral_wait": "spectral_wait.command",
    "iobsub": "iobsub.command",
    "lsload": "lsload.command",
    "bjobs": "lsf.bjobs",
    "bkill": "lsf.bkill",
    "bqueues": "lsf.bqueues",
    "bhosts": "lsf.bhosts",
}
"""Stand-ins for other programs. In ``tonnage.compat``, each is run by this module and has its options, by its name, in
the ``options`` beside it, so that a list of commands imports no more; ``tonnage.cli.commands.compat`` makes a command
of it. Each other command is a module."""
_TASKS = (
    ("measure", ("probe", "run", "company", "io500", "example", "import", "clean")),
    ("understand", ("report", "compare", "history", "crossover", "project", "demand", "explain", "verify", "serve")),
    ("place jobs", ("submit", "where", "load", "watch", "jobs", "cancel", "queues", "doctor")),
    ("stage files", ("stage",)),
    ("set up a shell or a script", ("completions", "schema")),
    ("old command lines", (*FRONT_ENDS, "compat")),
)
_FIRST_DAY = ("probe", "run", "report", "submit", "stage")
"""One of each task: the commands of a first day."""
NAMES = tuple(name for _, names in _TASKS for name in names)

TAGLINE = "Tells how much I/O a storage system can carry."
EXIT_CODES = (
    (0, "done"),
    (1, "a measurement or a submission failed, a file is not safe at its destination, or a check found a problem"),
    (2, "the request was wrong; nothing was written"),
    (130, "interrupted"),
)


def module_of(name: str) -> CommandModule:
    """What defines the command of that name and runs it."""
    if name in FRONT_ENDS:
        return cast("CommandModule", import_module("tonnage.cli.commands.compat").front_end(name))
    return cast("CommandModule", import_module(f"tonnage.cli.commands.{name}"))


@cache
def all_commands() -> tuple[Command, ...]:
    """Returns all commands in the order of the pages."""
    return tuple(module_of(name).COMMAND for name in NAMES)


def grouped() -> list[tuple[str, tuple[Command, ...]]]:
    """All commands as ``tonnage --help`` shows them: those of a first day, then the others by task."""
    groups = [
        ("on a first day", _FIRST_DAY),
        *((task, tuple(name for name in names if name not in _FIRST_DAY)) for task, names in _TASKS),
    ]
    return [(task, tuple(module_of(name).COMMAND for name in names)) for task, names in groups if names]


def spelled_out(commands: Iterable[Command]) -> Iterator[Command]:
    """Every command that somebody can run, under its whole name: ``probe``, ``stage run``, ``stage wait``."""
    for command in commands:
        if command.actions:
            yield from (replace(action, name=f"{command.name} {action.name}") for action in command.actions)
        else:
            yield command
