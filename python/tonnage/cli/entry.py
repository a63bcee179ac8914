"""From arguments to an exit code: one command, and one line for whatever goes wrong."""

from __future__ import annotations

import signal
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from tonnage.cli.command import EXIT_CODES, NAMES, TAGLINE, Arguments, grouped, module_of
from tonnage.cli.output_stream import STDOUT_HINT, StdoutError, abandon, printable_streams
from tonnage.cli.pydantic_plugins import find_none
from tonnage.command_line import HELP, Command, HelpAsked, entries, help_text, read, split_program, width
from tonnage.command_option import EMPTY, Option, nearest
from tonnage.delayed_signals import late_signals, loading
from tonnage.errors import RequestError, TonnageError, system_text
from tonnage.plugins import PlugInWarning
from tonnage.printable_text import one_line
from tonnage.program_places import working_directory

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


def run_command(argv: Sequence[str]) -> int:
    """Parses, runs the command and turns errors into one line on stderr."""
    find_none()
    # A parent that ignores it would make the ends of copies and hooks unknowable.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # A name that is no UTF-8 can be told all the same; in JSON its escapes mean what they say.
        sys.stdout.reconfigure(errors="backslashreplace")
    with printable_streams(), warnings.catch_warnings():
        warnings.showwarning = _show_warning(warnings.showwarning)
        return _command(argv)


def _show_warning(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Of an installed plug-in: a note of one line; any other as ever."""

    def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
        if issubclass(category, PlugInWarning):
            print(f"tonnage: note: {one_line(str(message))}", file=sys.stderr)
        else:
            otherwise(message, category, *more, **named)

    return show


def _command(argv: Sequence[str]) -> int:
    try:
        with loading():
            arguments = parse(argv)
            arguments.command_line = ["tonnage", *argv]
            with late_signals():
                for name in arguments.loads:
                    import_module(name)
        code = module_of(arguments.command).run(arguments)
        sys.stdout.flush()
        return code
    except TonnageError as error:
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output left (`| head`). Python would complain once more when it flushes at exit.
        abandon(sys.stdout)
        return 1
    except StdoutError as error:
        return complain(f"{error}; hint: {STDOUT_HINT}", 1)
    except OSError as error:
        if not error.filename and (gone := _lost_directory()):
            return complain(gone, 2)
        return complain(system_text(error), 1)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            abandon(sys.stdout)


def _lost_directory() -> str | None:
    """Why this process's own directory cannot be named; None where it can. An error of that names no file."""
    try:
        working_directory()
    except RequestError as error:
        return str(error)
    return None


def parse(argv: Sequence[str]) -> Arguments:
    """The command and its options. Where help is asked for, or something is wrong, that is printed, and SystemExit has
    the exit code."""
    try:
        return parse_arguments(argv)
    except HelpAsked as asked:
        print(help_of(asked.command), flush=True)
        raise SystemExit(0) from None
    except RequestError as error:
        raise SystemExit(complain(str(error), error.exit_code)) from None


def complain(text: str, code: int) -> int:
    """Prints ``text`` as the one line an error gets."""
    print(f"tonnage: error: {one_line(' '.join(text.split()))}", file=sys.stderr)
    return code
