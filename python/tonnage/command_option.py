"""Options of the commands of ``tonnage``, and of the front ends that replace other programs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tonnage.errors import RequestError

EMPTY = "an empty value is no value; hint: leave it out"
"""An unset variable of a script makes an empty word, whose intended value is unknown."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or (without dashes) one positional argument. Without a metavar and without choices it is a flag."""

    names: tuple[str, ...]
    """``-b``, ``--posix.odirect``; by the first one the value of a front end's option is looked up."""
    help: str
    metavar: str | None = None
    """How help calls its value."""
    default: str | int | None = None
    """As help states it. Of a front end's option it is the value too; of a command's the value comes from the
    campaign's model, the only place of defaults."""
    choices: tuple[str, ...] = ()
    plugins: str | None = None
    """The group of plug-ins whose names are choices too."""
    parse: Callable[[str], Any] | None = None
    """Raises RequestError. None: any text. No text is empty."""
    optional: bool = False
    """A positional argument that may be left out."""
    repeats: bool = False
    """May be given several times; the values come together."""
    completes: str | None = None
    """``file`` or ``directory``."""
    is_hidden: bool = False
    """For internal use: users do not type it, and no page lists it."""
    refused: str = ""
    """Why a front end cannot do it: any value but 0 or its default is an error, and nothing runs."""

    @property
    def positional(self) -> bool:
        return not self.names[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        return self.metavar is None and not self.choices and not self.positional

    @property
    def value_name(self) -> str:
        """How help calls its value: its metavar, or what may be chosen."""
        return self.metavar or ",".join(self.choices) or "VALUE"

    @property
    def heading(self) -> str:
        """``--op OP[,OP]``, ``-o, --output OUT``, ``--direct auto,yes,no``, ``DIR``."""
        if self.positional:
            return self.value_name
        names = ", ".join(self.names)
        return names if self.is_flag else f"{names} {self.value_name}"

    @property
    def described(self) -> str:
        """Its help, with the choices where its metavar does not show them."""
        return f"{self.help}: {', '.join(self.choices)}" if self.metavar and self.choices else self.help

    @property
    def help_text(self) -> str:
        """The same with the default, and why it is refused."""
        default = "" if self.default in (None, "") or self.is_flag else f" (default: {self.default})"
        return self.described + default + (f" [refused: {self.refused}]" if self.refused else "")

    @property
    def here(self) -> Option:
        """The same with the choices that plug-ins add on this host."""
        if self.plugins is None:
            return self
        from tonnage import plugins

        return replace(self, choices=(*self.choices, *plugins.names(self.plugins)), plugins=None)

    def read(self, text: str) -> Any:
        """The value that ``text`` is; RequestError where it is none."""
        if not text:
            raise RequestError(EMPTY)
        value = self.parse(text) if self.parse is not None else text
        if self.choices and value not in self.choices and value not in (choices := self.here.choices):
            raise RequestError(f"{text!r} is not known; hint: write one of {', '.join(choices)}")
        return value


_NEAR = 0.72
"""Of what two names have in common, by which one slip in four letters is near, and two are not."""


def nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """A hint for a name that there is not: the one of ``names`` that is meant, or what to do ``otherwise``."""
    known = {one.lstrip("-").strip("'").lower(): one for one in names}
    near = difflib.get_close_matches(name.lstrip("-").lower(), known, n=1, cutoff=_NEAR)
    return f"did you mean {known[near[0]]}?" if near else otherwise


def parse_port(text: str) -> int:
    """RequestError if it is none."""
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise RequestError(f"{text!r} is not a port; hint: write it like 9400, or 0 for any free one")
    return int(text)
