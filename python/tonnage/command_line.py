"""A command line: what a command takes, and the one reader of the words that users type. A command of ``tonnage`` is
read as GNU's programs are; one that stands in for another program (``verbatim``) as the originals are."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from tonnage.command_option import EMPTY, Option, nearest
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand."""

    name: str
    summary: str
    description: str
    """One paragraph; of one that stands in for another program several, in Markdown."""
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    """(command line, what it does)."""
    actions: tuple[Command, ...] = ()
    """Subcommands of its own, each with its options; then it has none itself."""
    program: str = ""
    """How help calls a user's program and its words. They follow after ``--`` where it begins with that, else they
    begin with the first word that is no option."""
    loads: tuple[str, ...] = ()
    """Modules that take a while to import: that is done before it runs, and a signal waits for it."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Options that somebody may expect and that are not in ``options`` → what to do."""
    not_taken: frozenset[str] = frozenset()
    """The same of the original, in words of several letters: none is read as several of one letter."""
    asks_help: str = "--help"
    """How messages name the option that prints help."""
    ends_at_dashes: bool = True
    """``--`` ends its options, as getopt has it."""

    verbatim: ClassVar[bool] = False
    """It stands in for another program, whose words it takes: ``-b 4``, ``-b4``, ``-b=4``, flags in one word and
    several times, a value whatever it looks like."""

    @property
    def calls(self) -> str:
        """What messages call it."""
        return self.name if self.verbatim else f"tonnage {self.name}".rstrip()

    @property
    def paragraphs(self) -> list[str]:
        """Its description as plain text."""
        plain = self.description.replace("`", "") if self.verbatim else self.description
        return [" ".join(part.split()) for part in plain.split("\n\n")]

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options that users type."""
        return tuple(option for option in self.options if not option.is_hidden)

    @property
    def positionals(self) -> tuple[Option, ...]:
        """Those without dashes, in their order."""
        return tuple(option for option in self.options if option.positional)

    @property
    def usage(self) -> str:
        """``tonnage probe [OPTION]... DIR``."""
        parts = ["tonnage", self.name]
        if self.verbatim or any(not option.positional for option in self.shown):
            parts.append("[OPTION]...")
        for option in self.positionals:
            word = f"{option.metavar}..." if option.repeats else str(option.metavar)
            parts.append(f"[{word}]" if option.optional else word)
        return " ".join([*parts, "ACTION ..."] if self.actions else [*parts, self.program] if self.program else parts)

    @property
    def see(self) -> str:
        """The hint where nothing better is known."""
        return f"see `tonnage {self.name} {self.asks_help}`" if self.name else f"see `tonnage {self.asks_help}`"

    @property
    def where_options_stand(self) -> str:
        """The same for an option that may be the user's program's."""
        if self.program.startswith("--"):
            return "write the program and its words after --"
        return f"{self.see}; options of the program stand after it" if self.program and not self.verbatim else self.see


class HelpAsked(Exception):
    """``-h`` or ``--help`` was given to ``command``."""

    def __init__(self, command: Command) -> None:
        super().__init__(command.name)
        self.command = command


class Typed(NamedTuple):
    """An option as it was typed, or (None) a word that is no option's."""

    option: Option | None
    name: str
    text: str | None
    """Its value; of a flag None, unless the originals let it have one."""


_HELP = ("-h", "--help", "-help")
_DIGITS = 9
"""Of how often a flag is given."""
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


