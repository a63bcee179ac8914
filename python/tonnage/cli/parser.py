"""argparse, built from the commands' options. Every mistake is one line and exit code 2."""

from __future__ import annotations

import argparse
import difflib
import shutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from tonnage import __version__
from tonnage.cli.command import EXIT_CODES, NAMES, TAGLINE, Command, all_commands, grouped, module_of
from tonnage.command_option import Option, nearest
from tonnage.errors import RequestError


class Parser(argparse.ArgumentParser):
    """argparse prints its usage before an error; a user needs the one line that says what to do."""

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        hint = "" if "; hint: " in message else f"; hint: see `{self.prog} --help`"
        self.exit(2, f"tonnage: error: {' '.join(message.split())}{hint}\n")


def build_parser(only: Command | None = None) -> Parser:
    """The parser of the whole command line; of one command alone, under its whole name, where that was typed: to set up
    the options of all takes longer than many commands run."""
    parser = Parser(
        prog="tonnage",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        description=TAGLINE,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_overview() if only is None else None,
    )
    parser.add_argument("--version", action="version", version=f"tonnage {__version__}")
    # The epilog has them, by task.
    commands = parser.add_subparsers(
        prog="tonnage", dest="command", metavar="COMMAND", help=argparse.SUPPRESS, required=True, parser_class=Parser
    )
    _add_commands(commands, all_commands() if only is None else (_alone(only),))
    return parser


def refuse_unknown(parser: Parser, command: Command | None, words: Sequence[str]) -> None:
    """Ends where one of ``words`` is no option of ``command`` (None: of tonnage itself): argparse would first ask for
    the arguments that are missing. Of options in one word (``-Kq short``) it tells itself."""
    options = () if command is None else command.options
    named = {name: option for option in options for name in option.names if not option.positional}
    known = {*named, "-h", "--help", *(() if command else ("--version",))}
    calls = f"tonnage {command.name}" if command else "tonnage"
    left = iter(words)
    for word in left:
        name, equals, _ = word.partition("=")
        if word == "--":
            return
        if not word.startswith("-") or word == "-":
            if command is None or command.actions or command.program:
                return  # what follows may be another command's, or a program's
        elif name in known:
            if name in named and not named[name].is_flag and not equals:
                next(left, None)
        elif word.startswith("--") or word[:2] not in known:
            shown = {name for option in options if not option.is_hidden for name in option.names}
            otherwise = where_options_stand(command) if command and command.program else f"see `{calls} --help`"
            otherwise = _ELSEWHERE.get(name, otherwise) if command and command.name == "submit" else otherwise
            parser.error(f"{calls} has no option {name}; hint: {nearest(name, shown & known or known, otherwise)}")


def where_options_stand(command: Command) -> str:
    """What to do with an option that may be the user's program's."""
    if command.program.startswith("--"):
        return "write the program and its words after --"
    return f"see `tonnage {command.name} --help`; options of the program stand after it"


_ELSEWHERE = {
    "-W": "the time after which the scheduler ends it is --time-limit",
    "-t": "the time after which the scheduler ends it is --time-limit",
    "--time": "the time after which the scheduler ends it is --time-limit",
    "--chdir": "cd to the directory first: a job starts where it is submitted",
    "-D": "cd to the directory first: a job starts where it is submitted",
}
"""Options of other schedulers' commands → what says it here."""


def _overview() -> str:
    """The commands by task, a line or two each, and the exit codes."""
    width = min(shutil.get_terminal_size().columns, 100) - 2
    names = max(map(len, NAMES)) + 4
    parts = []
    for task, commands in grouped():
        lines = [
            textwrap.fill(
                command.summary, width, initial_indent=f"  {command.name:<{names - 2}}", subsequent_indent=" " * names
            )
            for command in commands
        ]
        parts.append("\n".join([f"{task}:", *lines]))
    codes = ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES)
    parts.append(textwrap.fill(f"Each command has its own --help, with examples. Exit codes: {codes}.", width))
    return "\n\n".join(parts)


def _alone(only: Command) -> Command:
    """As it stands in the table, without the other actions of its command."""
    name, _, action = only.name.partition(" ")
    found = module_of(name).COMMAND
    return replace(found, actions=tuple(one for one in found.actions if one.name == action))


def _add_commands(commands: Any, table: tuple[Command, ...]) -> None:
    for command in table:
        _add_command(commands, command)
    # argparse would list all names; the nearest one says more.
    commands.choices = _Names(commands.choices)


class _Names(dict[str, Parser]):
    """The commands by name; a wrong name raises with the nearest right one."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        near = difflib.get_close_matches(str(name), self, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"commands are {', '.join(self)}"
        raise argparse.ArgumentError(None, f"there is no command {name!r}; hint: {hint}")


def _add_command(commands: Any, command: Command) -> None:
    examples = "\n".join(f"  {line}\n      {meaning}" for line, meaning in command.examples)
    parser = commands.add_parser(
        command.name,
        help=command.summary,
        description=textwrap.fill(command.description, 100),
        epilog=f"examples:\n{examples}",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command.program:
        parser.usage = f"%(prog)s [OPTION]... {command.program}"
    for option in command.options:
        _add_option(parser, option)
    if command.actions:
        actions = parser.add_subparsers(
            dest="action", metavar="ACTION", title="actions", required=True, parser_class=Parser
        )
        _add_commands(actions, command.actions)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    told = argparse.SUPPRESS if option.is_hidden else option.help_with(_all_choices(option)).replace("%", "%%")
    keywords: dict[str, Any] = {"help": told}
    if option.is_flag:
        keywords["action"] = "store_true"
    else:
        keywords |= {
            "metavar": option.metavar or f"{{{','.join(_all_choices(option))}}}",
            "type": _checked(option),
        }
        if option.choices:
            keywords["choices"] = _all_choices(option)
    if option.optional:
        keywords["nargs"] = "?"
    if option.repeats:
        many = "*" if option.optional else "+"
        keywords |= {"nargs": many} if option.positional else {"action": "append"}
    parser.add_argument(*option.names, **keywords)


def _all_choices(option: Option) -> tuple[str, ...]:
    if option.plugins is None:
        return option.choices
    from tonnage import plugins

    return (*option.choices, *plugins.names(option.plugins))


def _checked(option: Option) -> Callable[[str], Any]:
    def parse_or_complain(text: str) -> Any:
        try:
            return option.read(text)
        except RequestError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse_or_complain
