"""What a command is, and which there are: help, man pages, completions and ``docs/options.md`` come from them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from tonnage.command_option import Option


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand."""

    name: str
    summary: str
    description: str
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    """(command line, what it does)."""
    verbatim: bool = False
    """All words after its name are its own affair: a front end with a table of its own (``tonnage.compat``)."""
    actions: tuple[Command, ...] = ()
    """Subcommands of its own, each with its options; then it has none itself."""
    program: str = ""
    """How help calls a user's program and its words. They follow after ``--`` where it begins with that, else they
    begin with the first word that is no option."""
    loads: tuple[str, ...] = ()
    """Modules that take a while to import: that is done before it runs, and a signal waits for it."""

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options that users type."""
        return tuple(option for option in self.options if not option.is_hidden)


class CommandModule(Protocol):
    """The module of a command, ``tonnage.cli.commands.<name>``: quick to import, for ``tonnage --help`` imports all.
    What takes longer is imported in its functions."""

    COMMAND: Command

    def run(self, arguments: Namespace) -> int:
        """Exit code."""
        ...


_FRONT_ENDS = ("ior", "mdtest", "sob", "spectral_wait", "iobsub", "lsload", "bjobs", "bkill", "bqueues", "bhosts")
"""In ``tonnage.cli.commands.compat``; each other command is a module of its name."""
_TASKS = (
    ("measure", ("probe", "run", "io500", "example", "import", "clean")),
    ("understand", ("report", "compare", "history", "crossover", "project", "explain", "verify", "serve")),
    ("place jobs", ("submit", "where", "load", "watch", "jobs", "cancel", "queues", "doctor")),
    ("stage files", ("stage",)),
    ("set up a shell or a script", ("completions", "schema")),
    ("old command lines", (*_FRONT_ENDS, "compat")),
)
_FIRST_DAY = ("probe", "run", "report", "submit", "stage")
"""One of each task: the commands of a first day."""
NAMES = tuple(name for _, names in _TASKS for name in names)

TAGLINE = "Tells how much I/O a storage system can carry."
EXIT_CODES = (
    (0, "done"),
    (1, "a measurement or a submission failed, a file is not safe at its destination, or what was checked is not well"),
    (2, "the request was wrong; nothing was written"),
    (130, "interrupted"),
)


def module_of(name: str) -> CommandModule:
    """What defines the command of that name and runs it."""
    if name in _FRONT_ENDS:
        return cast("CommandModule", import_module("tonnage.cli.commands.compat").FRONT_ENDS[name])
    return cast("CommandModule", import_module(f"tonnage.cli.commands.{name}"))


@cache
def all_commands() -> tuple[Command, ...]:
    """In the order of the pages."""
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


def named(argv: Sequence[str]) -> Command | None:
    """The command that the first words name, an action under its whole name. No other one is imported."""
    if not argv or argv[0] not in NAMES:
        return None
    every = ((command.name.split(), command) for command in spelled_out([module_of(argv[0]).COMMAND]))
    return next((command for words, command in every if words == list(argv[: len(words)])), None)


def command_of(argv: Sequence[str]) -> Command | None:
    """The command of the first word, which has actions; None where that is none."""
    return module_of(argv[0]).COMMAND if argv and argv[0] in NAMES else None
