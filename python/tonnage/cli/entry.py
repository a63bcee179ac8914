"""From arguments to an exit code: one command, and one line for whatever goes wrong."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from tonnage.cli.command import Command, command_of, module_of, named
from tonnage.cli.parser import build_parser, refuse_unknown, where_options_stand
from tonnage.cli.stream import STDOUT_HINT, StdoutError, abandon, doors
from tonnage.errors import RequestError, TonnageError
from tonnage.late_signals import late_signals, uncollected
from tonnage.places import working_directory
from tonnage.plugins import PlugInWarning
from tonnage.printable_text import one_line


def run_command(argv: Sequence[str]) -> int:
    """Parses, runs the command and turns errors into one line on stderr."""
    # Looking for plug-ins that we do not have takes pydantic a fifth of the whole start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # A parent that ignores it would make the ends of copies and hooks unknowable.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # A name that is no UTF-8 can be told all the same; in JSON its escapes mean what they say.
        sys.stdout.reconfigure(errors="backslashreplace")
    with doors(), warnings.catch_warnings():
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
        arguments = parse(argv)
    except SystemExit:
        # The parser has printed its help, or what is wrong.
        try:
            sys.stdout.flush()
        except OSError as error:
            abandon(sys.stdout)
            return 1 if isinstance(error, BrokenPipeError) else complain(f"{error}; hint: {STDOUT_HINT}", 1)
        raise
    arguments.command_line = ["tonnage", *argv]
    try:
        with late_signals(), uncollected():
            for name in _loads(argv):
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
        where = f" ({error.filename})" if error.filename else ""
        if not where and (gone := _lost_directory()):
            return complain(gone, 2)
        return complain(f"{error.strerror or error}{where}", 1)
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


def _loads(argv: Sequence[str]) -> tuple[str, ...]:
    command = named(argv)
    return () if command is None else command.loads


def parse(argv: Sequence[str]) -> Namespace:
    """The command and its options. A front end gets its ``words`` untouched, a user's program its ``program``."""
    command = named(argv)
    if command is not None and command.verbatim:
        return Namespace(command=argv[0], words=list(argv[1:]))
    parser = build_parser(command)
    if command is None:
        whole = command_of(argv)
        refuse_unknown(parser, whole, argv if whole is None else argv[1:])
        return parser.parse_args(argv)
    after = len(command.name.split())
    at, program = split_program(command, argv[after:]) if command.program else (len(argv) - after, [])
    refuse_unknown(parser, command, argv[after : after + at])
    arguments, strange = parser.parse_known_args(argv[: after + at])
    if strange and command.program:
        parser.error(f"{strange[0]!r} is no option of tonnage {command.name}; hint: {where_options_stand(command)}")
    if strange:
        parser.error(f"unrecognized arguments: {' '.join(strange)}; hint: see `tonnage {command.name} --help`")
    if command.program:
        arguments.program = program
    return arguments


def split_program(command: Command, words: Sequence[str]) -> tuple[int, list[str]]:
    """How many of ``words`` are the command's own options, and the user's program after them, word for word."""
    if command.program.startswith("--"):
        at = words.index("--") if "--" in words else len(words)
        return at, list(words[at + 1 :])
    valued = {name for option in command.options if not option.is_flag for name in option.names}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at, list(words[at + 1 :])
        at += 2 if words[at] in valued else 1
    return min(at, len(words)), list(words[at:])


def complain(text: str, code: int) -> int:
    """Prints ``text`` as the one line an error gets."""
    print(f"tonnage: error: {one_line(' '.join(text.split()))}", file=sys.stderr)
    return code
