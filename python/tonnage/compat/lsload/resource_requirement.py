"""LSF's resource requirements, as far as they choose and order hosts: ``select[mem > 500 && r1m < 2] order[ut:-mem]``.

The language is that of LSF's manual: ``||``, ``&&``, comparisons, ``+ - * /``, ``- !``, ``defined(NAME)``. A server of
which a name's value is not known is not selected, unless the expression was decided before it came to that name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tonnage.compat.lsload.indices import ALIASES, INDICES, status, value
from tonnage.errors import RequestError
from tonnage.placement.server_load import LoadRow

_DEFAULT_ORDER = "r15s:pg"
_MOST_CHARACTERS = 4096
_MOST_WORDS = 200
_MOST_DEPTH = 40
_SECTION = re.compile(r"([a-z]+)\s*\[([^\[\]]*)\]")
_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*|\.\d+)|([A-Za-z_]\w*)|'([^']*)'|\"([^\"]*)\"|(\|\||&&|[<>=!]=|[-+*/<>!()]))", re.ASCII
)
_TEXTS = ("status", "hname", "type", "model")
_ANY = "any"
_BINARY: tuple[dict[str, Callable[[float, float], float]], ...] = (
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv},
)
"""Looser first; what binds looser still is ``||``, then ``&&``, then ``== !=``."""


class _Unknown(Exception):
    """A value that the expression needs is not known."""


_Node = Callable[[Mapping[str, float | str | None]], float]


@dataclass(frozen=True, slots=True)
class Requirement:
    """Which servers are shown, and in which order."""

    select: _Node | None
    order: tuple[tuple[str, bool], ...]
    """(index, whether the worst comes first)."""

    def apply(self, rows: Sequence[LoadRow], *, per_cpu: bool = False) -> list[LoadRow]:
        """The rows that satisfy it, best first; where an index is not known a server is behind the others."""
        chosen = [row for row in rows if self.select is None or _selects(self.select, row, per_cpu)]

        def key(row: LoadRow) -> list[tuple[bool, float]]:
            found = []
            for name, worst_first in self.order:
                figure = value(row, name, per_cpu=per_cpu)
                sign = -1.0 if INDICES[name].more_is_better != worst_first else 1.0
                found.append((figure is None, sign * (figure or 0.0)))
            return [(row.age_s is None, 0.0), *found]

        return sorted(chosen, key=key)


def parse(text: str) -> Requirement:
    """Of ``-R``; empty: all, in LSF's default order. RequestError, in one line, for what is not understood."""
    if len(text) > _MOST_CHARACTERS:
        raise _refusal(f"it has more than {_MOST_CHARACTERS} characters", "write a shorter one")
    sections = dict(_SECTION.findall(text))
    bare = _SECTION.sub("\0", text).strip().rstrip("\0 ")
    if "\0" in bare or "[" in bare or "]" in bare:
        raise _refusal(f"{text!r} has text between its sections, or a bracket too many", "write select[…] order[…]")
    if bare and "select" in sections:
        raise _refusal(f"{bare!r} stands beside a select section", "write it inside select[…]")
    if other := [name for name in sections if name not in ("select", "order")]:
        raise _refusal(f"it has a section {other[0]}[…], which chooses no host", "leave it out; select and order count")
    if len(sections) != len(_SECTION.findall(text)):
        raise _refusal("it has a section twice", "join them")
    selection = sections.get("select", bare)
    select = _Parser(selection).whole() if selection.strip() else None
    return Requirement(select, _order(sections.get("order", "").strip() or _DEFAULT_ORDER))


def index_name(word: str) -> str:
    """Returns an index by its name or alias; RequestError."""
    name = ALIASES.get(word, word)
    if name not in INDICES:
        raise RequestError(f"lsload: there is no index {word!r}; hint: they are {', '.join(INDICES)}")
    return name


def _refusal(what: str, hint: str) -> RequestError:
    return RequestError(f"lsload -R: {what}; hint: {hint}")


def _order(text: str) -> tuple[tuple[str, bool], ...]:
    words = [word.strip() for word in text.split(":")]
    return tuple((index_name(word.removeprefix("-").strip()), word.startswith("-")) for word in words)


def _selects(select: _Node, row: LoadRow, per_cpu: bool) -> bool:
    known: dict[str, float | str | None] = {name: value(row, name, per_cpu=per_cpu) for name in INDICES}
    known |= {"ncpus": row.reading.cpus if row.reading else None, "status": status(row), "hname": row.server}
    try:
        return bool(select(known))
    except (_Unknown, ZeroDivisionError, OverflowError):
        return False


