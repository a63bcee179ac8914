"""What an option and a command are, and how the values that several of them take are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or (without dashes) one positional argument."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    default: str | None = None
    """As help states it. The value itself comes from the campaign's model, the only place of defaults."""
    choices: tuple[str, ...] = ()
    plugins: str | None = None
    """The group of plug-ins whose names are choices too."""
    parse: Callable[[str], Any] | None = None
    is_flag: bool = False
    optional: bool = False
    """A positional argument that may be left out."""
    repeats: bool = False
    """May be given several times; the values come as a list."""
    completes: str | None = None
    """``file`` or ``directory``."""
    is_hidden: bool = False
    """This program's own: nobody types it, and no page tells of it."""

    @property
    def positional(self) -> bool:
        return not self.names[0].startswith("-")

    @property
    def help_text(self) -> str:
        """With the choices and the default."""
        return self.help + (f" (default: {self.default})" if self.default else "")


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand; ``tonnage.cli.commands.<name>`` runs it."""

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

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options that users type."""
        return tuple(option for option in self.options if not option.is_hidden)


def spelled_out(commands: Iterable[Command]) -> Iterator[Command]:
    """Every command that somebody can run, under its whole name: ``probe``, ``stage run``, ``stage wait``."""
    for command in commands:
        if command.actions:
            yield from (replace(action, name=f"{command.name} {action.name}") for action in command.actions)
        else:
            yield command


def size(text: str) -> int:
    from tonnage.units import parse_size

    return parse_size(text)


def time(text: str) -> int:
    from tonnage.units import parse_time

    return parse_time(text)


def share(text: str) -> float:
    from tonnage.units import parse_share

    return parse_share(text)


def count(text: str) -> int:
    from tonnage.units import parse_count

    return parse_count(text)


def port(text: str) -> int:
    from tonnage.errors import RequestError

    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise RequestError(f"{text!r} is not a port; hint: write it like 9400, or 0 for any free one")
    return int(text)


def factor(text: str) -> float:
    from tonnage.errors import RequestError

    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1e6:
        raise RequestError(f"{text!r} is not a factor above 0; hint: write it like 0.01")
    return value
