"""From words to a command and the values of its options."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tonnage.cli.command import EXIT_CODES, NAMES, TAGLINE, Arguments, grouped, module_of
from tonnage.command_help import HELP, entries, help_text, width
from tonnage.command_line import Command, read, split_program
from tonnage.command_option import EMPTY, Option, nearest
from tonnage.errors import RequestError

TONNAGE = Command("", TAGLINE, TAGLINE, (Option(("--version",), "print the version"),), ())
"""What stands before the name of a command."""


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """RequestError for whatever is wrong; HelpAsked."""
    command, words = _asked(argv)
    found = Arguments(command=argv[0], action=command.name.partition(" ")[2], loads=command.loads)
    if command.verbatim:
        found.words = list(words)
        return found
    if command.program:
        words, found.program = split_program(command, words)
    typed = read(command, words)
    for option in command.options:
        setattr(found, _key(option), _as_read(option, typed.get(option.names[0])))
    return found


def _asked(argv: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """The command that the first words name, an action under its whole name, and the words after them."""
    if not argv or argv[0].startswith("-"):
        read(TONNAGE, argv[:1])
        raise RequestError(f"tonnage needs a command; hint: {TONNAGE.see}")
    if not argv[0]:
        raise RequestError(f"COMMAND: {EMPTY}")
    if argv[0] not in NAMES:
        raise RequestError(f"there is no command {argv[0]!r}; hint: {_meant(argv[0], NAMES, 'commands are')}")
    command = module_of(argv[0]).COMMAND
    if not command.actions:
        return command, argv[1:]
    names = [action.name for action in command.actions]
    if len(argv) < 2 or argv[1].startswith("-"):
        read(command, argv[1:2])
        raise RequestError(f"{command.calls} needs an action; hint: write one of {', '.join(names)}")
    if not argv[1]:
        raise RequestError(f"{command.calls} ACTION: {EMPTY}")
    if argv[1] not in names:
        hint = _meant(argv[1], names, "actions are")
        raise RequestError(f"{command.calls} has no action {argv[1]!r}; hint: {hint}")
    action = command.actions[names.index(argv[1])]
    return replace(action, name=f"{command.name} {action.name}"), argv[2:]


def _meant(name: str, names: Sequence[str], otherwise: str) -> str:
    return nearest(name, map(repr, names), f"{otherwise} {', '.join(names)}")


def _key(option: Option) -> str:
    """By which a command finds the value: ``max_tasks`` of ``--max-tasks``."""
    long = next((name for name in option.names if name.startswith("--")), option.names[0])
    return long.lstrip("-").replace("-", "_")


def _as_read(option: Option, value: Any) -> Any:
    if option.is_flag:
        return bool(value)
    if not option.repeats:
        return value
    return list(value or ()) if value or option.positional else None


def help_of(command: Command) -> str:
    """What ``--help`` prints of it."""
    return help_text(command) if command.name else _overview()


def _overview() -> str:
    """The commands by task, a line or two each, and the exit codes."""
    options = [*((option.heading, option.help) for option in TONNAGE.options), HELP]
    groups = [("options", options)]
    groups += [(task, [(command.name, command.summary) for command in commands]) for task, commands in grouped()]
    parts = ["usage: tonnage [-h] [--version] COMMAND ...", TAGLINE]
    parts += ["\n".join([f"{name}:", *entries(told, max(map(len, NAMES)) + 4)]) for name, told in groups]
    codes = ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES)
    parts.append(textwrap.fill(f"Each command has its own --help, with examples. Exit codes: {codes}.", width()))
    return "\n\n".join(parts)