@dataclass
class _Parser:
    """Recursive descent over the words of a selection."""

    text: str
    at: int = 0
    depth: int = 0
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        position = 0
        while position < len(self.text.rstrip()):
            found = _TOKEN.match(self.text, position)
            if found is None:
                raise self._wrong(self.text[position:].split()[0])
            number, name, single, double, sign = found.groups()
            quoted = single if single is not None else double
            self.words.append(f"'{quoted}" if quoted is not None else number or name or sign)
            position = found.end()
        if len(self.words) > _MOST_WORDS:
            raise _refusal(f"it has more than {_MOST_WORDS} words", "write a shorter one")

    def whole(self) -> _Node:
        found = self._either()
        if self.at < len(self.words):
            raise self._wrong(self.words[self.at])
        return found

    def _wrong(self, word: str) -> RequestError:
        return _refusal(f"{word!r} in {self.text.strip()!r} is not understood", "write it like mem > 500 && ut < 0.5")

    def _next(self) -> str:
        if self.at >= len(self.words):
            raise _refusal(f"{self.text.strip()!r} ends too early", "write it like mem > 500 && ut < 0.5")
        self.at += 1
        return self.words[self.at - 1]

    def _takes(self, *signs: str) -> str:
        """The next word where it is one of these, else nothing."""
        if self.at < len(self.words) and self.words[self.at] in signs:
            return self._next()
        return ""

    def _either(self) -> _Node:
        left = self._both()
        while self._takes("||"):
            left = _or(left, self._both())
        return left

    def _both(self) -> _Node:
        left = self._equal()
        while self._takes("&&"):
            left = _and(left, self._equal())
        return left

    def _equal(self) -> _Node:
        if self.at < len(self.words) and self.words[self.at] in _TEXTS:
            return self._compared_text()
        left = self._binary(0)
        while sign := self._takes("==", "!="):
            left = _joined(operator.eq if sign == "==" else operator.ne, left, self._binary(0))
        return left

    def _compared_text(self) -> _Node:
        name, sign = self._next(), self._takes("==", "!=")
        if not sign:
            raise _refusal(f"{name} is a word", f"compare it: {name} == ok")
        said = self._next()
        word = said.removeprefix("'")
        if said == word and not said[0].isalpha():
            raise self._wrong(said)
        if name in ("type", "model"):
            if word not in (_ANY, "local"):
                raise _refusal(f"the {name} of a server is not known", f"leave it out, or write {name} == any")
            return lambda _known: float(sign == "==")
        return lambda known: float((word == _ANY or known[name] == word) == (sign == "=="))

    def _binary(self, level: int) -> _Node:
        if level == len(_BINARY):
            return self._single()
        began = self.at
        left = self._binary(level + 1)
        while sign := self._takes(*_BINARY[level]):
            left = _joined(_BINARY[level][sign], left, self._binary(level + 1))
            if level == 0:
                self._check_ut(self.words[began : self.at])
        return left

    def _check_ut(self, words: Sequence[str]) -> None:
        """``ut`` is of one; a percentage would select every server, or none."""
        if len(words) == 3 and "ut" in words and any(word[0].isdigit() and float(word) > 1 for word in words):
            raise _refusal(f"{' '.join(words)}: ut is between 0 and 1", "write ut < 0.5 for 50 %")

    def _single(self) -> _Node:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise _refusal("it is nested too deeply", "write fewer brackets")
        try:
            word = self._next()
            if word in ("-", "!"):
                inner = self._single()
                return (lambda known: -inner(known)) if word == "-" else (lambda known: float(not inner(known)))
            if word == "(":
                inner = self._either()
                if not self._takes(")"):
                    raise _refusal(f"a bracket of {self.text.strip()!r} is not closed", "close it")
                return inner
            if word[0].isdigit() or word[0] == ".":
                number = float(word)
                return lambda _known: number
            return self._named(word)
        finally:
            self.depth -= 1

    def _named(self, word: str) -> _Node:
        if word == "defined" and self._takes("("):
            name = self._resource(self._next())
            if not self._takes(")"):
                raise _refusal(f"a bracket of {self.text.strip()!r} is not closed", "close it")
            return lambda known: float(known[name] is not None)
        name = self._resource(word)

        def read(known: Mapping[str, float | str | None]) -> float:
            figure = known[name]
            if figure is None:
                raise _Unknown
            return float(figure)

        return read

    def _resource(self, word: str) -> str:
        name = ALIASES.get(word, word)
        if name != "ncpus" and name not in INDICES:
            if not word[0].isalpha():
                raise self._wrong(word)
            raise _refusal(f"{word!r} is no resource of a file server", f"they are {', '.join((*INDICES, 'ncpus'))}")
        return name


def _joined(join: Callable[[float, float], float], left: _Node, right: _Node) -> _Node:
    return lambda known: float(join(left(known), right(known)))


def _or(left: _Node, right: _Node) -> _Node:
    return lambda known: float(bool(left(known)) or bool(right(known)))


def _and(left: _Node, right: _Node) -> _Node:
    return lambda known: float(bool(left(known)) and bool(right(known)))
