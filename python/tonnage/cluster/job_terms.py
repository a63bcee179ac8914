"""What a job asks of a scheduler beside its hosts: how long, on whose account, how much memory, after which jobs.

Each scheduler has one table of how it spells them; the table also says which terms it cannot express.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from tonnage.errors import RequestError

When = Literal["afterok", "afternotok", "afterany", "after"]
WHENS: tuple[When, ...] = ("afterok", "afternotok", "afterany", "after")
"""It ended with 0; with anything else; it ended; it began."""
Event = Literal["begin", "end", "fail"]
EVENTS: tuple[Event, ...] = ("begin", "end", "fail")


@dataclass(frozen=True, slots=True)
class Dependency:
    """What must have become of other jobs before this one begins."""

    conditions: tuple[tuple[When, str], ...]
    """(what, the other job's number)."""
    any_of: bool = False
    """One of them is enough."""


@dataclass(frozen=True, slots=True)
class Mail:
    """When the scheduler sends mail."""

    events: tuple[Event, ...]
    to: str | None = None
    """None: the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Of a job, or of each copy of an array. What is not asked for is left to the scheduler."""

    time_limit_s: int | None = None
    """The scheduler ends it after so long."""
    account: str | None = None
    """The account that it is charged to."""
    memory_bytes: int | None = None
    """It has so much on its host, and no more."""
    gpus: int | None = None
    """It has so many on its host."""
    dependency: Dependency | None = None
    mail: Mail | None = None
    exclusive: bool = False
    """No other job runs on its host meanwhile."""
    rerun: bool = False
    """It begins again where its host is lost."""
    begin_at_s: int | None = None
    """It does not begin before this moment, in seconds since 1970."""
    words: tuple[str, ...] = ()
    """Options of the scheduler's own command, as typed."""

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> Terms:
        """Makes the terms of what ``asdict`` and JSON left."""
        known = {one.name for one in fields(cls)}
        given = {name: value for name, value in record.items() if name in known}
        if (after := given.get("dependency")) is not None:
            given["dependency"] = Dependency(tuple((when, job) for when, job in after["conditions"]), after["any_of"])
        if (mail := given.get("mail")) is not None:
            given["mail"] = Mail(tuple(mail["events"]), mail["to"])
        return cls(**{**given, "words": tuple(given.get("words", ()))})


@dataclass(frozen=True, slots=True)
class CommandSyntax:
    """How one scheduler's command reads its options, and which of them are not the user's."""

    refused: tuple[str, ...]
    """Tonnage gives them itself, or they would undo the submission."""
    flags: tuple[str, ...] = ()
    """Options whose value, if any, is in the same word: the next word is the program."""
    values: str | None = None
    """Letters of short options that take a value, where several may share a word (getopt); None: a word of one dash
    is one option, which may have its value behind it."""

    def check(self, words: tuple[str, ...], scheduler: str) -> None:
        """RequestError for what is refused, however it is abbreviated, and for a word that is no option."""
        awaited = False
        for word in words:
            if word in ("-", "--") or not (awaited or word.startswith("-")):
                raise RequestError(
                    f"the scheduler's options have {word!r}, which is none; hint: write --option=value in one word"
                )
            # A value that looks like a refused option is refused as well: which it is, only the command knows.
            if word.startswith("-") and (name := self._refused(word)) is not None:
                where = "" if word.startswith(name) else f" (in {word!r})"
                raise RequestError(f"{name} of {scheduler} is given by tonnage itself{where}; hint: leave it out")
            awaited = word.startswith("-") and self._awaits_value(word)

    def _refused(self, word: str) -> str | None:
        """The refused option that a word is, or could be."""
        if word.startswith("--"):
            # Of a long option any beginning that no other has will do.
            name = word.partition("=")[0]
            return next((one for one in self.refused if one.startswith("--") and one.startswith(name)), None)
        if self.values is None:
            return next((one for one in self.refused if one in (word, word[:2])), None)
        given = (f"-{letter}" for letter in self._cluster(word, self.values))
        return next((one for one in given if one in self.refused), None)

    @staticmethod
    def _cluster(word: str, values: str) -> str:
        """The letters of a word that are options: the first that takes a value is the last."""
        found = ""
        for letter in word[1:]:
            found += letter
            if letter in values:
                break
        return found

    def _awaits_value(self, word: str) -> bool:
        if word.startswith("--"):
            return "=" not in word and not any(flag.startswith(word) for flag in self.flags)
        if self.values is None:
            return word not in self.flags
        letters = self._cluster(word, self.values)
        return letters[-1:] in [*self.values] and len(letters) == len(word) - 1


_NONE = CommandSyntax(refused=())
Spelled = Callable[[Any], list[str]]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a scheduler's command spells each term."""

    scheduler: str
    table: Mapping[str, Spelled | str]
    """Name of the term → its options; a text instead says why there are none."""
    own: CommandSyntax = _NONE
    """How its command reads the user's own words."""

    def options(self, terms: Terms) -> list[str]:
        """The user's own words last, as the last of two equal options counts. RequestError for what cannot be said."""
        found: list[str] = []
        refused: list[str] = []
        for term in fields(Terms):
            value = getattr(terms, term.name)
            if value in (None, False, ()):
                continue
            how = self.table[term.name]
            if isinstance(how, str):
                refused.append(how)
            else:
                found += how(value)
        if refused:
            raise RequestError(f"{'; '.join(refused)}; hint: leave that out")
        self.own.check(terms.words, self.scheduler)
        return found


def split_arguments(text: str) -> tuple[str, ...]:
    """As a shell splits them. RequestError where a quotation does not end."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise RequestError(f"{text!r} cannot be split into words: {error}; hint: close the quotation") from None


def parse_dependency(text: str) -> Dependency:
    """``afterok:12,afterany:13:14``, or with ``?`` between them where one is enough; a number alone is afterok."""
    between = "?" if "?" in text else ","
    found: list[tuple[When, str]] = []
    for part in text.split(between):
        first, *jobs = part.strip().split(":")
        when, jobs = (first, jobs) if jobs else ("afterok", [first])
        if when not in WHENS or not all(re.fullmatch(r"\w[\w.\[\]-]*", job) for job in jobs):
            raise RequestError(
                f"{text!r} is no dependency; hint: write it like afterok:12,afterany:13; there are {', '.join(WHENS)}"
            )
        found += [(when, job) for job in jobs]
    return Dependency(tuple(found), any_of=between == "?")


def parse_mail(text: str) -> tuple[Event, ...]:
    """Parses ``begin,end,fail``, or some of them."""
    found = [part.strip().lower() for part in text.split(",")]
    if not set(found) <= set(EVENTS):
        raise RequestError(f"{text!r} are no events; hint: write some of {','.join(EVENTS)}")
    return tuple(event for event in EVENTS if event in found)


def check_jobs(dependency: Dependency, number: str, scheduler: str) -> None:
    """RequestError where one of the other jobs cannot be one of this scheduler's. ``number``: what those look like."""
    for _, job in dependency.conditions:
        if not re.fullmatch(number, job, re.ASCII):
            raise RequestError(f"{job!r} is no number of a job in {scheduler}; hint: `tonnage jobs` lists them")


def every(dependency: Dependency, scheduler: str) -> list[str]:
    """``afterok:12`` and so on, for a scheduler that cannot say that one of them is enough."""
    if dependency.any_of and len(dependency.conditions) > 1:
        raise RequestError(f"{scheduler} waits for all jobs of a dependency, not for one of them; hint: leave that out")
    return [f"{when}:{job}" for when, job in dependency.conditions]


def hours(limit_s: int) -> str:
    """Formats a time as ``26:03:04``."""
    return f"{limit_s // 3600}:{limit_s // 60 % 60:02d}:{limit_s % 60:02d}"


def in_units(count: int, unit: int) -> int:
    """Returns the number of units that hold it."""
    return -(-count // unit)