def read(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """First name of each option that was given → its value, as its ``parse`` reads it; of a flag how often it was, of
    one that repeats all in a tuple. The last of equals counts.

    RequestError for a word that is no option, a value that is missing or wrong, a word that is missing or too many.
    """
    found: dict[str, Any] = {}
    others: list[str] = []
    for option, name, text in typed(command, words):
        if option is None:
            others.append(text or "")
            continue
        key = option.names[0]
        if option.is_flag:
            found[key] = found.get(key, 0) + 1 if text is None else _count(command, name, text)
        else:
            value = _value(command, option, name, text or "")
            found[key] = (*found.get(key, ()), value) if option.repeats else value
    for option, taken in _spread(command, others):
        values = tuple(_value(command, option, str(option.metavar), text) for text in taken)
        found[option.names[0]] = values if option.repeats else values[0]
    return found


def typed(command: Command, words: Sequence[str]) -> list[Typed]:
    """What the words give, in their order: all of them, so that an unknown option, or a word too many, is reported
    before a wrong value."""
    found: list[Typed] = []
    left = iter(words)
    for word in left:
        if command.ends_at_dashes and word == "--":
            found += [Typed(None, "", other) for other in left]
        elif not _is_option(word):
            found.append(Typed(None, "", word))
        else:
            for option, name, text in _of_word(command, word):
                if text is None and not option.is_flag:
                    text = _next_word(command, option, name, left)
                found.append(Typed(option, name, text))
    others = [one.text or "" for one in found if one.option is None]
    if len(others) > len(command.positionals) and not any(option.repeats for option in command.positionals):
        raise _one_too_many(command, others[len(command.positionals)])
    return found


def split_program(command: Command, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits off the command's own words from the user's program after them, word for word. RequestError as
    ``read``."""
    at = 0
    while at < len(words) and _is_option(words[at]) and words[at] != "--":
        last, _, text = _of_word(command, words[at])[-1]
        at += 2 if text is None and not last.is_flag else 1
    own, program = list(words[:at]), list(words[at:])
    if program[:1] == ["--"]:
        del program[0]
    elif program and command.program.startswith("--"):
        raise _one_too_many(command, program[0])
    if program[:1] == [""]:
        raise _one_too_many(command, "")
    return own, program


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _of_word(command: Command, word: str) -> list[tuple[Option, str, str | None]]:
    """The options that one word gives, as they are named, each with the value that stands in the same word."""
    known = {name: option for option in command.options if not option.positional for name in option.names}
    name, equals, text = word.partition("=")
    if name in known:
        return [(known[name], name, text if equals else None)]
    if name in _HELP:
        raise _help(command, name, text if equals else None)
    if name in command.not_taken:
        raise RequestError(f"{command.calls} does not take the option {name}; hint: {command.see}")
    if word.startswith("--"):
        raise _unknown(command, name, repr(word))
    found: list[tuple[Option, str, str | None]] = []
    for at, letter in enumerate(word[1:], 1):
        name = f"-{letter}"
        if name not in known:
            if name in _HELP:
                rest = word[at + 1 :]
                raise _help(command, name, rest[1:] if rest.startswith("=") else None)
            # The first letter: it may be a number, or a long name with one dash.
            whole = name if command.verbatim or at > 1 else word.partition("=")[0]
            raise _unknown(command, whole, f"{name} (in {word!r})")
        rest, option = word[at + 1 :], known[name]
        has_value = bool(rest) and (rest[0] == "=" or not option.is_flag)
        found.append((option, name, rest.removeprefix("=") if has_value else None))
        if has_value:
            break
    return found


def _help(command: Command, name: str, text: str | None) -> HelpAsked:
    """RequestError where a flag would not take this value."""
    if text is not None:
        _count(command, name, text)
    return HelpAsked(command)


def _unknown(command: Command, name: str, as_typed: str) -> RequestError:
    shown = [name for option in command.shown if not option.positional for name in option.names]
    hint = command.hints.get(name) or command.hints.get(name[:2]) or nearest(name, shown, command.where_options_stand)
    return RequestError(f"{command.calls} has no option {as_typed if command.verbatim else name}; hint: {hint}")


def _next_word(command: Command, option: Option, name: str, left: Iterator[str]) -> str:
    """The value of an option that stands in the next word. What looks like an option is one, unless the original is of
    another mind."""
    word = next(left, None)
    if word is not None and (command.verbatim or not _is_option(word) or _NUMBER.fullmatch(word) or " " in word):
        return word
    hint = command.see if option.metavar is None and command.verbatim else f"write {name} {option.value_name}"
    if word is not None:
        hint = f"write {name}={word} if that is it" if name.startswith("--") else f"write {name}{word} if that is it"
    raise RequestError(f"{command.calls} {name} needs a value; hint: {hint}")


def _count(command: Command, name: str, text: str) -> int:
    if not command.verbatim:
        raise RequestError(f"{command.calls} {name} takes no value; hint: write {name}")
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise RequestError(f"{command.calls} {name}={text}: a flag takes a number; hint: write {name}")
    return int(text)


def _value(command: Command, option: Option, name: str, text: str) -> Any:
    try:
        return option.read(text)
    except RequestError as error:
        # Of a command of ours as errors of what is checked later begin.
        names = name if option.positional else "/".join(option.names)
        option_text = f"{command.name} {name}" if command.verbatim else names
        raise RequestError(f"{option_text}: {error}") from None


def _spread(command: Command, words: Sequence[str]) -> Iterator[tuple[Option, Sequence[str]]]:
    """The arguments that are there, each with its words: what may be left out takes what the others do not need."""
    needed = sum(not option.optional for option in command.positionals)
    if len(words) < needed:
        missing = [str(option.metavar) for option in command.positionals if not option.optional][len(words) :]
        raise RequestError(f"{command.calls} needs {' and '.join(missing)}; hint: write `{command.usage}`")
    spare, at = len(words) - needed, 0
    for option in command.positionals:
        takes = (not option.optional) + (spare if option.repeats else min(spare, int(option.optional)))
        spare -= takes - (not option.optional)
        if takes:
            yield option, words[at : at + takes]
        at += takes


def _one_too_many(command: Command, word: str) -> RequestError:
    if not word:
        return RequestError(f"{command.calls}: {EMPTY}")
    further = "further word" if command.positionals else "word"
    return RequestError(f"{command.calls} takes no {further} {word!r}; hint: {command.where_options_stand}")


HELP = ("-h, --help", "show this text")
_COLUMN = 30
_WIDEST = 100


def width() -> int:
    """Characters of a line: those of the terminal, unless it is very wide."""
    return min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


def help_text(command: Command) -> str:
    """Usage, what it does, what it takes, examples."""
    entries_of_options = [(option, (option.here.heading, option.here.help_text)) for option in command.shown]
    groups = {
        "arguments": [entry for option, entry in entries_of_options if option.positional],
        "actions": [(action.name, action.summary) for action in command.actions],
        "options": [*(entry for option, entry in entries_of_options if not option.positional), HELP],
    }
    lines = [f"usage: {command.usage}", ""]
    for paragraph in command.paragraphs:
        lines += [textwrap.fill(paragraph, width()), ""]
    for name, group in groups.items():
        lines += [f"{name}:", *entries(group), ""] if group else []
    lines.append("examples:")
    for line, meaning in command.examples:
        lines += [f"  {line}", f"      {meaning}"]
    return "\n".join(lines)


def entries(headed_texts: Iterable[tuple[str, str]], column: int = _COLUMN) -> list[str]:
    """Lines of headings with what is said of each beside them, from this column on."""
    lines = []
    for heading, text in headed_texts:
        head, said = f"  {heading}", textwrap.wrap(text, max(width() - column, 20), break_on_hyphens=False) or [""]
        lines.append(f"{head:<{column}}{said.pop(0)}" if len(head) < column - 1 else head)
        lines += [" " * column + line for line in said]
    return lines
