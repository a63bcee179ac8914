"""A front end's own command line: one table of options, from which its parser, its --help and its page are made."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage.command_option import Option, nearest
from tonnage.errors import RequestError
from tonnage.units import parse_size


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A program of the field whose command lines run here."""

    name: str
    summary: str
    text: str
    """Of its page and its help, in paragraphs: what is the same, what differs, what the original does not say."""
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    """(command line, what it does)."""
    usage: str = "[OPTION]..."
    """What follows after its name."""
    tables: str = ""
    """Of its page alone, after the options: Markdown."""
    not_taken: frozenset[str] = frozenset()
    """Options of the original, in words of several letters, that are not in ``options``: none is read as another."""


class Given(dict[str, object]):
    """First name of each option → its value, read as what its option's ``parse`` makes of a text."""

    def number(self, name: str) -> int:
        """Of an option with a default, and of a flag: how often it was given."""
        value = self[name]
        assert isinstance(value, int), name
        return value

    def number_if(self, name: str) -> int | None:
        """None where it was not given."""
        return None if self[name] is None else self.number(name)

    def text(self, name: str) -> str:
        """Of an option with a default."""
        value = self[name]
        assert isinstance(value, str), name
        return value

    def text_if(self, name: str) -> str | None:
        """None where it was not given."""
        return None if self[name] is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Of an option that may be given several times, or whose value is words; empty where it was not given."""
        value = self[name] or ()
        assert isinstance(value, tuple), name
        return value


class HelpAsked(Exception):
    """``-h`` or ``--help`` was given."""


def parse_arguments(front: FrontEnd, arguments: Sequence[str]) -> Given:
    """The values of all options, defaults filled in. As the originals read them: ``-b 4``, ``-b4``,
    ``-b=4``, flags in one word (``-rw``, ``-vvv``), ``--long=4``, ``--long 4``; the last of equals counts.

    RequestError for a word that is no option, a value that is missing or wrong, an option that is refused.
    """
    found = Given({option.names[0]: 0 if option.is_flag else option.default for option in front.options})
    known = {name: option for option in front.options for name in option.names}
    words = iter(arguments)
    for word in words:
        for option, text in _of_word(front, known, word):
            name = option.names[0]
            if option.is_flag:
                found[name] = found.number(name) + 1 if text is None else _flag(front, option, text)
                continue
            if text is None:
                text = next(words, None)
            if text is None:
                raise RequestError(f"{front.name} {name} needs a value; hint: write {name} {option.metavar}")
            value = _value(front, option, text)
            found[name] = (*found.texts(name), value) if option.repeats else value
    for option in front.options:
        if option.refused and found[option.names[0]] not in (option.default, 0, None):
            raise RequestError(f"{front.name} {option.names[0]}: {option.refused}; hint: leave it out")
    return found


def split_program(front: FrontEnd, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The front end's own words, and the program after them, word for word: it begins with the first that is no option.

    RequestError and HelpAsked as ``parse_arguments``.
    """
    known = {name: option for option in front.options for name in option.names}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return list(words[:at]), list(words[at + 1 :])
        last, text = _of_word(front, known, words[at])[-1]
        at += 2 if text is None and not last.is_flag else 1
    return list(words[:at]), list(words[at:])


def _of_word(front: FrontEnd, known: Mapping[str, Option], word: str) -> list[tuple[Option, str | None]]:
    """The options that one word gives, each with the value that stands in the same word."""
    name, equals, text = word.partition("=")
    if name in ("-h", "--help", "-help"):
        raise HelpAsked
    if name in known:
        return [(known[name], text if equals else None)]
    if name in front.not_taken:
        raise RequestError(f"{front.name} does not take the option {name}; hint: see `tonnage {front.name} --help`")
    if not word.startswith("-") or word.startswith("--") or len(word) < 2:
        hint = nearest(name, known if word.startswith("-") else (), f"see `tonnage {front.name} --help`")
        raise RequestError(f"{front.name} has no option {word!r}; hint: {hint}")
    found: list[tuple[Option, str | None]] = []
    for at, letter in enumerate(word[1:], 1):
        option = known.get(f"-{letter}")
        if option is None:
            raise RequestError(
                f"{front.name} has no option -{letter} (in {word!r}); hint: see `tonnage {front.name} --help`"
            )
        if not option.is_flag:
            return [*found, (option, word[at + 1 :].removeprefix("=") or None)]
        found.append((option, None))
    return found


def _flag(front: FrontEnd, option: Option, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise RequestError(
            f"{front.name} {option.names[0]}={text}: a flag takes a number; hint: write {option.names[0]}"
        )
    return int(text)


def _value(front: FrontEnd, option: Option, text: str) -> Any:
    try:
        return option.read(text)
    except RequestError as error:
        raise RequestError(f"{front.name} {option.names[0]}: {error}") from None


def size(least: int = 0) -> Callable[[str], int]:
    """Reads bytes, at least so many: ``4k``, ``16M``, ``1g`` or ``4096``; powers of two, as in the originals."""

    def parse(text: str) -> int:
        value = parse_size(text)
        if value < least:
            raise RequestError(f"{text!r} is not a size above 0; hint: write it like 64k")
        return value

    return parse


def number(least: int = 0) -> Callable[[str], int]:
    """Reads a whole number from ``least`` on; ``1k`` is 1024, as in the originals."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"\s*(-?[0-9]{1,18})\s*([kKmMgGtTpP]?)\s*", text)
        value = int(match[1]) << 10 * " kmgtp".index(match[2].lower() or " ") if match else least - 1
        if not least <= value < 2**63:
            raise RequestError(f"{text!r} is not a whole number from {least} on; hint: write it like {max(least, 8)}")
        return value

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """Reads one of ``words``."""

    def parse(text: str) -> str:
        if text not in words:
            raise RequestError(f"{text!r} is not known; hint: write one of {', '.join(words)}")
        return text

    return parse


def help_text(front: FrontEnd) -> str:
    """What ``--help`` prints."""
    lines = [f"usage: tonnage {front.name} {front.usage}", ""]
    for paragraph in front.text.strip().split("\n\n"):
        lines += [textwrap.fill(paragraph.replace("`", ""), 100), ""]
    lines.append("options:")
    for option in front.options:
        head = f"  {', '.join(option.names)}{f' {option.metavar}' if option.metavar else ''}"
        told = textwrap.wrap(option.help_text, 70) or [""]
        lines.append(f"{head:<30}{told[0]}" if len(head) < 29 else head)
        lines += [" " * 30 + line for line in (told[1:] if len(head) < 29 else told)]
    lines += ["  -h, --help                  show this text", "", "examples:"]
    for line, meaning in front.examples:
        lines += [f"  {line}", f"      {meaning}"]
    return "\n".join(lines)


def page(front: FrontEnd) -> str:
    """Its page in ``docs``, as Markdown."""
    lines = [f"# tonnage {front.name}", ""]
    for paragraph in front.text.strip().split("\n\n"):
        lines += [textwrap.fill(paragraph, 120), ""]
    lines += ["## Options", "", "| option | meaning |", "|---|---|"]
    for option in front.options:
        names = ", ".join(f"`{name}{f' {option.metavar}' if option.metavar else ''}`" for name in option.names)
        lines.append(f"| {names} | {option.help_text.replace('|', '&#124;')} |")
    if front.tables:
        lines += ["", front.tables.strip()]
    lines += ["", "## Examples", "", "```sh"]
    for line, meaning in front.examples:
        lines += [f"# {meaning}", line]
    return "\n".join([*lines, "```"]) + "\n"
