"""The language of a history: one policy and a list of steps, one a line, so that a failure is a script to run again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

Word = str | int


@dataclass(frozen=True)
class Step:
    """One thing that somebody does. What makes no sense at its moment, such as a link to nothing, does nothing."""

    verb: str
    words: tuple[Word, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.verb, *(shlex.quote(str(word)) for word in self.words)])


@dataclass(frozen=True)
class Policy:
    """Where a history happens, and how its mover is started. The same for all of it."""

    source: str = "tmpfs"
    to: str = "tmpfs"
    clear: str = "never"
    check: str = ""
    """As the user said it; empty: not said, which leaves it to what is done with the source."""
    overwrite: str = "never"
    workers: int = 2
    include: str = ""
    exclude: str = ""
    markers: str = ""
    order: str = "oldest"
    limit: int = 0
    """MiB a second; 0: none."""
    listed: int = 0
    """1: the destination hands down an access list to what is made in it."""

    def __str__(self) -> str:
        said = [(about.name, getattr(self, about.name), about.default) for about in fields(self)]
        words = (f"{name}={shlex.quote(str(value))}" for name, value, default in said if value != default)
        return " ".join(["policy", *words])

    @property
    def proof(self) -> str:
        """How a copy is checked: what is deleted is read back before, unless the user said that less will do."""
        return self.check or ("written" if self.clear == "never" else "read-back")

    def options(self) -> dict[str, Any]:
        """What differs from the lab's own options."""
        return {
            "clear": self.clear,
            "check": self.proof,
            "overwrite": self.overwrite,
            "workers": self.workers,
            "include": [self.include] if self.include else [],
            "exclude": [self.exclude] if self.exclude else [],
            "markers": [self.markers] if self.markers else [],
            "order": self.order,
            "marks": {"high_permille": 2, "low_permille": 1} if self.clear == "high-water" else None,
            "limit_bytes_per_s": self.limit << 20 or None,
            "settle_ns": 1_000_000,
            "open_grace_ns": 60_000_000,
            "attempts": 3,
        }

    def stages(self, path: str) -> bool:
        """Whether the globs let ``path`` through. Only two forms are drawn: ``name`` and ``*.ending``."""

        def matches(glob: str) -> bool:
            parts = path.split("/")
            return any(part.endswith(glob[1:]) if glob.startswith("*") else part == glob for part in parts)

        return (not self.include or matches(self.include)) and not (self.exclude and matches(self.exclude))


@dataclass(frozen=True)
class History:
    """All that is needed to do it again."""

    policy: Policy = field(default_factory=Policy)
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, [self.policy, *self.steps])) + "\n"

    def keep(self, steps: list[Step]) -> History:
        return replace(self, steps=tuple(steps))


def _word(text: str) -> Word:
    return int(text) if text.lstrip("-").isdecimal() else text


def read(text: str) -> History:
    """The history that was printed so. Raises ValueError for a line that is none."""
    policy, steps = Policy(), []
    kinds: dict[str, type] = {about.name: type(about.default) for about in fields(Policy)}
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "policy":
            given = dict(word.split("=", 1) for word in words[1:])
            policy = Policy(**{name: kinds[name](value) for name, value in given.items()})
        else:
            steps.append(Step(words[0], tuple(map(_word, words[1:]))))
    return History(policy, tuple(steps))


def read_file(file: Path) -> History:
    return read(file.read_text(encoding="utf-8"))
