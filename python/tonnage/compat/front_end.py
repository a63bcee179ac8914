"""A front end: a program of the field whose command lines run here, from one table of options; and its page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TextIO

from tonnage.command_line import Command, read
from tonnage.errors import RequestError
from tonnage.printable_text import one_line
from tonnage.units import parse_size


@dataclass(frozen=True, slots=True)
class FrontEnd(Command):
    """A program of the field whose command lines run here. Its description tells what is the same, what differs, and
    what the original does not say."""

    tables: str = ""
    """Of its page alone, after the options: Markdown."""
    verbatim: ClassVar[bool] = True


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
        """Returns the value of an option with a default."""
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


def parse_arguments(front: FrontEnd, arguments: Sequence[str]) -> Given:
    """The values of all options, defaults filled in. RequestError as ``read``, and for an option that is refused."""
    given = Given({option.names[0]: 0 if option.is_flag else option.default for option in front.options})
    given.update(read(front, arguments))
    for option in front.options:
        if option.refused and given[option.names[0]] not in (option.default, 0, None):
            raise RequestError(f"{front.name} {option.names[0]}: {option.refused}; hint: leave it out")
    return given


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


def page(front: FrontEnd) -> str:
    """Returns its page in ``docs``, as Markdown."""
    lines = [f"# tonnage {front.name}", ""]
    for paragraph in front.description.strip().split("\n\n"):
        lines += [textwrap.fill(paragraph, 120), ""]
    lines += ["## Options", "", "| option | meaning |", "|---|---|"]
    for option in front.options:
        names = ", ".join(f"`{replace(option, names=(name,)).heading}`" for name in option.names)
        lines.append(f"| {names} | {option.help_text.replace('|', '&#124;')} |")
    if front.tables:
        lines += ["", front.tables.strip()]
    lines += ["", "## Examples", "", "```sh"]
    for line, meaning in front.examples:
        lines += [f"# {meaning}", line]
    return "\n".join([*lines, "```"]) + "\n"


@dataclass(frozen=True, slots=True)
class Voice:
    """Where a front end speaks: the original's output on one stream, everything that is ours on the other."""

    out: TextIO
    err: TextIO

    def say(self, text: str) -> None:
        """Prints a line of the original's output."""
        self.out.write(f"{text}\n")

    def tell(self, text: str) -> None:
        """A line of ours, after what was said so far."""
        self.out.flush()
        self.err.write(f"{one_line(text)}\n")
